"""Kernel machines of single-precision rows and similarities: to a fine tolerance, as those of doubles."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from softmargin import BalancingSVC, MarginClassifier, ProbabilisticSVC
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


def objective_of(model, X, y, cost):
    """The losses and the ridge of the coefficients as the model holds them, summed in double precision."""
    X, b = X.astype(float), float(model.intercept_[0])
    if model.kernel is None:
        beta = model.coef_[0].astype(float)
        scores, square = X @ beta, beta @ beta
    else:
        alpha, rows = model.dual_coef_[0].astype(float), X[model.support_]
        K = np.exp(-model.gamma * np.square(X[:, None] - rows).sum(axis=2))
        scores = K @ alpha
        square = alpha @ K[model.support_] @ alpha
    return cost @ model.loss_.value(np.where(y, 1, -1) * (scores + b)) + square / 2


@pytest.mark.filterwarnings("ignore:The fitted score is constant")
@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("name", [MarginClassifier, BalancingSVC])
@pytest.mark.parametrize("n", [9, 300])
def test_the_objective_of_single_precision_rows_is_that_of_the_coefficients_as_held(name, kernel, n):
    """Rows on the margin pay their cost for every digit that rounded coefficients lose."""
    options = {"loss": "hinge"} if name is MarginClassifier else {}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.integers(-2, 3, size=(n, 4)).astype(np.float32)
        X[:, 0] *= np.float32(10.0 ** rng.integers(-3, 3))
        y = X @ rng.normal(size=4) > 0
        y[:2] = False, True
        weight = rng.choice([1.0, 10.0, 1000.0], size=n)
        C = 10.0 ** rng.integers(0, 4)
        model = name(C=C, kernel=kernel, gamma=0.3, tol=1e-6, **options).fit(X, y, sample_weight=weight)
        assert model.solution_.objective == pytest.approx(objective_of(model, X, y, C * weight), rel=1e-3)
        assert model.decision_function(X).dtype == np.float32


def test_coefficients_of_single_precision_rows_at_ordinary_costs_are_of_their_type():
    X, y = overlapping(200, 3, seed=0)
    X = X.astype(np.float32)
    assert MarginClassifier(loss="hinge").fit(X, y).coef_.dtype == np.float32
    assert MarginClassifier(loss="hinge", kernel="rbf").fit(X, y).dual_coef_.dtype == np.float32
