"""Scores of hinge fits to the last digits, where rows lie on their corners and scales are far apart."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from softmargin import BalancingSVC, MarginClassifier, ProbabilisticSVC
from softmargin.expansions import DenseFeatures
from softmargin.solvers.svm.box_problem import optimal_intercepts
from softmargin.solvers.svm.newton_systems import newton_system

pytestmark = pytest.mark.filterwarnings("ignore:The fitted score is constant")


def majorities(seed: int, sign: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Binary rows, columns far apart in scale, labels, and the score that is best at every row of its own.

    At each distinct row one label is more frequent than the other, so no score there costs less than that label. All of
    them together are linear: -1 everywhere, or -1 and 1 by the first column.
    """
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 4))
    distinct = np.unique(rng.integers(0, 2, size=(8, p)), axis=0).astype(float)
    if sign == "first column":
        distinct = np.unique(np.concatenate([distinct, 0 * distinct[:1], 0 * distinct[:1] + 1]), axis=0)
    best = 2 * distinct[:, 0] - 1 if sign == "first column" else np.full(len(distinct), -1.0)
    minority = rng.integers(0, 3, size=len(distinct))
    majority = minority + rng.integers(1, 3, size=len(distinct))
    minority[0] += minority.sum() == 0
    majority[0] += 1
    at = np.concatenate([np.repeat(np.arange(len(distinct)), majority), np.repeat(np.arange(len(distinct)), minority)])
    y = np.concatenate([np.repeat(best, majority), np.repeat(-best, minority)])
    return distinct[at] * 10.0 ** rng.choice([0, 3], size=p), y, best[at]


@pytest.mark.parametrize("sign", ["everywhere", "first column"])
@pytest.mark.parametrize("loss", ["hinge", "balanced"])
def test_where_the_best_scores_of_all_rows_are_linear_they_are_the_scores(loss, sign):
    for seed in range(40):
        X, y, best = majorities(seed, sign)
        C = 10.0 ** np.random.default_rng(seed).uniform(1.5, 2.5)
        model = MarginClassifier(loss="hinge", C=C) if loss == "hinge" else BalancingSVC(balance=0.1, C=C)
        fitted = model.set_params(tol=1e-9, max_iter=100_000).fit(X, y)
        assert np.abs(fitted.decision_function(X) - best).max() <= 1e-4


def lattice(seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(10, 60)), int(rng.integers(1, 6))
    X = rng.integers(-2, 3, size=(n, p)) * rng.choice([1e-3, 1.0, 1e3], size=p)
    y = rng.integers(0, 2, size=n)
    y[:2] = 0, 1
    return np.where(rng.random(X.shape) < 0.5, 0.0, X), y, float(10 ** rng.uniform(0, 3))


@pytest.mark.parametrize("estimator", [MarginClassifier(loss="hinge"), BalancingSVC(), ProbabilisticSVC(n_weights=8)])
def test_rows_on_a_lattice_have_the_same_scores_however_they_are_given(estimator):
    for seed in range(40):
        X, y, C = lattice(seed)
        rng = np.random.default_rng(seed)
        times, order = rng.integers(1, 4, size=len(y)), rng.permutation(len(y))
        estimator.set_params(C=C, tol=1e-9, max_iter=100_000)
        weighted = estimator.fit(X, y, sample_weight=times.astype(float)).decision_function(X)
        repeated = estimator.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)
        rows = sparse.csr_array(X[order])
        shuffled = estimator.fit(rows, y[order], sample_weight=times[order].astype(float)).decision_function(X)
        scale = max(1.0, np.abs(weighted).max())
        assert np.abs(weighted - repeated).max() <= 1e-5 * scale
        assert np.abs(weighted - shuffled).max() <= 1e-5 * scale


def test_intercepts_that_cost_least_are_an_interval_known_from_the_costs_alone():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(2, 8))
        r, cost = rng.integers(-3, 4, size=n).astype(float), 0.1 * rng.integers(1, 4, size=n)
        lo, hi = np.where(rng.random(n) < 0.5, [np.zeros(n), cost], [-cost, np.zeros(n)])
        lo, hi = np.minimum(lo, hi), np.maximum(lo, hi)
        grid = np.unique(np.concatenate([r, r - 0.5, r + 0.5]))
        costs = np.maximum(lo[:, None] * (r[:, None] - grid), hi[:, None] * (r[:, None] - grid)).sum(axis=0)
        least = grid[costs <= costs.min() + 1e-9]
        low, high = optimal_intercepts(r, lo, hi)
        for end, found in ((least[0], low), (least[-1], high)):
            assert found == end or (np.isinf(found) and end in (grid[0], grid[-1]))


def test_an_infinite_cost_outweighs_all_others():
    lo, hi = np.array([0.0, -np.inf, 0.0]), np.array([np.inf, 0.0, 5.0])
    assert optimal_intercepts(np.array([-1.0, 2.0, 1.0]), lo, hi) == (1.0, 2.0)
    assert optimal_intercepts(np.array([-1.0, 2.0, 3.0]), lo, hi) == (2.0, 2.0)


@pytest.mark.parametrize("power", [0, 6, 12, 18, 24])
def test_newton_steps_are_accurate_whatever_the_heavy_rows_leave_to_the_ridge(power):
    rng = np.random.default_rng(power)
    X = rng.integers(-2, 3, size=(7, 3)).astype(float)
    X[:4, 2] = 2 * X[:4, 0] - X[:4, 1]  # heavy rows that do not span all directions
    weights = np.where(np.arange(7) < 4, 2.0**power * (1 + np.arange(7)), 2.0**-power)
    r, mismatch = rng.integers(-3, 4, size=7).astype(float), rng.integers(-2, 3, size=3).astype(float)
    du, dw, db = newton_system(DenseFeatures(X), 1 / weights, True).solve(r, mismatch, 0.5)
    A = [[*map(Fraction, row), Fraction(1)] for row in X.tolist()]
    w = [Fraction(value) for value in weights.tolist()]
    S = [[sum(w[i] * A[i][j] * A[i][k] for i in range(7)) + (j == k < 3) for k in range(4)] for j in range(4)]
    side = [*map(Fraction, mismatch.tolist()), Fraction(1, 2)]
    side = [side[j] + sum(w[i] * A[i][j] * Fraction(r[i]) for i in range(7)) for j in range(4)]
    exact = _solved(S, side)
    np.testing.assert_allclose([*dw, db], [float(v) for v in exact], rtol=1e-7, atol=1e-9)
    move = [w[i] * (Fraction(r[i]) - sum(A[i][j] * exact[j] for j in range(4))) for i in range(7)]
    np.testing.assert_allclose(du, [float(v) for v in move], rtol=1e-6, atol=1e-6 * max(abs(float(v)) for v in move))


def _solved(S: list[list[Fraction]], side: list[Fraction]) -> list[Fraction]:
    """The solution of a positive definite system, without rounding."""
    rows = [[*row, value] for row, value in zip(S, side, strict=True)]
    for j in range(len(rows)):
        rows[j] = [value / rows[j][j] for value in rows[j]]
        for k in range(len(rows)):
            if k != j:
                rows[k] = [a - rows[k][j] * b for a, b in zip(rows[k], rows[j], strict=True)]
    return [row[-1] for row in rows]


def test_rows_in_single_precision_on_a_boundary_have_the_probabilities_of_the_same_doubles():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(-2, 3, size=(79, 3)).astype(np.float32), rng.integers(0, 2, size=79)
        model = ProbabilisticSVC(kernel="linear", tol=1e-6)
        single = model.fit(X, y).predict_proba(X)
        np.testing.assert_allclose(single, model.fit(X.astype(float), y).predict_proba(X.astype(float)), atol=1e-5)
