"""The box QP: golden optima, random problems against a slow reference, degenerate matrices, warm starts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from reference import box_qp as reference
from softmargin.expansions import DenseFeatures, SparseFeatures
from softmargin.solvers import BoxQP, GramRows
from softmargin.solvers import solve_box_qp as solve_rows
from softmargin.solvers.svm.dual_descent import descend
from softmargin.solvers.svm.interior_point import interior_point

GOLDEN = Path(__file__).parents[1] / "golden"
BRACKETING = json.loads((GOLDEN / "bracketing.json").read_text())
BALANCING = json.loads((GOLDEN / "balancing_svm.json").read_text())
WEIGHTED = [*BRACKETING["weighted_svm"], BRACKETING["beta0_interval"]]


def array(x):
    return np.asarray(x, dtype=float)


def solve_box_qp(K, q, lo, hi, *, intercept=True, **options):
    return solve_rows(K, BoxQP(q, lo, hi, intercept), **options)


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(-1))


def kernel_of(case):
    if case["kernel"] == "linear":
        return lambda A, B: A @ B.T
    gamma = case["gamma"] if "gamma" in case else 1 / case["sigma"] ** 2
    return lambda A, B: gaussian(A, B, gamma)


@pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case["name"])
def test_weighted_svm_scores_intercepts_and_objectives_equal_golden(case):
    X, y, X_test, k = array(case["X"]), array(case["y"]), array(case["X_test"]), kernel_of(case)
    n, K = len(y), k(X, X)
    start = None
    for golden in case["solutions"]:
        bound = np.where(y > 0, 1 - golden["pi"], golden["pi"]) / (n * case["lam"])
        lo, hi = np.where(y > 0, 0, -bound), np.where(y > 0, bound, 0)
        cold = solve_box_qp(K, y, lo, hi)
        warm = solve_box_qp(K, y, lo, hi, start=start)
        start = warm.u
        for found in (cold, warm):
            assert found.violation < 1e-9
            assert found.gap < 1e-8
            np.testing.assert_allclose(k(X_test, X) @ found.u + found.intercept, golden["f_test"], rtol=0, atol=1e-8)
            np.testing.assert_allclose(-found.value * case["lam"], golden["objective"], rtol=1e-8)


@pytest.mark.parametrize("name", ["bsvm_linear", "bsvm_rbf", "b_jump", "collapse", "empty_elbow"])
def test_balancing_svm_equals_golden_for_every_balance(name):
    case = BALANCING[name]
    X, y, X_test, k = array(case["X"]), array(case["y"]), array(case["X_test"]), kernel_of(case)
    for golden in case["solutions"]:
        C, v = golden["C"], float(golden["v"])
        found = solve_box_qp(k(X, X), y, np.where(y > 0, -C * v, -C), np.where(y > 0, C, C * v))
        h = k(X_test, X) @ found.u
        np.testing.assert_allclose(h, array(golden["f_test"]) - golden["b"], rtol=0, atol=case.get("tol_f", 1e-7))
        np.testing.assert_allclose(found.interval, (golden["b_lo"], golden["b_hi"]), rtol=0, atol=1e-6)
        np.testing.assert_allclose(-found.value, golden["objective"], rtol=1e-8)


@st.composite
def problems(draw):
    """Small problems full of trouble: lattice points, duplicates, zero-width and shifted boxes, flat matrices."""
    n = draw(st.integers(2, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(-2, 3, size=(n, 2)) if draw(st.booleans()) else rng.normal(size=(n, 2))
    K = X @ X.T if draw(st.booleans()) else gaussian(X, X, 0.5)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    weight = rng.choice([0.5, 1.0, 3.0], size=n)
    tilt = rng.choice([0.0, 0.0, 0.5], size=n) * weight
    balance = draw(st.sampled_from([0.0, 0.0, 0.3, 1.0, 4.0]))
    low, high = -balance * weight - tilt, weight - tilt
    lo, hi = np.where(y > 0, low, -high), np.where(y > 0, high, -low)
    return K.astype(float), y + rng.choice([0.0, 0.25], size=n), lo, hi


@settings(max_examples=60, deadline=None)
@given(problems(), st.booleans())
def test_random_problems_reach_the_reference_objective_and_satisfy_kkt(problem, intercept):
    K, q, lo, hi = problem
    if intercept and (lo.sum() > 0 or hi.sum() < 0):
        with pytest.raises(ValueError, match="no feasible point"):
            solve_box_qp(K, q, lo, hi)
        return
    found = solve_box_qp(K, q, lo, hi, intercept=intercept)
    slow = reference.solve(K, q, lo, hi, intercept, steps=3000)
    slow_value = 0.5 * slow @ K @ slow - q @ slow
    assert found.value <= slow_value + 1e-9 * (1 + abs(slow_value))
    assert reference.kkt_violation(K, q, lo, hi, found.u, found.intercept) < 1e-7
    assert found.gap < 1e-7
    if intercept:
        assert abs(found.u.sum()) < 1e-9 * (1 + np.abs(found.u).sum())


@settings(max_examples=30, deadline=None)
@given(problems(), st.integers(0, 1000))
def test_any_warm_start_gives_the_same_score(problem, seed):
    K, q, lo, hi = problem
    assume(lo.sum() <= 0 <= hi.sum())
    start = np.random.default_rng(seed).normal(size=len(q)) * 3
    cold, warm = solve_box_qp(K, q, lo, hi), solve_box_qp(K, q, lo, hi, start=start)
    np.testing.assert_allclose(K @ warm.u + warm.intercept, K @ cold.u + cold.intercept, rtol=0, atol=1e-6)


def test_label_swap_negates_multipliers_and_intercept():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 3)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    K, bound = gaussian(X, X, 0.5), 0.01
    one = solve_box_qp(K, y, np.where(y > 0, 0, -bound), np.where(y > 0, bound, 0))
    two = solve_box_qp(K, -y, np.where(y < 0, 0, -bound), np.where(y < 0, bound, 0))
    np.testing.assert_allclose(one.intercept, -two.intercept, atol=1e-10)
    np.testing.assert_allclose(K @ one.u, -K @ two.u, atol=1e-10)


def test_rows_on_demand_in_a_store_too_small_give_the_same_optimum():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 4))
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, 1.0, -1.0)
    K = gaussian(X, X, 0.3)
    lo, hi = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
    asked = []
    rows = GramRows(1500, lambda at: (asked.extend(at), K[at])[1], budget=1)
    full, cached = solve_box_qp(K, y, lo, hi, tol=1e-6), solve_box_qp(rows, y, lo, hi, tol=1e-6)
    assert len(rows._store) == 1024 < 1500
    assert len(asked) >= len(set(asked)) > 0
    np.testing.assert_allclose(cached.value, full.value, rtol=1e-9)
    assert cached.violation <= 1e-6
    single = solve_box_qp(K.astype(np.float32), y, lo, hi)
    np.testing.assert_allclose(single.value, full.value, rtol=1e-5)


def test_large_problem_stops_at_the_tolerance_with_a_small_gap():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1400, 5))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=1400) > 0, 1.0, -1.0)
    found = solve_box_qp(gaussian(X, X, 0.2), y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    assert found.converged
    assert 0 <= found.violation <= 1e-3
    assert found.gap < 1e-3


def test_impossible_boxes_are_named():
    with pytest.raises(ValueError, match="no feasible point"):
        solve_box_qp(np.eye(2), np.ones(2), np.ones(2), 2 * np.ones(2))
    with pytest.raises(ValueError, match="square"):
        solve_box_qp(np.ones((2, 3)), np.ones(2), np.zeros(2), np.ones(2))


@pytest.mark.parametrize("seed", [0, 4])
def test_a_row_of_huge_norm_keeps_the_small_multiplier_it_needs(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(2, size=(25, 257))
    X[3] *= 1e8
    X[[7, 11]] = X[3]
    y = np.where(rng.random(25) < 0.5, 1.0, -1.0)
    found = solve_box_qp(X @ X.T, y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0), tol=1e-3)
    assert found.violation <= 1e-2


@pytest.mark.parametrize("seed", range(3))
def test_small_multipliers_of_large_diagonals_do_not_undo_what_pair_steps_reached(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    K = np.exp(-np.abs(X[:, None] - X[None]).sum(-1)) + np.diag(10 ** rng.uniform(-2, 8, size=600))
    lo, hi = np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)
    assert solve_box_qp(K, y, lo, hi, tol=0.1, max_iter=100, polish=False).converged


def test_an_interior_point_of_features_that_are_all_zero_ends():
    y = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    box = BoxQP(y, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0))
    found = interior_point(DenseFeatures(np.zeros((12, 2))), box, w0=np.zeros(2), tol=1e-8)
    np.testing.assert_array_equal(found.w, 0.0)
    assert abs(found.intercept + 1) < 1e-6


@pytest.mark.parametrize("seed", range(30))
def test_passes_over_sparse_rows_end_from_any_start(seed):
    """Even where every row is settled at a bound while the intercept still drifts."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.normal(size=(5, 1)) * 10 ** rng.uniform(-2, 3), 2, axis=0)
    y = np.r_[1.0, -1.0, np.where(rng.random(8) < 0.5, 1.0, -1.0)]
    cost = 10 ** rng.uniform(-2, 2, size=10)
    box = BoxQP(y, np.where(y > 0, 0.0, -cost), np.where(y > 0, cost, 0.0))
    start = np.where(rng.random(10) < 0.5, box.lo, box.hi)
    u, _, passes = descend(SparseFeatures(sparse.csr_array(rows)), box, np.zeros(10), start, 1e-3, 100)
    assert passes <= 101
    assert np.all((box.lo <= u) & (u <= box.hi))
