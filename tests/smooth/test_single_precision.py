"""Rows and similarities in single precision are fitted as their numbers in double precision are."""

import numpy as np
import pytest
from scipy import sparse

from softmargin import MarginClassifier, RobustSVC
from softmargin.expansions import DenseFeatures, SparseFeatures


def signs(score, seed=1):
    noise = np.random.default_rng(seed).normal(size=len(score)) * score.std() / 2
    return np.where(score + noise > np.median(score), 1, -1)


def assert_same_fit(model, single, y):
    """The fit to single numbers is certified, and as good as that to the same numbers in double precision."""
    found = model.fit(single, y).solution_
    assert found.converged
    model.fit(single.astype(np.float64), y)
    assert found.objective == pytest.approx(model.solution_.objective, rel=2 * model.tol)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("n", [400, 990, 1100, 2100])
def test_a_gram_matrix_of_few_features(loss, C, n):
    X = np.random.default_rng(0).normal(size=(n, 5))
    K = (X @ X.T).astype(np.float32)  # of rank five and, by rounding, indefinite
    assert_same_fit(MarginClassifier(loss=loss, kernel="precomputed", C=C, tol=1e-6), K, signs(X[:, 0]))


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "poly"])
@pytest.mark.parametrize("n", [1000, 1300])
def test_kernels_of_single_rows(kernel, n):
    X = np.random.default_rng(0).normal(size=(n, 12)).astype(np.float32)
    model = MarginClassifier(loss="squared_hinge", kernel=kernel, gamma=0.01, coef0=1.0, C=100.0, tol=1e-6)
    assert_same_fit(model, X, signs(X[:, 0]))


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge", "huberized_hinge"])
@pytest.mark.parametrize("shape", [(60_000, 20), (900, 1500)])
def test_large_tables(loss, shape):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=shape) * np.exp(rng.normal(size=shape[1]))).astype(np.float32)
    assert_same_fit(MarginClassifier(loss=loss, C=1e3, tol=1e-6), X, signs(X[:, :5].sum(axis=1)))


def test_what_is_certified_of_many_columns_is_what_is_returned():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(900, 1500)) * np.exp(rng.normal(size=1500))).astype(np.float32)
    y = signs(X[:, :5].sum(axis=1))
    for model in (MarginClassifier(loss="squared_hinge", C=1e3), RobustSVC(C=1e3)):
        found = model.fit(X, y).solution_
        margins = y * (X.astype(np.float64) @ found.coef + found.intercept)
        value = 1e3 * float(model.loss_.value(margins).sum()) + 0.5 * float(found.coef @ found.coef)
        assert value == pytest.approx(found.objective, rel=1e-6)


@pytest.mark.parametrize("form", [DenseFeatures, lambda X: SparseFeatures(sparse.csr_matrix(X))], ids=["dense", "csr"])
def test_inner_products_and_scores_are_those_of_doubles(form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 800)).astype(np.float32)
    features, wide = form(X), X.astype(np.float64)
    coef, r = rng.normal(size=800), rng.normal(size=1500)
    np.testing.assert_allclose(features.outer(), wide @ wide.T, atol=1e-10)
    if form is DenseFeatures:
        np.testing.assert_allclose(features.apply(coef), wide @ coef, atol=1e-11)
        np.testing.assert_allclose(features.transpose(r), wide.T @ r, atol=1e-11)
        np.testing.assert_allclose(features.apply(np.eye(800)[:, :2]), wide[:, :2], atol=0)
        np.testing.assert_allclose(features.transpose(np.eye(1500)[:, :2]), wide[:2].T, atol=0)
