"""Words for gamma depend on what the rows are, not on how they are written down."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from softmargin import MarginClassifier
from softmargin.expansions import Kernel

RNG = np.random.default_rng(1)


def draw(n, p=3, k=2):
    X = RNG.normal(size=(n, p)) + 2.0
    return X, RNG.integers(0, k, size=n)


@pytest.mark.parametrize("n", [200, 4000])
@pytest.mark.parametrize("gamma", ["scale", "median", "mean"])
@pytest.mark.parametrize("k", [2, 3])
def test_the_order_of_the_rows_does_not_matter(n, gamma, k):
    X, y = draw(n, k=k)
    weight = RNG.integers(1, 4, size=n).astype(float)
    order = RNG.permutation(n)
    one = Kernel.resolve("rbf", X, y, gamma=gamma, weight=weight).gamma
    other = Kernel.resolve("rbf", X[order], y[order], gamma=gamma, weight=weight[order]).gamma
    assert other == pytest.approx(one, rel=1e-9)


@pytest.mark.parametrize("n", [200, 2000, 4000])
@pytest.mark.parametrize("gamma", ["scale", "median", "mean"])
@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_a_weight_counts_as_that_many_rows_whether_few_or_many(n, gamma, name):
    X, y = draw(n)
    times = RNG.integers(1, 4, size=n)
    weighted = Kernel.resolve(name, X, y, gamma=gamma, weight=times.astype(float)).gamma
    repeated = Kernel.resolve(name, np.repeat(X, times, axis=0), np.repeat(y, times), gamma=gamma).gamma
    assert repeated == pytest.approx(weighted, rel=1e-6)


@pytest.mark.parametrize("name", ["rbf", "laplacian"])
def test_many_rows_give_nearly_the_width_of_all_pairs(name):
    X, y = draw(5000)
    metric, power = ("euclidean", 2) if name == "rbf" else ("cityblock", 1)
    distances = cdist(X, X, metric)
    assert Kernel.resolve(name, X, y, gamma="median").gamma == pytest.approx(
        np.median(distances[np.ix_(y == 0, y == 1)]) ** -power, rel=0.03
    )
    mean = distances.sum() / (5000 * 4999)
    assert Kernel.resolve(name, X, y, gamma="mean").gamma == pytest.approx(mean**-power, rel=0.03)


@pytest.mark.parametrize("gamma", ["scale", "median", "mean"])
def test_weights_below_one_and_sparse_rows_are_weighted_means(gamma):
    X, y = draw(100)
    X[X < 1] = 0.0
    weight = RNG.random(100) / 100
    found = Kernel.resolve("rbf", X, y, gamma=gamma, weight=weight).gamma
    assert Kernel.resolve("rbf", sparse.csr_matrix(X), y, gamma=gamma, weight=weight).gamma == pytest.approx(found)
    pairs, distances = np.outer(weight, weight), cdist(X, X)
    if gamma == "mean":
        assert found == pytest.approx(((pairs.sum() - weight @ weight) / (pairs * distances).sum()) ** 2)
    if gamma == "median":
        between = y[:, None] != y
        below = pairs[between][distances[between] <= found**-0.5].sum() / pairs[between].sum()
        assert below == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("gamma", ["median", "mean"])
def test_a_classifier_of_weighted_rows_equals_one_of_repeated_rows(gamma):
    X, y = draw(60)
    y = np.where(X[:, 0] > 2, 1, 0)
    times = RNG.integers(1, 4, size=60)
    one = MarginClassifier(kernel="rbf", gamma=gamma, tol=1e-9).fit(X, y, sample_weight=times)
    two = MarginClassifier(kernel="rbf", gamma=gamma, tol=1e-9).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-4)


def test_equal_rows_have_no_width_and_gamma_is_one():
    X = np.ones((10, 2))
    for gamma in ("scale", "median", "mean"):
        assert Kernel.resolve("rbf", X, np.arange(10) % 2, gamma=gamma).gamma == 1.0
        assert Kernel.resolve("rbf", 0 * X, np.arange(10) % 2, gamma=gamma).gamma == 1.0


@pytest.mark.parametrize("gamma", ["scale", "median", "mean"])
@pytest.mark.parametrize("name", ["rbf", "matern", "laplacian"])
@pytest.mark.parametrize("far", [[0], [0, 1, 2]], ids=["one column", "all columns"])
def test_sparse_rows_far_from_zero_have_the_width_of_the_dense_ones(gamma, name, far):
    X, y = draw(150)
    X[:, far] += 1e9
    weight = RNG.integers(1, 4, size=150).astype(float)
    dense = Kernel.resolve(name, X, y, gamma=gamma, weight=weight).gamma
    assert Kernel.resolve(name, sparse.csr_array(X), y, gamma=gamma, weight=weight).gamma == pytest.approx(dense, 1e-6)
    X[::7] = 0.0  # no column has an entry in every row
    dense = Kernel.resolve(name, X, y, gamma=gamma, weight=weight).gamma
    assert Kernel.resolve(name, sparse.csr_array(X), y, gamma=gamma, weight=weight).gamma == pytest.approx(dense, 1e-6)


@pytest.mark.parametrize("gamma", ["scale", "median", "mean"])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "matern"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_width_has_the_unit_of_the_features_even_where_most_rows_are_equal(gamma, name, weighted):
    rng = np.random.default_rng(2)
    X, y = (rng.random((60, 1)) < 0.15).astype(float), np.arange(60) % 2
    weight = rng.uniform(0.5, 2.0, size=60) if weighted else None
    power = 1 if name == "laplacian" else 2
    one = Kernel.resolve(name, X, y, gamma=gamma, weight=weight).gamma
    for unit in (0.25, 32.0):
        other = Kernel.resolve(name, unit * X, y, gamma=gamma, weight=weight).gamma
        assert other * unit**power == pytest.approx(one, rel=1e-12)
