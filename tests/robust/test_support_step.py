"""Newton steps of nonconvex losses under l1 or concave costs: exact within an orthant; they change the pace only."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin import MarginClassifier, RobustSVC, losses
from softmargin.expansions import Kernel, expand
from softmargin.penalties import MCP, SCAD, ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.elastic_net.proximal_newton import PROXIMAL_NEWTON, approach
from softmargin.solvers.nonconvex import inner_solvers, margin_losses
from softmargin.solvers.nonconvex.convex_bounds import bound_at, certain_margins
from softmargin.solvers.nonconvex.support_step import support_step, upward_step

LOSSES = ["welsch", "cauchy", "geman_mcclure", "tanh_hinge", "copas", "bianco_yohai"]


def draw(n=90, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    return X, np.where(X[:, 0] + X[:, 1] + 0.7 * rng.standard_normal(n) > 0, 1.0, -1.0)


def problem_of(loss, kernel=None, penalty=None, C=2.0):
    X, y = draw()
    expansion = expand(X, None if kernel is None else Kernel.resolve(kernel, X, y))
    return Problem(losses.get(loss), expansion, y, np.full(len(y), C), penalty or ElasticNet(0.5))


def residual(problem, coef, intercept):
    """The derivative of the objective in the coefficients that are not zero, and in the intercept."""
    g = problem.y * problem.evaluate(problem.margins(coef, intercept)).slope
    size = problem.expansion.apply(coef) if problem.expansion.is_kernel else coef
    G = problem.expansion.transpose(g) + problem.penalty.ridge * size
    G = G + problem.penalty.linearize(coef).thresholds(len(coef)) * np.sign(coef)
    return max(np.abs(G[coef != 0]).max(), abs(g.sum()))


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("loss", ["cauchy", "copas", "bianco_yohai"])
@pytest.mark.parametrize("penalty", [ElasticNet(0.5), MCP(0.5, shape=40.0), SCAD(0.5, shape=40.0)], ids=repr)
def test_steps_near_a_minimum_square_the_distance(loss, kernel, penalty):
    problem = problem_of(loss, kernel, penalty)
    found = solve(problem, tol=1e-10)
    left = []
    for away in (1e-2, 1e-3):
        coef = (1 + away) * found.coef
        intercept = found.intercept + away
        step = support_step(problem, coef, problem.margins(coef, intercept))
        assert step is not None
        np.testing.assert_allclose(step.scores, problem.expansion.apply(step.coef), atol=1e-8)
        np.testing.assert_array_equal(step.coef != 0, found.coef != 0)
        left.append(residual(problem, coef + step.coef, intercept + step.intercept))
    assert left[1] < 0.03 * left[0]


def test_no_step_leaves_the_orthant():
    problem = problem_of("cauchy")
    found = solve(problem, tol=1e-10)
    turned = -found.coef
    assert support_step(problem, turned, problem.margins(turned, found.intercept)) is None
    assert support_step(problem, np.zeros_like(found.coef), problem.margins_of(np.zeros(len(problem.y)), 0.0)) is None


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("loss", ["welsch", "geman_mcclure", "tanh_hinge"])
def test_where_rows_bend_the_wrong_way_the_others_still_say_which_way_is_down(loss, kernel):
    problem = problem_of(loss, kernel, C=20.0)
    trusted = solve(bound_at(problem, certain_margins(problem)))
    margins = problem.margins(trusted.coef, trusted.intercept)
    assert np.any(problem.evaluate(margins).curvature < 0)
    step = upward_step(problem, trusted.coef, margins)
    assert step is not None
    np.testing.assert_allclose(step.scores, problem.expansion.apply(step.coef), atol=1e-8)
    here = problem.objective(trusted.coef, trusted.intercept)
    least = min(
        problem.objective(trusted.coef + t * step.coef, trusted.intercept + t * step.intercept)
        for t in (1e-3, 1e-2, 1e-1, 1.0)
    )
    assert least < here


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("loss", ["welsch", "cauchy"])
def test_a_bound_is_left_where_another_gains_more(loss, kernel):
    problem = problem_of(loss, kernel, C=20.0)
    trusted = solve(bound_at(problem, certain_margins(problem)))
    bound = bound_at(problem, problem.margins(trusted.coef, trusted.intercept))
    least = PROXIMAL_NEWTON.run(bound, trusted, 1e-9, 1000, 0)
    found = approach(bound, trusted, problem, 1e-9, 1000, 0)
    assert found.converged
    assert found.gap > 1e-9
    assert (
        least.objective - 1e-9 * abs(least.objective)
        <= found.objective
        < bound.objective(trusted.coef, trusted.intercept)
    )
    assert problem.objective(found.coef, found.intercept) < found.objective


def test_starts_that_cost_too_much_are_told_of_and_change_nothing(monkeypatch):
    X, y = draw()
    model = RobustSVC(kernel="rbf", l1_ratio=0.5, random_state=0)
    one = model.fit(X, y).solution_.objective
    monkeypatch.setattr(margin_losses, "_OTHER_STARTS", 0.0)
    monkeypatch.setattr(margin_losses, "_AS_THE_FIRST", 0.0)
    with pytest.warns(ConvergenceWarning, match="n_init=3: only 1"):
        assert model.set_params(n_init=3).fit(X, y).solution_.objective == one


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("loss", LOSSES)
def test_steps_end_where_the_bounds_alone_would(loss, kernel, monkeypatch):
    problem = problem_of(loss, kernel)
    quick = solve(problem, tol=1e-8)
    monkeypatch.setattr(inner_solvers, "support_step", lambda *_: None)
    slow = solve(problem, tol=1e-8)
    assert quick.converged
    assert np.all(np.diff(quick.history) <= 1e-10 * quick.history[0])
    np.testing.assert_allclose(quick.objective, slow.objective, rtol=1e-6)
    np.testing.assert_allclose(problem.expansion.apply(quick.coef), problem.expansion.apply(slow.coef), atol=1e-3)


def test_repeated_rows_make_equal_columns_and_no_singular_step():
    X, y = draw(60)
    X, y = np.repeat(np.round(X), 2, axis=0), np.repeat(y, 2)
    model = MarginClassifier(loss="cauchy", kernel="rbf", l1_ratio=0.5, C=1000.0, tol=1e-9).fit(X, y)
    assert model.solution_.converged
    assert np.all(np.isfinite(model.decision_function(X)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(6))
def test_whole_weights_are_repeats_under_concave_penalties_to_the_digits_of_the_objective(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(67, 4))
    X = np.column_stack([X, X @ [1.0, -1.0, 0.5, 0.0]])
    y, times = X[:, 0] + rng.normal(size=67) > 0, rng.integers(1, 4, size=67)
    model = RobustSVC(l1_ratio=0.01, penalty="mcp", tol=1e-9, max_iter=100_000)
    weighed = model.fit(X, y, sample_weight=times.astype(float)).solution_.objective
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).solution_.objective
    assert weighed == pytest.approx(repeated, rel=1e-6)
