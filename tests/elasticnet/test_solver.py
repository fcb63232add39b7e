"""Proximal Newton against the slow obvious way, and its optimality conditions on awkward problems."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from reference import elastic_net as reference
from softmargin import MarginClassifier, losses
from softmargin.expansions import expand
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.solvers.elastic_net.proximal_newton import Iterate

SMOOTH = [
    losses.Logistic(),
    losses.HuberizedHinge(delta=2.0),
    losses.SquaredHinge(),
    losses.Coherence(temperature=0.3),
    losses.ModifiedHuber(),
    losses.LeastSquares(),
]


def draw(seed, n, p, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < density) + 0.5
    y = np.where(X[:, 0] - 0.5 + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y, rng.uniform(0.2, 2.0, n)


def fit(loss, X, y, weights, l1_ratio, tol=1e-11, **penalty):
    problem = Problem(loss, expand(X), y, weights, ElasticNet(l1_ratio, **penalty))
    return problem, solve(problem, tol=tol, solver="proximal_newton")


@pytest.mark.parametrize("loss", SMOOTH, ids=lambda loss: loss.name)
@pytest.mark.parametrize("l1_ratio", [0.3, 1.0])
def test_agrees_with_plain_coordinate_descent(loss, l1_ratio):
    X, y, weights = draw(0, 40, 6)
    coef, intercept = reference.coordinate_descent(loss, X, y, weights, l1_ratio)
    best = reference.objective(loss, X, y, weights, coef, intercept, l1_ratio)
    problem, solution = fit(loss, X, y, weights, l1_ratio)
    assert solution.objective == pytest.approx(best, rel=1e-9)
    assert problem.objective(solution.coef, solution.intercept) == pytest.approx(solution.objective, rel=1e-13)
    np.testing.assert_allclose(solution.coef, coef, atol=2e-5)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(4, 40),
    p=st.integers(1, 60),
    l1_ratio=st.sampled_from([0.05, 0.5, 0.95, 1.0]),
    C=st.sampled_from([0.01, 0.3, 5.0]),
    loss=st.sampled_from(SMOOTH),
    positive=st.booleans(),
)
def test_conditions_hold_for_dense_and_sparse_alike(seed, n, p, l1_ratio, C, loss, positive):
    X, y, weights = draw(seed, n, p, density=0.4)
    X[:, 0] = 0.0
    X[:, p // 2] = 1.0
    X[:, -1] = X[:, p // 3]
    _, dense = fit(loss, X, y, C * weights, l1_ratio, tol=1e-10, positive=positive)
    _, thin = fit(loss, sparse.csr_matrix(X), y, C * weights, l1_ratio, tol=1e-10, positive=positive)
    assert dense.gap <= 1e-10
    assert thin.objective == pytest.approx(dense.objective, rel=1e-8)
    assert dense.coef[0] == thin.coef[0] == 0.0
    for solution in (dense, thin):
        left = reference.violations(
            loss, X, y, C * weights, solution.coef, solution.intercept, l1_ratio, positive=positive
        )
        assert left.max() <= 1e-3 * max(1.0, C * n)
        assert not positive or solution.coef.min() >= 0


def test_gap_bounds_the_distance_to_the_optimum():
    X, y, weights = draw(3, 50, 20)
    for l1_ratio in (0.4, 1.0):
        _, exact = fit(losses.Logistic(), X, y, weights, l1_ratio, tol=1e-13)
        for tol in (1e-1, 1e-2, 1e-4):
            _, rough = fit(losses.Logistic(), X, y, weights, l1_ratio, tol=tol)
            assert -1e-12 <= (rough.objective - exact.objective) / rough.objective <= rough.gap + 1e-13
            assert rough.gap <= tol


def test_factors_scale_each_l1_cost_and_zero_frees_a_coefficient():
    X, y, weights = draw(5, 60, 8)
    factors = np.array([0.0, 1, 1, 2, 2, 50, 50, 0.5])
    _, solution = fit(losses.Logistic(), X, y, weights, 0.6, factors=factors)
    cost = 0.6 * factors
    left = reference.violations(losses.Logistic(), X, y, weights, solution.coef, solution.intercept, 0.6, cost)
    assert left.max() <= 1e-5
    assert solution.coef[0] != 0
    assert not solution.coef[5:7].any()


def test_integer_weights_equal_repeated_rows():
    X, y, _ = draw(6, 30, 10)
    counts = np.random.default_rng(0).integers(1, 4, 30)
    _, weighted = fit(losses.SquaredHinge(), X, y, counts.astype(float), 0.8)
    again = np.repeat(np.arange(30), counts)
    _, repeated = fit(losses.SquaredHinge(), X[again], y[again], np.ones(len(again)), 0.8)
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-6)


def test_tilt_and_offset_enter_the_margins():
    X, y, weights = draw(7, 50, 5)
    rng = np.random.default_rng(1)
    tilt, offset = 0.05 * rng.standard_normal(50), rng.standard_normal(50)
    problem = Problem(losses.Logistic(), expand(X), y, weights, ElasticNet(0.5), tilt=tilt, offset=offset)
    solution = solve(problem, tol=1e-10)
    assert solution.converged
    g = y * (weights * problem.loss.slope(problem.margins(solution.coef, solution.intercept)) + tilt)
    G = X.T @ g + 0.5 * solution.coef
    assert abs(g.sum()) < 1e-8
    nonzero = solution.coef != 0
    np.testing.assert_allclose(G[nonzero], -0.5 * np.sign(solution.coef[nonzero]), atol=1e-4)
    assert np.all(np.abs(G[~nonzero]) <= 0.5 + 1e-4)


def test_large_float32_data_stay_float32_and_agree():
    X, y, weights = draw(8, 40_000, 30)
    problem, single = fit(losses.Logistic(), X.astype(np.float32), y, weights, 0.5, tol=1e-5)
    _, double = fit(losses.Logistic(), X.astype(np.float32).astype(float), y, weights, 0.5)
    assert problem.expansion.dtype == np.float32
    np.testing.assert_allclose(single.coef, double.coef, atol=2e-3)


def test_separable_data_with_a_huge_C_stay_finite():
    X, y, _ = draw(9, 30, 60)
    for l1_ratio in (np.float32(0.5), 1.0):
        _, solution = fit(losses.Logistic(), X, y, np.full(30, 1e6), l1_ratio, tol=1e-6)
        assert np.all(np.isfinite(solution.coef))
        assert solution.gap <= 1e-6
        assert np.all(y * (X @ solution.coef + solution.intercept) > 0)


def test_more_columns_than_a_gram_matrix_is_good_for():
    X, y, weights = draw(10, 20, 900)
    _, solution = fit(losses.Logistic(), np.asfortranarray(X), y, 20 * weights, 0.02, tol=1e-9)
    left = reference.violations(losses.Logistic(), X, y, 20 * weights, solution.coef, solution.intercept, 0.02)
    assert np.count_nonzero(solution.coef) > 40
    assert left.max() <= 1e-3


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredHinge()], ids=str)
def test_the_loss_s_own_conjugate_sharpens_the_certificate_and_stays_above_the_truth(loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 30))
    y = np.where(X[:, 0] + rng.logistic(size=80) > 0, 1.0, -1.0)
    problem = Problem(loss, expand(X), y, np.full(80, 0.5), ElasticNet(1.0))
    best = solve(problem, tol=1e-10).objective
    rough = Iterate.at(problem, solve(problem, tol=0.05))
    v = X.T @ rough.g
    plain, sharp = rough.certify(v).gap, rough.certify(v, sharp=True).gap
    assert rough.term.cost + rough.penalty() - best <= sharp < plain


def test_measuring_all_columns_after_every_step_changes_no_answer(monkeypatch):
    rng = np.random.default_rng(1)
    X = sparse.random(300, 200, density=0.05, format="csc", random_state=0)
    y = np.where(X @ rng.standard_normal(200) + 0.1 * rng.standard_normal(300) > 0, 1.0, -1.0)
    problem = Problem(losses.Logistic(), expand(X), y, np.full(300, 5.0), ElasticNet(1.0))
    found = []
    for most in (0, 10**6):
        monkeypatch.setattr("softmargin.solvers.elastic_net.quadratic_model._MOST", most)
        solution = solve(problem, tol=1e-9)
        assert solution.converged
        found.append(solution.objective)
    assert found[0] == pytest.approx(found[1], rel=1e-8)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("made", [sparse.csr_array, sparse.csc_array])
def test_full_columns_in_a_sparse_container_are_fitted_as_dense_ones(made, loss):
    """More entries than a small table has, dependent columns of very different sizes: residual sweeps would crawl."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(300, 5)) @ rng.normal(size=(5, 120)) + 0.1 * rng.normal(size=(300, 120))) * 30
    y = (X[:, 0] + 30 * rng.normal(size=300) > 0).astype(int)
    dense, thin = (MarginClassifier(loss=loss, l1_ratio=1.0).fit(rows, y) for rows in (X, made(X)))
    assert thin.solution_.converged
    assert thin.solution_.objective == pytest.approx(dense.solution_.objective, rel=1e-5)
