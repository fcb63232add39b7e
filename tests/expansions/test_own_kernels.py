"""A kernel function of one's own: of two rows, or of two matrices of rows; anything else is refused by name."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import laplacian_kernel, linear_kernel, rbf_kernel

import softmargin
from softmargin import paths
from softmargin.expansions import Kernel

RNG = np.random.default_rng(0)
A, B = RNG.normal(size=(9, 3)), RNG.normal(size=(5, 3))
Y = np.arange(9) % 2
OF_ROWS = {
    "dot": np.dot,
    "gaussian": lambda a, b: np.exp(-np.sum((a - b) ** 2)),
    "one by one": lambda a, b: np.atleast_2d(a @ b),
    "integers": lambda a, b: int(np.sum(np.round(a) * np.round(b))),
}
OF_MATRICES = {
    "rbf": rbf_kernel,
    "laplacian": laplacian_kernel,
    "linear": linear_kernel,
    "distances": lambda A, B: np.exp(-cdist(A, B)),
    "sums": lambda A, B: (A[:, None] * B).sum(axis=-1),
}


@pytest.mark.parametrize("name", OF_ROWS)
def test_a_function_of_two_rows_is_called_with_each_pair(name):
    function = OF_ROWS[name]
    expected = [[float(np.squeeze(function(a, b))) for b in B] for a in A]
    np.testing.assert_allclose(Kernel(function)(A, B), expected)


@pytest.mark.parametrize("name", OF_MATRICES)
def test_a_function_of_matrices_is_called_with_them(name):
    function = OF_MATRICES[name]
    np.testing.assert_allclose(Kernel(function)(A, B), function(A, B))
    model = softmargin.MarginClassifier(kernel=function).fit(A, Y)
    same = softmargin.MarginClassifier(kernel="precomputed").fit(function(A, A), Y)
    np.testing.assert_allclose(model.decision_function(B), same.decision_function(function(B, A)), atol=1e-5)


def test_scikit_learns_kernels_take_sparse_rows():
    rows, others = sparse.csr_array(A), sparse.csr_array(B)
    np.testing.assert_allclose(Kernel(rbf_kernel)(rows, others), rbf_kernel(A, B))
    np.testing.assert_allclose(Kernel(lambda a, b: a @ b.T)(rows, others), A @ B.T)


MISTAKES = {
    "one argument": (lambda a: 1.0, "kernel must be a function of two rows.*it raises TypeError.*reshape"),
    "three arguments": (lambda a, b, c: 1.0, "kernel must be a function of two rows.*it raises TypeError"),
    "fails": (lambda a, b: 1 / 0, "kernel must be a function of two rows.*ZeroDivisionError"),
    "products": (lambda a, b: a * b, r"kernel must be a function of two rows.*array of shape \(3,\)"),
    "complex": (lambda a, b: 1j + a @ b, "kernel must return real numbers; got .*complex"),
    "complex matrix": (lambda A, B: 1j * cdist(A, B), "kernel must be a function of two rows|must return real numbers"),
    "text": (lambda a, b: "near", "kernel must return real numbers; got 'near'"),
    "nothing": (lambda a, b: None, "kernel must return real numbers; got None"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_makes_no_similarity_is_refused_by_name(mistake):
    function, message = MISTAKES[mistake]
    for fit in (
        lambda: softmargin.MarginClassifier(kernel=function).fit(A, Y),
        lambda: softmargin.BalancingSVC(kernel=function).fit(A, Y),
        lambda: paths.cost_path(A, Y, kernel=function),
        lambda: paths.margin_path(A, Y, kernel=function, l1_ratio=0.5),
    ):
        with pytest.raises(ValueError, match=message):
            fit()


def doubled(a, b):
    a *= 2
    return a @ b.T


@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_a_function_that_writes_into_its_rows_is_refused_and_leaves_those_of_the_user(container):
    rows = container(A)
    for settings in ({}, {"loss": "hinge"}, {"n_components": 4}, {"l1_ratio": 1.0}):
        with pytest.raises(ValueError, match="kernel must leave the rows it is given as they are"):
            softmargin.MarginClassifier(kernel=doubled, **settings).fit(rows, Y)
    np.testing.assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, A)
