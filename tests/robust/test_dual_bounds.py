"""Large kernels: working sets on the dual of each bound find what Newton's method finds, without the whole matrix."""

from dataclasses import replace

import numpy as np
import pytest

from softmargin import RobustSVC, losses
from softmargin.expansions import Kernel, KernelColumns, expand
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.nonconvex import dual_bounds
from softmargin.solvers.svm.squared_hinge import KernelDual, minimise_dual


def draw(n=180, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, 0.5 + rng.random(n)


def problem_of(loss, fit_intercept=True, offset=None):
    X, y, weights = draw()
    kernel = Kernel.resolve("rbf", X, y)
    return Problem(loss, expand(X, kernel), y, weights, ElasticNet(0.0), fit_intercept=fit_intercept, offset=offset)


@pytest.mark.parametrize("loss", [losses.Welsch(1.5), losses.Cauchy(1.0), losses.GemanMcClure(2.0)], ids=repr)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_dual_finds_a_stationary_point_as_low_as_newtons(loss, fit_intercept, monkeypatch):
    offset = np.linspace(-0.2, 0.2, 180)
    newton = solve(problem_of(loss, fit_intercept, offset), tol=1e-6)
    monkeypatch.setattr(dual_bounds, "_MANY", 0)
    problem = problem_of(loss, fit_intercept, offset)
    found = solve(problem, tol=1e-6)
    assert found.converged
    assert found.objective == pytest.approx(problem.objective(found.coef, found.intercept), rel=1e-9)
    assert found.objective == pytest.approx(newton.objective, rel=1e-4)
    assert np.all(np.diff(found.history) <= 1e-9 * abs(found.history[0]))


def test_the_gap_bounds_what_a_bound_has_left(monkeypatch):
    monkeypatch.setattr(dual_bounds, "_MANY", 0)
    problem = problem_of(losses.SquaredHinge())
    solver = dual_bounds.DualSolver(problem, 1e-8)
    exact = solve(problem, tol=1e-12).objective
    for tol in (1e-2, 1e-4, 1e-7):
        found = solver.minimise(problem, np.inf, tol, 1000, 0)
        assert found.gap <= tol
        assert -1e-12 <= (found.objective - exact) / exact <= found.gap + 1e-12


def test_the_whole_matrix_is_never_made(monkeypatch):
    monkeypatch.setattr(dual_bounds, "_MANY", 0)
    X, y, _ = draw(1200)
    monkeypatch.setattr(KernelColumns, "outer", None)
    model = RobustSVC(kernel="rbf").fit(X, y)
    assert model.solution_.converged
    assert model.score(X, y) > 0.75


def test_scores_are_those_of_the_multipliers_even_where_a_row_hardly_counts():
    problem = problem_of(losses.SquaredHinge())
    weights = np.where(np.arange(180) % 3 == 0, 1e-9, problem.weights)
    dual, u = KernelDual(problem.expansion, np.float64), np.zeros(180)
    for trust in (weights, 0.1 * weights, weights[::-1].copy()):  # the multipliers of one problem start the next
        found = minimise_dual(replace(problem, weights=trust), dual, u, 1e-6, 1000)
        u = found.solution.coef
        np.testing.assert_allclose(found.margins, problem.margins(u, found.solution.intercept), atol=1e-6)
