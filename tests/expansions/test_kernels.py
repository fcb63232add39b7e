"""Every registered kernel is what its definition says, for dense and sparse rows, near and far from the origin."""

from dataclasses import dataclass
from math import gamma as gamma_function

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import kv

from softmargin import CompositeLeastSquaresClassifier, MarginClassifier, MulticategorySVC, ProbabilisticSVC, RobustSVC
from softmargin.expansions import Kernel, KernelColumns, available_kernels, expand
from softmargin.expansions.kernels import KernelFunction, register
from softmargin.expansions.kernels.function import euclidean

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(9, 4)) * (RNG.random((9, 4)) < 0.7), RNG.normal(size=(6, 4))


def matern(A, B, gamma, degree):
    """By the Bessel function of the second kind."""
    nu, d = degree + 0.5, np.maximum(cdist(A, B), 1e-14)
    s = 2 * np.sqrt(nu * gamma) * d
    return 2 ** (1 - nu) / gamma_function(nu) * s**nu * kv(nu, s)


DEFINITIONS = {
    "linear": lambda A, B, gamma, degree, coef0: A @ B.T,
    "poly": lambda A, B, gamma, degree, coef0: (gamma * A @ B.T + coef0) ** degree,
    "rbf": lambda A, B, gamma, degree, coef0: np.exp(-gamma * cdist(A, B) ** 2),
    "laplacian": lambda A, B, gamma, degree, coef0: np.exp(-gamma * cdist(A, B, "cityblock")),
    "matern": lambda A, B, gamma, degree, coef0: matern(A, B, gamma, degree),
}


def test_every_kernel_has_a_definition_here():
    assert set(DEFINITIONS) <= set(available_kernels())


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_kernels_are_their_definitions_for_dense_and_sparse_rows(name, degree):
    kernel = Kernel(name, 0.4, degree, 0.5)
    expected = DEFINITIONS[name](A, B, 0.4, degree, 0.5)
    np.testing.assert_allclose(kernel(A, B), expected, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(kernel(sparse.csr_matrix(A), sparse.csr_matrix(B)), expected, rtol=1e-6, atol=1e-7)
    square = DEFINITIONS[name](A, A, 0.4, degree, 0.5)
    np.testing.assert_allclose(kernel.among(A, np.float64)(np.array([4, 1])), square[[4, 1]], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(kernel.to(B, A)(A[2:5]), expected[2:5], rtol=1e-7, atol=1e-12)
    single = kernel(A.astype(np.float32), B.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-5)
    values = np.linalg.eigvalsh(kernel(A, A))
    assert values[0] >= -1e-10 * values[-1]


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern"])
@pytest.mark.parametrize("degree", [0, 2])
def test_stationary_kernels_do_not_see_where_the_origin_is(name, degree):
    kernel = Kernel(name, 0.4, degree)
    far = A + 1e6
    np.testing.assert_allclose(kernel(far, far), kernel(A, A), atol=1e-7)
    np.testing.assert_allclose(np.diagonal(kernel(far, far)), 1.0, atol=1e-15)


def test_a_matern_kernel_of_many_derivatives_is_nearly_the_gaussian_and_of_none_the_exponential():
    smooth, gauss = Kernel("matern", 0.4, 20)(A, B), Kernel("rbf", 0.4)(A, B)
    np.testing.assert_allclose(smooth, gauss, atol=0.02)
    np.testing.assert_allclose(Kernel("matern", 0.4, 0)(A, B), np.exp(-np.sqrt(0.8) * cdist(A, B)))


@pytest.mark.parametrize("kernel", ["matern", "laplacian"])
@pytest.mark.parametrize(
    "make",
    [MarginClassifier, RobustSVC, ProbabilisticSVC, CompositeLeastSquaresClassifier, MulticategorySVC],
)
def test_kernels_are_known_by_name_to_every_estimator(make, kernel):
    y = (B[:, 0] > 0).astype(int)
    X, y = np.repeat(B, 5, axis=0) + 0.1 * RNG.normal(size=(30, 4)), np.repeat(y, 5)
    model = make(kernel=kernel, gamma=0.5).fit(X, y)
    assert model.score(X, y) > 0.9
    landmarks = (
        make(kernel=kernel, gamma=0.5, n_components=10, random_state=0) if make is not ProbabilisticSVC else None
    )
    assert landmarks is None or landmarks.fit(X, y).score(X, y) > 0.9


def test_a_kernel_is_added_by_one_class():
    @register("test_cauchy")
    @dataclass(frozen=True)
    class Cauchy(KernelFunction):
        gamma: float

        def __call__(self, A, B):
            return 1 / (1 + self.gamma * euclidean(A, B) ** 2)

    y = (A[:, 0] > 0).astype(int)
    model = MarginClassifier(kernel="test_cauchy", gamma="median").fit(A, y)
    assert model.solution_.converged
    assert "test_cauchy" in available_kernels()
    with pytest.raises(ValueError, match="exists already"):
        register("rbf")(Cauchy)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kernel": "gauss"}, r"kernel must be None, a callable or one of \(.*'rbf'.*'precomputed'\); got 'gauss'"),
        ({"kernel": 3}, "kernel must be None"),
        ({"kernel": "rbf", "gamma": -1.0}, "gamma must be 'scale'.* got -1"),
        ({"kernel": "rbf", "gamma": "auto"}, "gamma must be 'scale'.* got 'auto'"),
        ({"kernel": "rbf", "gamma": None}, "gamma must be 'scale'.* got None"),
        ({"kernel": "rbf", "gamma": True}, "gamma must be 'scale'.* got True"),
        ({"kernel": "poly", "degree": 0}, "degree must be at least 1.*got 0"),
        ({"kernel": "poly", "degree": 2.5}, "degree must be at least 1.*got 2.5"),
        ({"kernel": "poly", "coef0": np.nan}, "coef0 must be a finite number; got nan"),
        ({"kernel": "matern", "degree": 21}, "degree must be an integer from 0 to 20.*got 21"),
    ],
)
def test_wrong_parameters_are_named(given, message):
    given = dict(given)
    with pytest.raises(ValueError, match=message):
        Kernel.resolve(given.pop("kernel"), A, np.arange(9) % 2, **given)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernel_values_beyond_the_range_of_floats_are_refused_with_the_remedy(dtype):
    scale = 1e120 if dtype == np.float64 else 1e15
    large = (A * scale).astype(dtype)
    kernel = Kernel("poly", 1.0, 3)
    with pytest.raises(ValueError, match=r"kernel='poly' overflow in float.*Scale the features.*lower gamma, degree"):
        expand(large, kernel).outer()
    with pytest.raises(ValueError, match="kernel='poly' overflow"):
        kernel.to(large, large)(large[:2])
    with pytest.raises(ValueError, match="kernel function given are not all numbers"):
        KernelColumns.from_rows(A, Kernel(lambda a, b: np.nan))


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern", "poly", "linear"])
@pytest.mark.parametrize("unit", [1e-100, 1e-3, 1e5, 1e100])
def test_gamma_scale_makes_kernels_independent_of_the_unit_of_the_features(name, unit):
    y = np.arange(9) % 2
    for gamma in ("scale", "median", "mean"):
        plain, scaled = (Kernel.resolve(name, X, y, gamma=gamma)(X, X) for X in (A, A * unit))
        factor = unit**2 if name == "linear" else 1.0
        np.testing.assert_allclose(scaled, factor * plain, rtol=1e-6, atol=1e-9 * factor)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern", "poly"])
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e12, 1e30])
def test_single_precision_does_not_limit_the_unit_of_the_features(name, unit):
    single, y = (A * unit).astype(np.float32), np.arange(9) % 2
    kernel = Kernel.resolve(name, single, y, gamma="scale")
    expected = Kernel.resolve(name, A, y, gamma="scale")(A, A)
    scale = np.abs(expected).max()
    for found in (
        kernel(single, single),
        kernel.among(single, np.float32)(np.arange(9)),
        kernel.to(single, single)(single),
    ):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-4 * scale)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_features_beyond_the_range_of_floats_are_refused_with_the_remedy(unit):
    with pytest.raises(ValueError, match=r"gamma='scale' is out of range for features of size.*StandardScaler"):
        Kernel.resolve("rbf", A * unit, np.arange(9) % 2)


def test_a_function_of_ones_own_sees_sparse_rows_as_it_sees_dense_ones():
    def similarity(a, b):
        a, b = (np.ravel(row.toarray() if sparse.issparse(row) else row) for row in (a, b))
        return float(a @ b) + 2 * a[0] * b[0]

    own = Kernel(similarity)
    rows, others = sparse.csr_array(A), sparse.csr_array(B)
    np.testing.assert_allclose(own(rows, rows), own(A, A))
    np.testing.assert_allclose(own(rows, others), own(A, B))


@pytest.mark.parametrize("name", available_kernels())
def test_similarities_of_rows_to_themselves_are_the_diagonal(name):
    X = RNG.normal(size=(150, 3))
    columns = expand(X, Kernel(name, 0.5, 2, 1.0))
    np.testing.assert_allclose(columns.diagonal(), np.diagonal(Kernel(name, 0.5, 2, 1.0)(X, X)))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_users_function_is_heard_in_double_precision_and_once_for_a_pair_of_training_rows(kind):
    calls = []

    def cosine(a, b):
        a, b = (np.ravel(row.toarray() if sparse.issparse(row) else row).astype(np.float64) for row in (a, b))
        calls.append(1)
        return float((1 + a @ b) / np.sqrt((1 + a @ a) * (1 + b @ b)))

    X = np.random.default_rng(4).normal(size=(40, 2)).astype(np.float32)
    single, double = (KernelColumns.from_rows(kind(rows), Kernel(cosine)) for rows in (X, X.astype(np.float64)))
    np.testing.assert_array_equal(single.outer(), double.outer())
    calls.clear()
    ProbabilisticSVC(kernel=cosine, tol=3e-7).fit(kind(X), np.arange(40) % 3)
    assert len(calls) <= 40 * 41 / 2


@pytest.mark.parametrize("gamma", [0.5, 1e-300, 1e-310])
def test_rows_whose_squares_overflow_are_as_alike_as_their_unit_says(gamma):
    """Similarities depend on ``sqrt(gamma) x`` alone, whatever the unit of ``x``."""
    X = np.random.default_rng(0).normal(size=(6, 3)) * [1e150, 1e150, 1e155]
    X[5] = X[4]
    with np.errstate(all="raise", under="ignore"):
        K = Kernel("rbf", gamma=gamma)(X, X.copy())
    Z = np.sqrt(gamma) * 1e155 * (X / 1e155)
    expected = np.exp(-np.minimum(((Z[:, None] / 1e100 - Z[None] / 1e100) ** 2).sum(axis=2), 1e100) * 1e200)
    np.testing.assert_allclose(K, expected, atol=1e-12)
    assert K[4, 5] == 1.0


@pytest.mark.parametrize("order", ["C", "F"])
def test_distances_of_neighbours_are_those_of_their_differences(order):
    rng = np.random.default_rng(0)
    A = 3 + rng.normal(size=(40, 17))
    B = np.asarray(A + 1e-9 * rng.normal(size=(40, 17)), order=order)
    exact = np.linalg.norm(A - B, axis=1)
    np.testing.assert_allclose(np.diagonal(euclidean(A, B)), exact, rtol=1e-4)
    assert np.all(np.diagonal(euclidean(B.copy(), B)) == 0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("gamma", [1e-3, 1.0])
def test_gaussian_similarities_beside_a_huge_column_are_those_of_differences(form, gamma):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[:, 1] = 1e9 * rng.integers(0, 3, 30)
    exact = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    np.testing.assert_allclose(Kernel("rbf", gamma)(form(X), form(X.copy())), exact, atol=1e-9)


@pytest.mark.parametrize("value", [1e3, 0.1, -7.3])
def test_the_scale_of_equal_entries_is_that_of_none(value):
    X, times = np.full((37, 1), value), np.arange(37) % 3 + 1.0
    whole = np.repeat(X, times.astype(int), axis=0)
    for rows, weight in ((X, None), (X, times), (whole, None)):
        assert Kernel.resolve("poly", rows, np.zeros(len(rows)), gamma="scale", weight=weight).gamma == 1.0
