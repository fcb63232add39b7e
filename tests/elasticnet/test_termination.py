"""A tolerance below what doubles can show is not reached, and the search for it ends."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression
from softmargin.expansions import DenseFeatures, Kernel, expand
from softmargin.losses import LeastSquares, Logistic, SquaredHinge
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.elastic_net.working_set import WorkingSet


@pytest.mark.parametrize("rows", ["binary", "gaussian", "constant"])
@pytest.mark.parametrize(
    "model",
    [
        MarginClassifier(loss="logistic", l1_ratio=1.0, tol=1e-40, max_iter=10**8),
        MarginClassifier(loss="squared_hinge", l1_ratio=0.5, tol=1e-40, max_iter=10**8),
        MarginClassifier(loss="logistic", penalty="scad", l1_ratio=0.9, tol=1e-40, max_iter=10**6),
        RobustSVC(penalty="scad", l1_ratio=0.99, tol=1e-9, max_iter=10**6),
    ],
    ids=str,
)
def test_the_search_for_digits_that_do_not_come_ends(model, rows):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9, 2))
    X = {"binary": (X > 0).astype(float), "gaussian": X, "constant": np.column_stack([X[:, 0], np.ones(9)])}[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        solution = model.fit(X, np.arange(9) % 2).solution_
    assert np.isfinite(solution.gap)
    assert solution.converged == (solution.gap <= model.tol)


def test_a_flat_row_far_out_does_not_hold_its_columns_back():
    X = np.array([[5.8e7, 8.9e6], [0.43, -0.23], [-1.24, 0.76]])
    model = MarginClassifier(l1_ratio=0.5, tol=1e-9, max_iter=100).fit(X, [1, 1, 0], sample_weight=[3.0, 1.0, 2.0])
    assert model.solution_.converged


def test_rounds_end_where_a_concave_penalty_gains_no_more_digits():
    rng = np.random.default_rng(2)
    X = 1e5 * np.column_stack([rng.choice([-1.0, 1.0], size=(60, 6)) + 0.1 * rng.normal(size=(60, 6)), np.ones(60)])
    weight = 10 ** rng.uniform(-6, 6, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = MarginClassifier(penalty="scad", tol=1e-12).fit(X, rng.integers(0, 2, 60), weight).solution_
    gained = -np.diff(solution.history) / solution.history[0]
    assert np.count_nonzero(gained <= 1e-12) < 20


@pytest.mark.parametrize("size", [1e3, 1e5, 1e8])
@pytest.mark.parametrize("loss", ["squared_hinge", "least_squares", "modified_huber", "huberized_hinge", "logistic"])
@pytest.mark.parametrize("shape", [(10, 35), (40, 20)])
def test_l1_costs_tiny_beside_the_slopes_are_minimised_all_the_same(loss, size, shape):
    rng = np.random.default_rng(0)
    X, y = rng.standard_t(2, size=shape), np.arange(shape[0]) % 2
    X[:, 0] += y
    for l1_ratio in (0.5, 1.0):
        assert MarginClassifier(loss=loss, l1_ratio=l1_ratio, tol=1e-4).fit(size * X, y).solution_.converged


def test_rounds_end_where_no_bound_can_be_minimised():
    rng = np.random.default_rng(0)
    X = 1e13 * rng.standard_t(2, size=(12, 100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = RobustSVC(penalty="scad", max_iter=10**6, tol=1e-9).fit(X, np.arange(12) % 2).solution_
    assert np.isfinite(solution.gap)
    assert not solution.converged


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_small_tables_of_single_precision_converge_to_the_default_tolerance(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(44, 4)).astype(np.float32)
    for l1_ratio in (0.01, 1.0):
        for positive in (False, True):
            model = MarginClassifier(kernel=kernel, l1_ratio=l1_ratio, positive=positive)
            assert model.fit(X, np.arange(44) % 4, sample_weight=rng.integers(1, 4, 44)).solution_[0].converged


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_repeated_rows_of_a_kernel_with_l1_costs_are_weights(kernel):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(30, 5)).astype(float), np.arange(30) % 2
    weight = rng.integers(1, 12, 30)
    model = MarginClassifier(kernel=kernel, l1_ratio=1.0, loss="squared_hinge")
    whole = model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert whole.solution_.converged
    assert len(whole.support_) <= len(np.unique(X, axis=0))
    objective = whole.solution_.objective
    assert model.fit(X, y, weight).solution_.objective == pytest.approx(objective, rel=2 * model.tol)


@pytest.mark.parametrize("kernel", ["matern", "laplacian"])
@pytest.mark.parametrize(
    "model", [MarginClassifier(loss="logistic"), TruncatedLogisticRegression(scheme=None)], ids=str
)
def test_of_rows_that_repeat_with_their_label_one_holds_the_coefficient_of_all(model, kernel):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    labels = np.where(rows[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)
    order = rng.permutation(np.repeat(np.arange(60), rng.integers(1, 6, 60)))
    model = clone(model).set_params(kernel=kernel, l1_ratio=0.01, tol=1e-7)
    whole = model.fit(rows[order], labels[order])
    assert whole.solution_.converged
    held = order[whole.support_]
    assert len(np.unique(held)) == len(held)
    scores, objective = whole.decision_function(rows), whole.solution_.objective
    model.fit(rows, labels, np.bincount(order))
    assert model.solution_.objective == pytest.approx(objective, rel=1e-5)
    np.testing.assert_allclose(model.decision_function(rows), scores, atol=0.02 * np.abs(scores).max())


def test_similar_columns_of_a_kernel_do_not_all_come_into_the_working_set():
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(size=(500, 1)), axis=0)  # neighbours are nearly the same column
    problem = Problem(
        Logistic(),
        expand(X, Kernel("rbf", gamma=1.0)),
        np.sign(np.sin(3 * X[:, 0])),
        np.full(500, 100.0),
        ElasticNet(0.5),
    )
    solution = solve(problem)
    assert solution.converged
    wanted = np.count_nonzero(solution.coef)
    moving = WorkingSet(problem).columns(solution.coef, np.ones(500)).index
    assert set(np.flatnonzero(solution.coef)) <= set(moving)
    assert wanted < len(moving) < 250


def test_a_ridge_fit_of_a_kernel_of_few_dimensions_is_no_start_for_its_columns(monkeypatch):
    """All rows have coefficients there, of which ten dimensions cannot tell one from another."""
    rng = np.random.default_rng(0)
    sizes, chosen = [], WorkingSet.columns

    def columns(self, *at):
        found = chosen(self, *at)
        sizes.append(len(found.index))
        return found

    monkeypatch.setattr(WorkingSet, "columns", columns)
    X, y = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    model = MarginClassifier(kernel="poly", loss="power_margin", penalty="adaptive_l1", C=0.1, probability=False)
    assert model.fit(X, y, sample_weight=10 ** rng.uniform(-6, 6, 400)).solution_.converged
    assert max(sizes) < 100


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(6))
def test_dependent_columns_of_all_sizes_are_solved_as_well_as_scaled_ones(seed):
    rng = np.random.default_rng(seed)
    X = 3 * rng.standard_t(1.5, size=(60, 3))
    X = np.column_stack([X, X @ rng.normal(size=3)])
    y = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    K = (X @ X.T) ** 3  # ten directions, columns up to 1e24
    size = np.abs(K).max(axis=0)

    def objective(columns, factors):
        return solve(Problem(Logistic(), DenseFeatures(columns), y, np.ones(60), ElasticNet(1.0, factors))).objective

    assert objective(K, None) == pytest.approx(objective(K / size, 1 / size), rel=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_rows_of_huge_and_tiny_weight_side_by_side_are_fitted(seed):
    # a heavy row that bends at the margin cuts every step of a model that does not see it
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, size=(70, 6))
    y = np.where(X[:, 0] + rng.normal(size=70) > 0, 1.0, -1.0)
    penalty = ElasticNet(1.0, np.where(rng.random(70) < 0.1, 0.0, 1.0))
    columns, weights = DenseFeatures(laplacian_kernel(X, gamma=0.05)), 10.0 ** rng.uniform(-6, 6, size=70)
    assert solve(Problem(SquaredHinge(), columns, y, weights, penalty), tol=1e-6, max_iter=1000).converged


@pytest.mark.parametrize("size", [1e12, 1e20, 1e40])
@pytest.mark.parametrize("seed", range(4))
def test_rounding_of_a_kernel_of_few_dimensions_is_no_gain(size, seed):
    """Along coefficients without scores ``b'K b`` is rounding of either sign, and so is what it promises."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 3)) * [1.0, 1.0, 1e3]
    y = np.where(rng.random(30) < 0.4, 1.0, -1.0)
    problem = Problem(Logistic(), expand(X, kernel=Kernel("linear")), y, np.ones(30), ElasticNet(0.5))
    cold = solve(problem, tol=1e-3)
    silent = np.linalg.svd(X.T)[2][3:].T @ rng.normal(size=27)
    warm = solve(problem, replace(cold, coef=cold.coef + size * silent), tol=1e-3)
    assert warm.converged
    assert warm.objective == pytest.approx(cold.objective, rel=2e-3)


@pytest.mark.parametrize("loss", [LeastSquares(), SquaredHinge(), Logistic()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_gap_of_a_fit_that_ends_early_is_that_of_its_best_multiple_of_the_slopes(loss, steps):
    rng = np.random.default_rng(steps)
    X = rng.standard_normal((200, 20))
    y = np.where(X[:, 0] + rng.standard_normal(200) > 0, 1.0, -1.0)
    weights = rng.uniform(0.5, 1.5, 200)
    problem = Problem(loss, expand(X), y, weights, ElasticNet(1.0), fit_intercept=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = solve(problem, tol=1e-14, max_iter=steps)
    slopes = weights * loss.slope(problem.margins(solution.coef, 0.0))
    c = min(1.0, 1 / np.abs(X.T @ (y * slopes)).max())
    bound = -float(weights @ loss.conjugate(c * slopes / weights))
    assert solution.gap * solution.objective <= (solution.objective - bound) * (1 + 1e-6) + 1e-10
