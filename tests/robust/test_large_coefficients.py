"""Under a concave penalty large coefficients cost nothing: what they leave of the scores decides what is certified."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.exceptions import ConvergenceWarning

from softmargin import MarginClassifier, RobustSVC
from softmargin.expansions import DenseFeatures
from softmargin.losses import Logistic
from softmargin.penalties import MCP
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers import solve

KNEE = 3.0  # where MCP becomes flat


def exact_violation(model, K, y):
    """By how much the conditions of a stationary point fail on the support, where scores are summed exactly."""
    coef, support = np.zeros(len(y)), model.support_
    coef[support] = model.dual_coef_[0]
    scores = [float(sum(Fraction(row[j]) * Fraction(coef[j]) for j in support)) for row in K]
    slopes = model.C * y * np.asarray(model.loss_.slope(y * np.array(scores)))
    costs = np.maximum(1 - np.abs(coef) / KNEE, 0.0) * np.sign(coef)
    return max(abs(math.fsum(K[:, j] * slopes) + costs[j]) for j in support)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("loss", "gamma", "C", "seeds"),
    [("cauchy", 8.0, 3.0, (80, 293)), ("squared_hinge", 4.0, 3.0, (149, 472))],
)
def test_what_is_certified_holds_of_scores_without_rounding(loss, gamma, C, seeds):
    """Rows far from one another are told apart by coefficients of up to 1e10, which cancel near by."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(40, 2)), np.where(rng.random(40) < 0.3, 1.0, -1.0)
        K = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
        estimator = MarginClassifier if loss == "squared_hinge" else RobustSVC
        model = estimator(loss=loss, penalty="mcp", kernel="precomputed", fit_intercept=False, C=C, tol=1e-9)
        solution = model.fit(K, y).solution_
        assert not solution.converged or exact_violation(model, K, y) <= 3 * model.tol


def test_coefficients_that_leave_scores_few_digits_are_told_with_their_remedy():
    """Two columns whose difference, of 1e-10, tells the classes apart as far as anything does."""
    rng = np.random.default_rng(0)
    base, tells = rng.normal(size=(2, 30))
    X = np.column_stack([base, base + 1e-10 * tells])
    y = np.where(tells + rng.normal(size=30) > 0, 1.0, -1.0)
    problem = Problem(Logistic(), DenseFeatures(X), y, np.full(30, 10.0), MCP())
    coef = np.array([-1e10, 1e10])
    start = Solution(coef, 0.0, None, problem.objective(coef, 0.0), np.inf, 0, False)
    with pytest.warns(ConvergenceWarning, match="l1_ratio < 1"):
        found = solve(problem, start, tol=1e-9)
    assert np.abs(found.coef).max() > 1e9
    assert not found.converged
