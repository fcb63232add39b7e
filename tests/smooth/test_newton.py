"""Newton's method returns certified optima for every smooth convex loss, in every geometry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.reference import ridge as reference

from softmargin import losses
from softmargin.expansions import DenseFeatures, Kernel, KernelColumns, SparseFeatures
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.ridge import conjugate_gradient
from softmargin.solvers.ridge import newton as newton
from softmargin.solvers.ridge.kernel_certificate import coefficients_as_dual
from softmargin.solvers.ridge.newton_systems import KernelSystem

SMOOTH = {
    "logistic": losses.Logistic(),
    "squared_hinge": losses.SquaredHinge(),
    "huberized_hinge": losses.HuberizedHinge(delta=1.5),
    "modified_huber": losses.ModifiedHuber(),
    "exponential": losses.Exponential(),
    "least_squares": losses.LeastSquares(),
    "coherence": losses.Coherence(temperature=0.3),
}
every_loss = pytest.mark.parametrize("name", SMOOTH)


def draw(n=60, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 0.3
    y = np.where(X[:, 0] - 0.5 * X[:, -1] + rng.normal(size=n) > 0.2, 1.0, -1.0)
    return X, y, 0.2 + rng.random(n)


def ridge_problem(loss, expansion, y, weights, **more):
    return Problem(loss, expansion, y, weights, ElasticNet(0.0), **more)


@every_loss
@pytest.mark.parametrize("shape", [(60, 4), (30, 70)], ids=["more rows", "more columns"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_agrees_with_a_slow_reference(name, shape, fit_intercept):
    X, y, weights = draw(*shape)
    problem = ridge_problem(SMOOTH[name], DenseFeatures(X), y, weights, fit_intercept=fit_intercept)
    found = solve(problem, tol=1e-12)
    coef, intercept = reference.solve(SMOOTH[name], X, y, weights, fit_intercept=fit_intercept)
    np.testing.assert_allclose(found.coef, coef, atol=2e-6)
    assert found.intercept == pytest.approx(intercept, abs=2e-6)
    assert found.objective <= problem.objective(coef, intercept) * (1 + 1e-11)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(SMOOTH)), st.floats(-3, 3))
def test_tilts_offsets_and_weights_enter_as_the_problem_says(seed, name, log_c):
    X, y, weights = draw(25, 3, seed)
    if abs(y.sum()) == len(y):
        y[0] = -y[0]
    rng = np.random.default_rng(seed)
    weights = weights * 10**log_c
    tilt, offset = 0.05 * weights * rng.random(25), rng.normal(size=25)
    problem = ridge_problem(SMOOTH[name], DenseFeatures(X), y, weights, tilt=tilt, offset=offset)
    found = solve(problem, tol=1e-9)
    u = problem.margins(found.coef, found.intercept)
    g = y * (weights * SMOOTH[name].slope(u) + tilt)
    size = np.abs(g).sum()
    assert abs(g.sum()) <= 1e-9 * size
    assert np.abs(found.coef + X.T @ g).max() <= 1e-3 * (size + 1) ** 0.5 + 1e-6 * size
    assert found.converged


@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "huberized_hinge", "coherence"])
def test_the_gap_is_the_distance_to_an_independent_dual_objective(name):
    X, y, weights = draw()
    offset = np.linspace(-1, 1, 60)
    loss = SMOOTH[name]
    problem = ridge_problem(loss, DenseFeatures(X), y, weights, offset=offset)
    with pytest.warns(ConvergenceWarning, match="newton stopped after 2 steps"):
        early = solve(problem, tol=1e-14, max_iter=2)
    for found in (early, solve(problem, tol=1e-10)):
        bound = reference.dual_objective(loss, X, y, weights, found.dual, offset=offset)
        scale = max(found.objective, 0.5 * found.coef @ found.coef)
        assert (found.objective - bound) / scale == pytest.approx(found.gap, rel=1e-4, abs=1e-13)
    assert early.gap > 1e-12


@every_loss
def test_kernel_and_features_agree_on_a_linear_kernel(name):
    X, y, weights = draw()
    features = solve(ridge_problem(SMOOTH[name], DenseFeatures(X), y, weights), tol=1e-12)
    columns = KernelColumns.from_rows(X, Kernel("linear"))
    kernel = solve(ridge_problem(SMOOTH[name], columns, y, weights), tol=1e-12)
    assert kernel.objective == pytest.approx(features.objective, rel=1e-10)
    np.testing.assert_allclose(X.T @ kernel.coef, features.coef, atol=2e-5)


@every_loss
def test_conjugate_gradients_find_what_a_factor_finds(name, monkeypatch):
    X, y, weights = draw(80, 6)
    exact = solve(ridge_problem(SMOOTH[name], DenseFeatures(X), y, weights), tol=1e-12)
    monkeypatch.setattr(newton, "prefers_factor", lambda expansion: False)
    problem = ridge_problem(SMOOTH[name], SparseFeatures(sparse.csr_array(X)), y, weights)
    assert isinstance(newton.newton_system(problem), newton.ConjugateSystem)
    found = solve(problem, tol=1e-12)
    assert found.gap <= 1e-12
    np.testing.assert_allclose(found.coef, exact.coef, atol=1e-5)


@pytest.mark.parametrize("temperature", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("kernel", [False, True])
def test_small_temperatures_converge_and_approach_the_hinge_from_above(temperature, kernel):
    X, y, weights = draw(120)
    expansion = KernelColumns.from_rows(X, Kernel("rbf", 0.3)) if kernel else DenseFeatures(X)
    cold = losses.Coherence(temperature=temperature, scale="V")
    found = solve(ridge_problem(cold, expansion, y, weights), tol=1e-8)
    assert found.gap <= 1e-8
    hinge = ridge_problem(losses.Hinge(), expansion, y, weights).objective(found.coef, found.intercept)
    assert 0 <= found.objective - hinge <= temperature * np.log(2) * weights.sum() * (1 + 1e-9)
    colder = solve(ridge_problem(losses.Coherence(temperature=1e-7, scale="V"), expansion, y, weights), tol=1e-8)
    assert -1e-6 <= (found.objective - colder.objective) / weights.sum() <= temperature * np.log(2)


@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "huberized_hinge", "exponential"])
@pytest.mark.parametrize("kernel", [False, True])
def test_separable_rows_with_a_huge_weight_give_a_finite_certified_solution(name, kernel):
    X, _, _ = draw(80)
    y = np.where(X[:, 0] > 0.2, 1.0, -1.0)
    expansion = KernelColumns.from_rows(X, Kernel("rbf", 0.3)) if kernel else DenseFeatures(X)
    found = solve(ridge_problem(SMOOTH[name], expansion, y, np.full(80, 1e9)), tol=1e-5)
    assert found.gap <= 1e-5
    assert np.isfinite(found.coef).all()


def test_a_sample_of_rows_is_only_a_start(monkeypatch):
    X, y, weights = draw(3000, 5)
    whole = solve(ridge_problem(losses.Logistic(), DenseFeatures(X), y, weights), tol=1e-13)
    sampled = newton.FeatureSystem(DenseFeatures(X), 1.0, True)
    sampled.many = 500
    monkeypatch.setattr(newton, "newton_system", lambda problem: sampled)
    found = solve(ridge_problem(losses.Logistic(), DenseFeatures(X), y, weights), tol=1e-13)
    np.testing.assert_allclose(found.coef, whole.coef, atol=1e-7)
    assert found.objective == pytest.approx(whole.objective, rel=1e-12)


def test_history_falls_and_a_start_at_the_optimum_stays_there():
    X, y, weights = draw()
    problem = ridge_problem(losses.Coherence(temperature=0.05), DenseFeatures(X), y, weights)
    found = solve(problem, tol=1e-9)
    assert np.all(np.diff(found.history) <= 1e-9 * found.objective)
    again = solve(problem, found, tol=1e-8)
    assert again.history[0] == pytest.approx(found.objective, rel=1e-9)
    assert again.objective == pytest.approx(found.objective, rel=1e-9)


def test_no_features_leave_the_intercept_alone():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    found = solve(ridge_problem(losses.Logistic(), DenseFeatures(np.empty((4, 0))), y, np.ones(4)))
    assert found.intercept == pytest.approx(np.log(3), abs=1e-9)
    assert found.gap == 0


def test_constant_and_zero_columns_do_no_harm():
    X, y, weights = draw()
    plain = solve(ridge_problem(losses.Logistic(), DenseFeatures(X), y, weights), tol=1e-12)
    padded = np.column_stack([X, np.zeros(60), np.full(60, 7.0)])
    found = solve(ridge_problem(losses.Logistic(), DenseFeatures(padded), y, weights), tol=1e-12)
    np.testing.assert_allclose(found.coef, np.append(plain.coef, [0, 0]), atol=1e-6)


def test_float32_data_are_solved_in_place_to_single_accuracy():
    X, y, weights = draw(200)
    single = DenseFeatures(X.astype(np.float32))
    found = solve(ridge_problem(losses.Logistic(), single, y, weights), tol=1e-6)
    exact = solve(ridge_problem(losses.Logistic(), DenseFeatures(X), y, weights), tol=1e-12)
    np.testing.assert_allclose(found.coef, exact.coef, atol=1e-3)
    assert found.converged


def test_solvers_say_what_they_need():
    X, y, weights = draw()
    lasso = Problem(losses.Logistic(), DenseFeatures(X), y, weights, ElasticNet(0.5))
    with pytest.raises(ValueError, match="solver='newton' needs a smooth convex loss and l1_ratio=0"):
        solve(lasso, solver="newton")
    with pytest.raises(ValueError, match=r"solver must be 'auto' or one of .*; got 'bogus'"):
        solve(lasso, solver="bogus")


@pytest.mark.parametrize("C", [1.0, 1e4])
@pytest.mark.parametrize("name", ["logistic", "squared_hinge"])
def test_a_factor_in_single_precision_loses_no_digits_of_the_solution(name, C, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 3))
    y = np.where(X[:, 0] + np.square(X[:, 1]) + 0.5 * rng.logistic(size=700) > 1, 1.0, -1.0)
    expansion = KernelColumns.from_rows(X, Kernel("rbf", gamma=0.5))
    problem = Problem(losses.get(name), expansion, y, np.full(700, C), ElasticNet(0.0))
    fast = solve(problem, tol=1e-10)
    monkeypatch.setattr("softmargin.solvers.ridge.newton_systems.SINGLE_PRECISION", np.inf)
    exact = solve(problem, tol=1e-10)
    assert fast.gap <= 1e-10
    assert fast.objective == pytest.approx(exact.objective, rel=1e-9)
    np.testing.assert_allclose(expansion.apply(fast.coef), expansion.apply(exact.coef), atol=1e-3)


@pytest.mark.parametrize("name", ["logistic", "squared_hinge", "huberized_hinge", "coherence"])
@pytest.mark.parametrize("spread", [0.0, 4.0], ids=["columns alike in size", "columns of all sizes"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_steps_that_are_tried_without_a_hessian_end_where_those_with_one_do(monkeypatch, name, spread, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 40)) * 10.0 ** rng.uniform(-spread, 0, size=40)
    X[:, 20:] += X[:, :20]
    y = np.where(X[:, 0] + 0.1 * rng.normal(size=90) > 0, 1.0, -1.0)
    problem = ridge_problem(SMOOTH[name], DenseFeatures(X), y, 1 + rng.random(90), fit_intercept=fit_intercept)
    whole = solve(problem, tol=1e-10)
    tried = []
    kept = conjugate_gradient.TrialSystem.factor
    monkeypatch.setattr(conjugate_gradient, "MANY_COLUMNS", 1)
    monkeypatch.setattr(conjugate_gradient.TrialSystem, "factor", lambda *a: tried.append(1) or kept(*a))
    found = solve(problem, tol=1e-10)
    assert tried
    assert found.gap <= 1e-10
    assert found.objective == pytest.approx(whole.objective, rel=1e-9)


@pytest.mark.parametrize("loss", ["huberized_hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("shape", [(1000, 8000), (4000, 400)])
def test_sparse_rows_at_large_costs_are_fitted_to_tol(loss, shape):
    X = sparse.random(*shape, density=0.01, random_state=0, format="csr")
    score = np.asarray(X[:, : shape[1] // 20].sum(axis=1)).ravel()
    y = np.where(score + 0.1 * np.random.default_rng(0).normal(size=len(score)) > np.median(score), 1.0, -1.0)
    for C in (10.0, 1e3):
        problem = Problem(SMOOTH[loss], SparseFeatures(X), y, np.full(len(y), C), ElasticNet(0.0))
        assert solve(problem, tol=1e-6).converged


@every_loss
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_as_a_dual_point_bound_the_objective_and_are_tight_at_the_optimum(name, fit_intercept):
    X, y, weights = draw()
    kernel = KernelColumns.from_rows(X, Kernel("rbf", gamma=0.5))
    tilt, offset = -0.1 * weights, 0.1 * X[:, 0]
    problem = ridge_problem(SMOOTH[name], kernel, y, weights, fit_intercept=fit_intercept, tilt=tilt, offset=offset)
    best, system = solve(problem, tol=1e-13), KernelSystem(kernel.outer(), problem.penalty.ridge, fit_intercept)

    def gap(coef):
        return coefficients_as_dual(problem, system, coef, problem.margins(coef, best.intercept)).gap

    assert gap(best.coef) < 1e-6 * best.objective
    rng, finite = np.random.default_rng(0), 0
    for size in (0.5, 0.1, 1e-2, 1e-3):
        coef = best.coef * (1 + size * rng.uniform(-1, 1, len(y)))
        above = problem.objective(coef, best.intercept) - best.objective
        assert gap(coef) >= above - 1e-10 * best.objective
        finite += np.isfinite(gap(coef))
    assert finite


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["squared_hinge", "huberized_hinge"])
def test_large_costs_and_similarities_leave_a_kernel_its_certificate(name):
    """Slopes of rounded scores, multiplied with the kernel once more, would certify nothing."""
    X, y, weights = draw(200, 2)
    kernel = KernelColumns.from_rows(X, Kernel("rbf", gamma=1.0))
    found = solve(ridge_problem(SMOOTH[name], kernel, y, 1e9 * weights), tol=1e-12, solver="newton")
    assert found.gap <= 2e-6
