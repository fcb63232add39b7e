"""SCAD, MCP and the adaptive lasso: calculus, stationarity, monotone rounds, and what they are for."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, losses
from softmargin.expansions import Kernel, expand
from softmargin.penalties import MCP, SCAD, AdaptiveL1, ElasticNet, Penalty, available, get, register
from softmargin.problem import Problem
from softmargin.solvers import Solution, solve
from softmargin.solvers.elastic_net.concave_step import concave_step

CONCAVE = [SCAD(), SCAD(shape=2.5, knee=0.3, l1_ratio=0.8), MCP(), MCP(shape=1.5, knee=0.5), SCAD(positive=True)]


@register("test_log")
@dataclass(frozen=True)
class LogPenalty(Penalty):
    """A penalty as a reader of the module docstring would add it."""

    def relative_slopes(self, size):
        return 1 / (1 + size)

    def relative_costs(self, size):
        return np.log1p(size)


CONCAVE.append(LogPenalty(l1_ratio=0.9))


def draw(seed, n=120, p=15):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, 0] - X[:, 1] + 0.7 * rng.logistic(size=n) > 0, 1.0, -1.0)
    return X, y


@settings(max_examples=40, deadline=None)
@given(penalty=st.sampled_from(CONCAVE), size=st.floats(0, 8), other=st.floats(0, 8))
def test_costs_integrate_their_slopes_and_tangents_lie_above(penalty, size, other):
    grid = np.linspace(0, size, 2001)
    middle = 0.5 * (grid[1:] + grid[:-1])
    integral = penalty.relative_slopes(middle).sum() * size / 2000
    cost = penalty.relative_costs(np.array([size, other]))
    assert cost[0] == pytest.approx(integral, abs=1e-4)
    slope = penalty.relative_slopes(np.array([other]))[0]
    assert cost[0] <= cost[1] + slope * (size - other) + 1e-12


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.HuberizedHinge()], ids=lambda loss: loss.name)
def test_rounds_decrease_the_objective_to_a_stationary_point(penalty, loss):
    X, y = draw(0)
    problem = Problem(loss, expand(X), y, np.full(len(y), 0.3), penalty)
    solution = solve(problem, tol=1e-7)
    assert solution.converged
    assert solution.certificate == "KKT violation"
    assert np.all(np.diff(solution.history) <= 1e-9 * solution.history[0])
    coef = solution.coef
    g = y * 0.3 * loss.slope(y * (X @ coef + solution.intercept))
    G = X.T @ g + penalty.ridge * coef
    cost = penalty.l1_ratio * penalty.relative_slopes(np.abs(coef))
    nonzero = coef != 0
    np.testing.assert_allclose(G[nonzero], -(cost * np.sign(coef))[nonzero], atol=1e-6)
    assert np.all((-G if penalty.positive else np.abs(G))[~nonzero] <= cost[~nonzero] + 1e-6)
    lasso = solve(Problem(loss, expand(X), y, np.full(len(y), 0.3), penalty.pilot), tol=1e-9)
    assert solution.objective <= problem.objective(lasso.coef, lasso.intercept) + 1e-12


def test_large_coefficients_are_shrunk_less_than_by_the_lasso():
    X, y = draw(1, n=400)
    sizes = {}
    for name in ("scad", "mcp", "adaptive_l1"):
        model = MarginClassifier(penalty=name, C=0.1).fit(X, y)
        sizes[name] = np.abs(model.coef_[0, :2]).min()
    lasso = np.abs(MarginClassifier(l1_ratio=1.0, C=0.1).fit(X, y).coef_[0, :2]).min()
    assert sizes["mcp"] > lasso
    assert sizes["adaptive_l1"] > lasso
    assert sizes["scad"] >= lasso - 1e-9


def test_adaptive_lasso_is_the_weighted_lasso_of_its_ridge_pilot():
    X, y = draw(2)
    weights = np.full(len(y), 0.5)
    ridge = solve(Problem(losses.Logistic(), expand(X), y, weights, ElasticNet(0.0)), tol=1e-6)
    factors = np.abs(ridge.coef) ** -0.5
    direct = solve(Problem(losses.Logistic(), expand(X), y, weights, ElasticNet(1.0, factors)), tol=1e-10)
    adaptive = solve(Problem(losses.Logistic(), expand(X), y, weights, AdaptiveL1(power=0.5)), tol=1e-6)
    assert adaptive.certificate == "duality gap"
    np.testing.assert_allclose(adaptive.coef, direct.coef, atol=1e-3)


def test_bad_shapes_are_named():
    for make, message in [
        (lambda: SCAD(shape=1.0), "shape of SCAD"),
        (lambda: MCP(knee=-1.0), "knee of MCP"),
        (lambda: AdaptiveL1(power=0.0), "power of AdaptiveL1"),
        (lambda: SCAD(l1_ratio=0.0), "l1_ratio of SCAD"),
        (lambda: get("ridge"), "penalty must be"),
        (lambda: MarginClassifier(penalty=3).fit(*draw(0)), "penalty must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            make()


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_curve_of_the_adaptive_lasso_integrates_its_slopes(power):
    penalty = AdaptiveL1(power=power)
    size = np.array([0.0, 0.2, 1.5])
    grid = np.concatenate([np.linspace(0, 1e-8, 200), np.geomspace(1e-8, 1.5, 200_000)])
    slopes = penalty.relative_slopes(grid)
    integral = np.append(0.0, np.cumsum(0.5 * (slopes[1:] + slopes[:-1]) * np.diff(grid)))
    np.testing.assert_allclose(penalty.relative_costs(size), np.interp(size, grid, integral), rtol=1e-3)


def test_a_registered_penalty_is_known_to_estimators_and_an_elastic_net_is_its_own_tangent():
    X, y = draw(2)
    assert "test_log" in available()
    model = MarginClassifier(penalty="test_log", C=0.1).fit(X, y)
    assert model.solution_.converged
    assert 0 < model.n_features_selected_ < X.shape[1]
    net = ElasticNet(0.5)
    assert net.linearize(np.ones(3)) is net
    assert not isinstance(SCAD(), ElasticNet)
    with pytest.raises(ValueError, match=r"penalty must be None, a penalty object or one of \[.*'scad'.*; got 3"):
        get(3)
    with pytest.raises(ValueError, match="exists already"):
        register("scad")(SCAD)


@pytest.mark.parametrize("loss", ["logistic", "bianco_yohai"])
def test_a_flat_penalty_on_separated_rows_is_told_from_a_slow_descent(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    X[:, 0] = np.sign(X[:, 0]) * (3 + np.abs(X[:, 0]))
    model = MarginClassifier(loss=loss, penalty="mcp", C=50.0, tol=1e-9, max_iter=100_000)
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        model.fit(X, X[:, 0] > 0)
    assert model.solution_.status == "unbounded"


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("penalty", [MCP(), SCAD(), ElasticNet(1.0, factors=np.array([1.0, 0.0]))])
def test_rows_of_which_only_some_are_separated_leave_no_minimum_either(penalty, loss):
    """A group of one class runs away along its indicator, while the other rows hold the rest of the fit."""
    rng = np.random.default_rng(0)
    steady, group = rng.standard_normal(200), rng.integers(0, 2, 200)
    y = (group == 1) | (2 * steady + rng.logistic(size=200) > 0)
    X = np.column_stack([0.3 * steady, group])
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        model = MarginClassifier(loss=loss, penalty=penalty, C=10.0).fit(X, y)
    assert model.solution_.status == "unbounded"
    assert not model.solution_.converged
    y[np.flatnonzero(group)[0]] = False  # one row of the other class in the group is enough to hold it
    assert MarginClassifier(loss=loss, penalty=penalty, C=10.0).fit(X, y).solution_.converged


def test_rows_that_a_bounded_loss_has_given_up_hold_nothing():
    """One row of the other class in the group would hold it, were it not given up."""
    rng = np.random.default_rng(0)
    steady, group = rng.standard_normal(200), rng.integers(0, 2, 200)
    y = (group == 1) | (2 * steady + rng.logistic(size=200) > 0)
    y[np.flatnonzero(group)[0]] = False
    X = np.column_stack([0.3 * steady, group])
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        model = TruncatedLogisticRegression(penalty="mcp", C=10.0, scheme=None).fit(X, y)
    assert model.solution_.status == "unbounded"
    assert TruncatedLogisticRegression(penalty="mcp", C=10.0, scheme=None, level=np.inf).fit(X, y).solution_.converged


def test_a_sign_constraint_can_hold_what_would_run_away():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 60)
    X, y = group[:, None].astype(float), (group == 0) | (rng.random(60) < 0.5)
    free, held = (ElasticNet(1.0, factors=np.zeros(1), positive=positive) for positive in (False, True))
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        assert MarginClassifier(penalty=free).fit(X, y).solution_.status == "unbounded"
    assert MarginClassifier(penalty=held).fit(X, y).solution_.converged


@pytest.mark.parametrize("loss", ["squared_hinge", "huberized_hinge"])
def test_a_loss_with_a_flat_end_has_a_minimum_on_separated_rows(loss):
    rng = np.random.default_rng(0)
    X = 0.02 * rng.standard_normal((40, 3))
    y = X[:, 0] > 0
    X[:, 0] += np.where(y, 0.01, -0.01)
    model = MarginClassifier(loss=loss, penalty=SCAD(), C=1e4).fit(X, y)
    assert model.solution_.converged
    assert np.min(np.where(y, 1, -1) * model.decision_function(X)) > 1 - 1e-3


@pytest.mark.parametrize("loss", ["least_squares", "logistic", "squared_hinge"])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("shape", [(40, 60), (60, 40)])
def test_the_adaptive_lasso_reports_the_objective_of_its_own_elastic_net(shape, offset, loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    y = (X[:, 0] + 0.5 * rng.normal(size=shape[0]) > 0).astype(int)
    model = MarginClassifier(loss=loss, l1_ratio=1.0, penalty="adaptive_l1").fit(X + offset, y)
    margins = np.where(y == 1, 1, -1) * model.decision_function(X + offset)
    assert model.solution_.converged
    # what is beyond the losses is a weighted l1 norm, at least zero and not larger than all of the objective at zero
    losses_alone = float(np.sum(model.loss_.value(margins)))
    assert losses_alone <= model.solution_.objective <= float(np.sum(model.loss_.value(0 * margins))) * (1 + 1e-9)


def tied_rows(seed):
    """Rows of few values: some are equal, some each other's negatives, and labels of equal ones may differ."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(40, 3)).astype(float)
    return X, np.where(X[:, 0] + rng.normal(size=40) > 0, 1, -1)


@pytest.mark.parametrize("penalty", ["scad", "mcp", "adaptive_l1"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_neither_the_order_of_rows_nor_repeating_them_chooses_among_stationary_points(penalty, kernel, form):
    for seed in range(6):
        X, y = tied_rows(seed)
        rng = np.random.default_rng(seed)
        times = rng.integers(1, 4, size=len(y))
        model = MarginClassifier(loss="squared_hinge", penalty=penalty, kernel=kernel, gamma=0.5, C=2.0)
        order = rng.permutation(np.repeat(np.arange(len(y)), times))
        weighted = model.fit(form(X), y, sample_weight=times).decision_function(form(X))
        repeated = model.fit(form(X[order]), y[order]).decision_function(form(X))
        np.testing.assert_allclose(repeated, weighted, atol=1e-8)


def test_the_order_of_a_precomputed_kernel_does_not_matter_either():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.choice([-1, 1], size=60)
    rows = rng.integers(60, size=90)
    K = np.exp(-(((X[rows, None] - X[rows]) ** 2).sum(axis=2)))
    order = rng.permutation(90)
    model = MarginClassifier(penalty="mcp", kernel="precomputed", C=5.0)
    plain = model.fit(K, y[rows]).decision_function(K)
    moved = model.fit(K[np.ix_(order, order)], y[rows][order]).decision_function(K[:, order])
    np.testing.assert_allclose(moved, plain, atol=1e-8)


@pytest.mark.filterwarnings("ignore:The constant classifier has a lower objective")
@pytest.mark.parametrize("penalty", ["scad", "mcp"])
@pytest.mark.parametrize("seed", range(12))
def test_equal_rows_of_both_labels_share_one_coefficient(seed, penalty):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(40, 3)).astype(float)
    y = (X[:, 0] + 0.7 * rng.normal(size=40) > 0.5).astype(int)
    K = rbf_kernel(X, gamma=1.0)
    options = {"penalty": penalty, "tol": 1e-9, "max_iter": 10_000, "fit_intercept": False}
    features = RobustSVC(kernel="rbf", gamma=1.0, **options).fit(X, y)
    given = RobustSVC(kernel="precomputed", **options).fit(K, y)
    swapped = RobustSVC(kernel="rbf", gamma=1.0, **options).fit(X, 1 - y)
    for other in (given.solution_, swapped.solution_):
        assert other.objective == pytest.approx(features.solution_.objective, rel=1e-9)
    used = X[features.support_]
    assert len(np.unique(used, axis=0)) == len(used)


def test_what_is_known_of_each_row_survives_putting_equal_rows_together():
    """Multipliers, margins and trust are those of the rows given, and the objective is that of the coefficients."""
    X, y = tied_rows(3)
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    problem = Problem(
        losses.Logistic(), expand(X, Kernel("rbf", gamma=1.0)), y.astype(float), weight, MCP(l1_ratio=0.7)
    )
    solution = solve(problem, tol=1e-9)
    margins = problem.margins(solution.coef, solution.intercept)
    np.testing.assert_allclose(solution.dual, -y * problem.evaluate(margins).slope, atol=1e-10)
    assert solution.objective == pytest.approx(problem.objective(solution.coef, solution.intercept), rel=1e-12)
    again = solve(problem, solution, tol=1e-9)
    np.testing.assert_allclose(again.coef, solution.coef, atol=1e-6)
    model = TruncatedLogisticRegression(penalty=SCAD(l1_ratio=0.5), kernel="rbf", level=2.0, C=10.0).fit(X, y)
    capped = losses.TruncatedLogistic(2.0).value(y * model.decision_function(X)) >= 2.0
    np.testing.assert_array_equal(model.sample_trust_ == 0, capped)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("kernel", ["linear", "poly"])
def test_a_coefficient_of_a_column_of_zeros_is_zero_whatever_its_pilot_was(loss, kernel):
    """A row of zeros has no similarity to any other, so its coefficient buys nothing; a ridge pilot may have one."""
    for seed in range(8):
        X, y = tied_rows(seed)
        X[[0, 20, -1]] = 0.0
        model = MarginClassifier(loss=loss, penalty="adaptive_l1", kernel=kernel, gamma=0.5, C=2.0).fit(X, y)
        assert model.solution_.converged
        assert not np.intersect1d(model.support_, np.flatnonzero(~X.any(axis=1))).size


@pytest.mark.parametrize("penalty", CONCAVE, ids=repr)
@pytest.mark.parametrize("kernel", [None, Kernel("rbf", gamma=0.1)], ids=["features", "kernel"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_steps_on_the_support_come_nearer_with_the_square_of_the_distance(penalty, kernel, fit_intercept):
    X, y = draw(3)
    weights = np.full(len(y), 2.0 if penalty.positive else 0.5)
    problem = Problem(losses.Logistic(), expand(X, kernel), y, weights, penalty, fit_intercept=fit_intercept)
    solution = solve(problem, tol=1e-10)
    assert np.any(solution.coef)
    left = []
    for distance in (1e-2, 1e-3):
        coef = solution.coef * (1 + distance * np.random.default_rng(4).uniform(-1, 1, len(solution.coef)))
        near = replace(solution, coef=coef)
        found = concave_step(problem, near, problem.objective(coef, near.intercept))
        assert found is not None
        left.append(np.abs(found.coef - solution.coef).max() / np.abs(coef - solution.coef).max())
    assert left[0] < 0.3
    assert left[1] < max(0.3 * left[0], 1e-4)


def test_no_step_is_taken_where_the_penalty_bends_more_than_the_loss():
    X, y = draw(5, n=40)
    problem = Problem(losses.Logistic(), expand(X), y, np.full(len(y), 1e-3), MCP(shape=1.5), fit_intercept=False)
    coef = np.full(X.shape[1], 0.5)
    at = Solution(coef, 0.0, None, np.nan, np.inf, 0, converged=False)
    assert concave_step(problem, at, problem.objective(coef, 0.0)) is None
