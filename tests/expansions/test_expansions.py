"""Every expansion answers a solver's questions as its definition says."""

import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import MarginClassifier
from softmargin.expansions import (
    DenseFeatures,
    Kernel,
    KernelColumns,
    NystroemFeatures,
    SparseFeatures,
    canonical_sparse,
    expand,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 5)) * (RNG.random((40, 5)) < 0.7)
W = RNG.random(40) * (RNG.random(40) < 0.6)
NEW = RNG.normal(size=(7, 5))
RBF = Kernel("rbf", 0.3)

FEATURES = {
    "row order": DenseFeatures(np.ascontiguousarray(X)),
    "column order": DenseFeatures(np.asfortranarray(X)),
    "csr": SparseFeatures(sparse.csr_matrix(X)),
    "csc": SparseFeatures(sparse.csc_array(X)),
}


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@pytest.mark.parametrize("name", FEATURES)
def test_features_multiply_as_their_matrix(name):
    e, beta, r = FEATURES[name], RNG.normal(size=5), RNG.normal(size=40)
    np.testing.assert_allclose(e.apply(beta), X @ beta, atol=1e-12)
    np.testing.assert_allclose(e.transpose(r), X.T @ r, atol=1e-12)
    second, first = e.moments(W)
    np.testing.assert_allclose(second, X.T @ (W[:, None] * X), atol=1e-12)
    np.testing.assert_allclose(first, X.T @ W, atol=1e-12)
    np.testing.assert_allclose(e.gram(W), second, atol=1e-12)
    np.testing.assert_allclose(e.outer(), X @ X.T, atol=1e-12)
    np.testing.assert_allclose(e.squared_norms(W), W @ X**2, atol=1e-12)
    np.testing.assert_allclose(e.squared_norms(), (X**2).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(e.take(np.array([3, 1])).apply(beta), X[[3, 1]] @ beta, atol=1e-12)
    np.testing.assert_allclose(e.select(np.array([3, 1])).apply(beta[:2]), X[:, [3, 1]] @ beta[:2], atol=1e-12)
    np.testing.assert_allclose(e.diagonal(), (X**2).sum(axis=1), atol=1e-12)
    some = np.array([7, 2, 30])
    np.testing.assert_allclose(e.outer_rows(np.float64)(some), X[some] @ X.T, atol=1e-12)
    np.testing.assert_allclose(dense(e.rows(slice(3, 9))), X[3:9])
    np.testing.assert_allclose(dense(e.rows(some)), X[some])
    np.testing.assert_allclose(dense(e.columns(np.array([4, 0]))), X[:, [4, 0]])
    np.testing.assert_allclose(dense(e.cross(some, np.arange(10))), X[some])
    assert e.n_stored == (np.count_nonzero(X) if e.is_sparse else X.size)
    assert e.support(beta) is None


def test_dense_features_are_not_copied_in_either_order_or_precision():
    large = np.zeros((2048, 1024), dtype=np.float32)
    for matrix in (X, np.asfortranarray(X), large):
        assert DenseFeatures(matrix).rows().base is matrix or DenseFeatures(matrix).rows() is matrix
        assert DenseFeatures(matrix).dtype == matrix.dtype


def test_kernel_columns_use_the_kernel_norm_and_predict_from_support_rows_only():
    e = expand(X, RBF)
    K = rbf_kernel(X, gamma=0.3)
    beta = RNG.normal(size=40) * (RNG.random(40) < 0.3)
    np.testing.assert_allclose(e.apply(beta), K @ beta)
    few = np.where(np.arange(40) % 13 == 5, beta + 1, 0.0)
    np.testing.assert_allclose(e.apply(few), K @ few)
    np.testing.assert_allclose(e.apply(0 * few), np.zeros(40))
    np.testing.assert_allclose(e.columns(np.array([3, 1])), K[:, [3, 1]])
    assert e.quadratic(beta) == pytest.approx(beta @ K @ beta)
    some, members = np.array([7, 2, 30]), np.array([1, 5, 6, 39])
    np.testing.assert_allclose(e.outer_rows(np.float64)(some), K[some])
    np.testing.assert_allclose(e.rows(some), K[some])
    np.testing.assert_allclose(e.columns(some), K[:, some])
    np.testing.assert_allclose(e.cross(some, members), K[np.ix_(some, members)])
    np.testing.assert_allclose(e.take(members).outer(), K[np.ix_(members, members)])
    np.testing.assert_allclose(e.diagonal(), 1.0)
    np.testing.assert_array_equal(e.support(beta), np.flatnonzero(beta))
    score = pickle.loads(pickle.dumps(e.scorer(beta)))
    assert len(score.coef) == np.count_nonzero(beta)
    np.testing.assert_allclose(score(NEW), rbf_kernel(NEW, X, gamma=0.3) @ beta)


def test_nystroem_with_every_row_as_landmark_is_the_kernel_itself():
    e = NystroemFeatures(X, RBF, np.arange(40))
    np.testing.assert_allclose(e.outer(), rbf_kernel(X, gamma=0.3), atol=1e-7)


def test_nystroem_scores_training_rows_and_new_rows_alike():
    e = expand(X, RBF, n_components=9, random_state=0)
    beta = RNG.normal(size=e.shape[1])
    np.testing.assert_allclose(e.scorer(beta)(X), e.apply(beta), atol=1e-9)
    assert e.shape == (40, 9)


def test_landmarks_ignore_the_order_and_the_number_of_equal_rows():
    order = RNG.permutation(40)
    chosen = expand(X, RBF, n_components=6, random_state=3).landmarks
    shuffled = expand(X[order], RBF, n_components=6, random_state=3).landmarks
    repeated = expand(np.repeat(X, 3, axis=0), RBF, n_components=6, random_state=3).landmarks
    rows = {tuple(row) for row in chosen}
    assert rows == {tuple(row) for row in shuffled} == {tuple(row) for row in repeated}


@pytest.mark.parametrize("kind", ["scale", "median", "mean"])
def test_kernel_width_counts_a_row_of_integer_weight_as_that_many_rows(kind):
    times, y = RNG.integers(1, 4, size=40), RNG.integers(0, 2, size=40)
    weighted = Kernel.resolve("rbf", X, y, gamma=kind, weight=times.astype(float))
    repeated = Kernel.resolve("rbf", np.repeat(X, times, axis=0), np.repeat(y, times), gamma=kind)
    assert weighted.gamma == pytest.approx(repeated.gamma, rel=1e-9)  # equal rows are 1e-8 apart


def test_a_given_kernel_matrix_must_be_square_symmetric_and_semidefinite():
    K = rbf_kernel(X, gamma=0.3)
    given = Kernel("precomputed")
    with pytest.raises(ValueError, match=r"square.*\(40, 39\)"):
        expand(K[:, :39], given)
    skew = K.copy()
    skew[0, 1] += 0.1
    with pytest.raises(ValueError, match=r"not symmetric.*\(K \+ K.T\) / 2"):
        expand(skew, given)
    with pytest.raises(ValueError, match="indefinite: its eigenvalues run from"):
        expand(K - 0.5 * np.eye(40), given)
    assert expand(K - 0.5 * np.eye(40), given, kernel_norm=False).shape == (40, 40)
    nearly = K + np.triu(1e-12 * RNG.normal(size=K.shape), 1)
    made = expand(nearly, given).rows()
    assert np.array_equal(made, made.T)
    np.testing.assert_allclose(made, K, atol=1e-11)
    values, vectors = np.linalg.eigh(K)
    values[0] = -1e-10 * values[-1]
    rounded = (vectors * values) @ vectors.T
    assert isinstance(expand(0.5 * (rounded + rounded.T), given), KernelColumns)


def test_n_components_must_be_a_positive_integer():
    with pytest.raises(ValueError, match="n_components must be None or a positive integer or 'auto'; got 0"):
        expand(X, RBF, n_components=0)


def test_moments_of_single_precision_bear_weights_beyond_its_range():
    X = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)
    weights = np.array([1e40, 1.0, 3e38, 0.0, 2e40, 1e-40, 5.0])
    second, first = DenseFeatures(X).moments(weights)
    exact = X.astype(np.float64)
    np.testing.assert_allclose(second, exact.T @ (weights[:, None] * exact), rtol=1e-5)
    np.testing.assert_allclose(first, exact.T @ weights, rtol=1e-5)


def test_rows_without_an_order_are_the_same_features_and_entries_in_two_parts_are_summed():
    rng = np.random.default_rng(0)
    X = sparse.random(40, 12, 0.4, format="csr", random_state=0)
    order = np.concatenate([first + rng.permutation(last - first) for first, last in itertools.pairwise(X.indptr)])
    shuffled = sparse.csr_matrix((X.data[order], X.indices[order], X.indptr), shape=X.shape)
    halves = sparse.csr_matrix((np.repeat(X.data, 2) / 2, np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    weights = rng.random(40)
    for other in (shuffled, halves):
        before = other.indices.copy()
        features = SparseFeatures(canonical_sparse(other))
        np.testing.assert_allclose(features.gram(weights), (X.T @ sparse.diags(weights) @ X).toarray())
        np.testing.assert_allclose(features.squared_norms(weights), X.multiply(X).T @ weights)
        np.testing.assert_array_equal(other.indices, before)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_sparse_container_of_a_full_table_is_that_table(form, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 7)).astype(dtype)
    full, half = expand(form(X)), expand(form(np.where(rng.random(X.shape) < 0.5, X, 0)))
    assert not full.is_sparse
    assert half.is_sparse
    np.testing.assert_array_equal(full.rows(), expand(X).rows())
    y = np.where(X[:, 0] + rng.standard_normal(40) > 0, 1, 0)
    for parameters in ({"l1_ratio": 1.0}, {"loss": "hinge"}, {"loss": "squared_hinge", "l1_ratio": 0.5}):
        models = [MarginClassifier(**parameters).fit(table, y) for table in (X, form(X))]
        np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-3, atol=1e-4)
