"""The second-order model of an l1 fit: its curvature, and steps on its support."""

import numpy as np
import pytest

from softmargin import MarginClassifier
from softmargin._compiled.descent import GramQuadratic
from softmargin.expansions import expand
from softmargin.solvers.elastic_net.quadratic_model import Columns


def value(H, g, b, cost):
    return g @ b + 0.5 * b @ H @ b + cost @ np.abs(b)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("n", "p"), [(60, 12), (40, 40), (8, 40)], ids=["tall", "square", "singular"])
def test_a_step_on_the_support_ends_at_the_minimiser_within_the_orthant(n, p, seed):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(-3, 3, p)
    H, g, cost = M.T @ M, M.T @ rng.normal(size=n), rng.uniform(0.1, 1, p)
    b = rng.normal(size=p) * rng.integers(0, 2, p) / (1 + np.sqrt(np.diagonal(H)))
    before, signs = value(H, g, b, cost), np.sign(b)
    quadratic = GramQuadratic(H, g + H @ b, b)
    quadratic.polish(cost)
    after = quadratic.coef
    assert value(H, g, after, cost) <= before + 1e-12 * abs(before)
    assert np.all((after == 0) | (np.sign(after) == signs))
    np.testing.assert_allclose(quadratic.gradient(), g + H @ after, atol=1e-9 * np.abs(H @ np.abs(after) + 1).max())
    if n > p:
        left = after != 0
        slope = (g + H @ after + cost * np.sign(after))[left] / np.sqrt(np.diagonal(H)[left])
        assert np.abs(slope).max(initial=0.0) <= 1e-6


def test_a_direction_without_curvature_but_for_rounding_is_not_followed():
    """An outlier beside rows of size one: what they add to its square is below the last digit."""
    rng = np.random.default_rng(0)
    M = rng.normal(size=(9, 30))
    M[3] *= 1e8
    H, cost = M.T @ M, np.full(30, 0.5)
    b = 1e-9 * rng.normal(size=30)
    g = M.T @ rng.normal(size=9)
    quadratic = GramQuadratic(H, g + H @ b, b.copy())
    for _ in range(20):
        quadratic.polish(cost)
    exact = 0.5 * np.sum(np.square(M @ quadratic.coef)) + g @ quadratic.coef + cost @ np.abs(quadratic.coef)
    assert exact <= 0.5 * np.sum(np.square(M @ b)) + g @ b + cost @ np.abs(b) + 1e-3


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
def test_the_curvature_of_columns_is_that_of_their_differences_however_far_they_lie(offset):
    rng = np.random.default_rng(0)
    M, h = offset + rng.normal(size=(50, 6)), rng.uniform(0.1, 1, 50)
    M[:, 2] = 3.0 + offset  # a constant column is the intercept itself
    exact = M.astype(np.longdouble)
    exact -= h @ exact / h.sum()
    found = Columns(expand(M), np.arange(6), 0.0, True).curvature(h).data
    np.testing.assert_allclose(found, (exact.T * h @ exact).astype(float), rtol=1e-6, atol=1e-5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # rounding of slopes is beside the costs
@pytest.mark.parametrize("offset", [1e3, 1e4, 1e5])
def test_l1_costs_on_similarities_of_rows_far_from_zero_do_not_hide_what_differs(offset):
    """The columns nearly repeat one another and the intercept; a fit on the features bounds what they can reach."""
    rng = np.random.default_rng(1)
    X = offset + rng.normal(size=(50, 5))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=50) > 0
    ridge = MarginClassifier(kernel="linear", C=1.0).fit(X, y).solution_.objective
    assert MarginClassifier(kernel="linear", l1_ratio=1e-3, C=1.0, tol=1e-4).fit(X, y).solution_.objective < 1.1 * ridge
