"""Kernel machines of single-precision rows and similarities: to a fine tolerance, as those of doubles."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from softmargin import MarginClassifier, ProbabilisticSVC
from softmargin.expansions import DenseFeatures, Kernel, expand
from softmargin.solvers import BoxQP, KinkedFamily


def overlapping(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0.3, 1.0, -1.0)


@pytest.mark.parametrize("n", [100, 301, 1000])
@pytest.mark.parametrize("C", [1e-3, 1.0, 30.0, 1e3])
@pytest.mark.parametrize("stored", [np.float32, np.float64])
def test_similarities_rounded_to_single_precision_are_solved_as_their_features_are(n, C, stored):
    """Such a matrix is semidefinite only up to that rounding, and its low rank is hidden in it."""
    X, y = overlapping(n, 3, seed=n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    K = (X @ X.T).astype(np.float32).astype(stored)
    assert np.linalg.eigvalsh(K.astype(np.float64))[0] < -1e-8
    cost = np.full(n, C)
    box = BoxQP(y, np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0))
    family, exact = (
        KinkedFamily(expansion, intercept=True, largest=C, tol=2e-7)
        for expansion in (expand(K, Kernel("precomputed")), DenseFeatures(X))
    )
    found, expected = family.solve(box)[0], exact.solve(box)[0]
    assert found.converged
    assert found.violation <= 2e-7
    rounding = n * C * float(np.finfo(np.float32).eps)
    np.testing.assert_allclose(found.gradient + found.intercept, expected.gradient + expected.intercept, atol=rounding)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("n", [76, 1001])
def test_rows_of_single_precision_reach_a_fine_tolerance(kernel, n):
    X, y = overlapping(n, 2, seed=1)
    X = X.astype(np.float32)
    model = ProbabilisticSVC(kernel=kernel, C=10, tol=3e-7, n_weights=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    # rows at the edge of a bracket may fall on either side of it
    assert np.mean(np.abs(single.predict_proba(X) - double.predict_proba(X)) > 1e-3) < 0.02


@pytest.mark.parametrize("seed", range(5))
def test_a_row_far_out_hides_no_change_of_the_scores_near_the_margin(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(40, 3)).astype(np.float32)  # polynomials of such rows reach 1e7
    y = X[:, 0] + rng.normal(size=40) > 0
    model = MarginClassifier(loss="squared_hinge", kernel="poly", degree=5, gamma=1.0, coef0=1.0, tol=1e-3).fit(X, y)
    K = (1 + X.astype(float) @ X[model.support_].astype(float).T) ** 5
    exact, held = K @ model.solution_.coef[model.support_], K @ model.dual_coef_[0].astype(float)
    np.testing.assert_array_less(np.abs(held - exact), 2e-4 * np.maximum(1.0, np.abs(exact)))
