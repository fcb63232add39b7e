"""Every point of a path is the solution of its own problem, and the path starts exactly where coefficients move."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from softmargin import losses
from softmargin.expansions import Kernel, expand
from softmargin.paths import margin_path
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "coherence.json").read_text())


def draw(n, p, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(X[:, :4].sum(axis=1) + rng.logistic(size=n) > 0.3, "yes", "no")
    return X, y, rng.uniform(0.5, 2.0, n)


@pytest.mark.parametrize("loss", ["logistic", "huberized_hinge", "squared_hinge", losses.Coherence(temperature=0.05)])
@pytest.mark.parametrize(("n", "p"), [(50, 160), (300, 20)])
@pytest.mark.parametrize("l1_ratio", [0.1, 0.5, 1.0])
def test_path_equals_single_fits(loss, n, p, l1_ratio):
    X, y, weight = draw(n, p)
    path = margin_path(X, y, loss=loss, l1_ratio=l1_ratio, Cs=25, sample_weight=weight)
    assert path.gaps.max() <= 1e-6
    loss = losses.get(loss) if isinstance(loss, str) else loss
    problem = Problem(loss, expand(X), np.where(y == "yes", 1.0, -1.0), weight, ElasticNet(l1_ratio))
    for k in (1, 8, 16, 24):
        one = replace(problem, weights=path.Cs[k] * weight)
        exact = solve(one, tol=1e-10)
        assert one.objective(path.coefs[k], path.intercepts[k]) == pytest.approx(path.objectives[k], rel=1e-12)
        assert path.objectives[k] <= exact.objective * (1 + 1e-6)
        assert path.objectives[k] >= exact.objective * (1 - 1e-10)


def test_sparse_dense_and_column_order_agree():
    X, y, _ = draw(80, 60)
    X[np.abs(X) < 1] = 0
    dense = margin_path(X, y, l1_ratio=0.7, Cs=15, tol=1e-9)
    columns = margin_path(np.asfortranarray(X), y, l1_ratio=0.7, Cs=15, tol=1e-9)
    thin = margin_path(sparse.csc_matrix(X), y, l1_ratio=0.7, Cs=15, tol=1e-9)
    np.testing.assert_allclose(dense.coefs, columns.coefs, atol=1e-7)
    np.testing.assert_allclose(dense.coefs, thin.coefs, atol=1e-4)
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(sparse.csr_matrix(X)), atol=1e-3)


def test_nothing_moves_up_to_the_first_C_and_something_right_after():
    X, y, _ = draw(60, 40, seed=3)
    for loss in ("logistic", "huberized_hinge", "least_squares"):
        first = margin_path(X, y, loss=loss, Cs=2, l1_ratio=0.8).Cs[0]
        path = margin_path(X, y, loss=loss, Cs=[0.5 * first, first, 1.001 * first], l1_ratio=0.8, tol=1e-10)
        assert not path.coefs[:2].any()
        assert path.coefs[2].any()


@pytest.mark.parametrize("part", ["feature", "kernel"])
def test_first_C_is_the_golden_gamma_max(part):
    data = GOLDEN[part]["data"]
    X, y = np.array(data["X"], float), np.array(data["y"], float)
    kernel = {"kernel": "rbf", "gamma": 1 / GOLDEN["kernel"]["sigma2"]} if part == "kernel" else {}
    for case in GOLDEN[part]["gamma_max"]:
        for scale in ("V", "C") if case["u"] > 0 else ("V",):
            loss = losses.Coherence(temperature=case["rho"], cost=case["u"], scale=scale)
            path = margin_path(X, y, loss=loss, l1_ratio=0.4, Cs=2, **kernel)
            gamma_max = case[f"gamma_max_times_omega_{scale}"] / 0.4
            assert path.Cs[0] == pytest.approx(1 / (len(y) * gamma_max), rel=1e-8)
            assert path.intercepts[0] == pytest.approx(case["intercept"], rel=1e-7, abs=1e-9)


def test_kernel_columns_path_equals_single_fits():
    X, y, _ = draw(60, 3, seed=5)
    path = margin_path(X, y, kernel="rbf", gamma=0.5, l1_ratio=0.5, Cs=12)
    expansion = expand(X, Kernel("rbf", 0.5))
    problem = Problem(losses.Logistic(), expansion, np.where(y == "yes", 1.0, -1.0), np.ones(60), ElasticNet(0.5))
    exact = solve(replace(problem, weights=path.Cs[-1] * problem.weights), tol=1e-10)
    assert path.gaps.max() <= 1e-6
    assert path.objectives[-1] == pytest.approx(exact.objective, rel=2e-6)


def test_ridge_path_is_dense_and_certified():
    X, y, _ = draw(60, 5)
    path = margin_path(X, y, l1_ratio=0.0, Cs=5)
    assert path.gaps.max() <= 1e-6
    assert np.all(path.coefs[-1] != 0)


def test_free_coefficients_and_signs_along_the_path():
    X, y, _ = draw(80, 12)
    factors = np.ones(12)
    factors[5] = 0.0
    path = margin_path(X, y, l1_ratio=1.0, factors=factors, Cs=10)
    assert np.all(path.coefs[1:, 5] != 0)
    signed = margin_path(-X, y, l1_ratio=0.9, positive=True, Cs=10)
    assert signed.coefs.min() >= 0
    assert signed.gaps.max() <= 1e-6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Cs": 0}, "Cs must be"),
        ({"Cs": [1.0, -1.0]}, "Cs must be"),
        ({"eps": 2.0}, "eps must"),
        ({"loss": "hinge"}, "smooth convex loss"),
        ({"l1_ratio": 1.5}, "l1_ratio must be"),
        ({"factors": [1.0]}, "factors must be"),
    ],
)
def test_bad_input_is_named(changes, message):
    X, y, _ = draw(20, 4)
    with pytest.raises(ValueError, match=message):
        margin_path(X, y, **changes)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="exactly two classes"):
        margin_path(np.ones((4, 2)), np.ones(4))


@pytest.mark.parametrize("seed", range(4))
def test_columns_named_in_turn_do_not_keep_a_path_from_its_end(seed):
    rng = np.random.default_rng(seed)
    X = (rng.random((22, 19)) < 0.3).astype(float)
    y = np.arange(22) % 2
    path = margin_path(X, y, loss="exponential", l1_ratio=1.0, Cs=8, kernel="poly", gamma=1.0, degree=3, coef0=1.0)
    assert len(path.Cs) == 8
    assert np.isfinite(path.gaps).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-8, 1e8])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
def test_paths_of_tiny_and_huge_similarities_are_certified(l1_ratio, scale):
    X = np.random.default_rng(0).normal(size=(64, 2))
    path = margin_path(scale * X, X[:, 0] > 0, l1_ratio=l1_ratio, Cs=8, kernel="poly", gamma=1.0, degree=3)
    assert np.all(path.gaps <= 1e-6)
    assert np.isfinite(path.coefs).all()


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("loss", ["least_squares", "logistic"])
@pytest.mark.parametrize("column", [0, 9, 18])
def test_constant_columns_alone_leave_the_path_of_the_intercept(column, loss, l1_ratio):
    X, y = np.zeros((11, 19)), np.arange(11) % 3 == 0
    X[:, column] = 1.0
    alone = margin_path(np.zeros((11, 1)), y, loss=loss, l1_ratio=l1_ratio, Cs=8)
    path = margin_path(X, y, loss=loss, l1_ratio=l1_ratio, Cs=8)
    np.testing.assert_array_equal(path.Cs, alone.Cs)
    assert np.all(path.gaps <= 1e-6)
    np.testing.assert_allclose(path.decision_function(X)[0], alone.intercepts, rtol=1e-6)


@pytest.mark.parametrize("gamma", ["scale", "median", "mean"])
def test_weights_are_repeats_in_the_width_of_a_kernel_too(gamma):
    X, y, _ = draw(60, 3)
    times = np.random.default_rng(0).integers(0, 4, size=60)
    weighted = margin_path(X, y, kernel="rbf", gamma=gamma, Cs=[0.1, 1.0], sample_weight=times)
    repeated = margin_path(np.repeat(X, times, axis=0), np.repeat(y, times), kernel="rbf", gamma=gamma, Cs=[0.1, 1.0])
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)
