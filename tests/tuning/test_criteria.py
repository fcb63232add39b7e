"""Criteria from one fit: golden values, exact leave-one-out for squared losses, and the influence matrix itself."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from softmargin import losses
from softmargin.expansions import DenseFeatures, Kernel, KernelColumns, SparseFeatures
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve
from softmargin.tuning import FORMULAS, Fitted, alo, alo_scores, influence
from softmargin.tuning._influence import KernelInfluence

CASES = json.loads((Path(__file__).parents[1] / "golden" / "truncated_logistic.json").read_text())["cases"]
CRITERIA = [case for case in CASES if case["kind"].endswith("_criteria")]


def _golden_fit(case):
    given_, expected = case["input"], case["expected"]
    X, y, C = np.array(given_["X"]), np.array(given_["y"]), 1 / given_["lam"]
    weight = np.array(given_.get("sample_weight") or np.ones(len(y)))
    if "theta" in expected:
        expansion, scores = DenseFeatures(X), expected["theta"][0] + X @ np.array(expected["theta"][1:])
    else:
        kernel = Kernel("rbf", gamma=1 / (2 * given_["sigma"] ** 2))
        expansion, scores = KernelColumns.from_rows(X, kernel), np.array(expected["f_train"])
    loss = losses.TruncatedLogistic(level=given_["t"])
    H = influence(expansion, C * weight * loss.curvature(y * scores))
    return Fitted(loss, y, scores, weight, C, H, np.ones(len(y)))


@pytest.mark.parametrize("case", CRITERIA, ids=lambda case: case["name"])
def test_golden_criteria(case):
    fit, expected = _golden_fit(case), case["expected"]
    np.testing.assert_allclose(fit.cost * fit.influence, expected["h_ii"], rtol=1e-6)
    assert fit.df == pytest.approx(expected["df"], rel=1e-6)
    for name, criterion in FORMULAS.items():
        assert criterion(fit) == pytest.approx(expected[name.upper()], rel=1e-6), name


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), p=st.integers(1, 12), intercept=st.booleans())
def test_leave_one_out_scores_are_exact_for_the_squared_loss(seed, p, intercept):
    rng = np.random.default_rng(seed)
    n = 9
    X, y = rng.normal(size=(n, p)), np.where(rng.random(n) < 0.5, 1.0, -1.0)
    C, weight, loss = 0.7, rng.uniform(0.5, 2, size=n), losses.LeastSquares()

    def fit(rows):
        problem = Problem(
            loss, DenseFeatures(X[rows]), y[rows], C * weight[rows], ElasticNet(), fit_intercept=intercept
        )
        return solve(problem, tol=1e-14)

    whole = fit(np.arange(n))
    scores = X @ whole.coef + whole.intercept
    H = influence(DenseFeatures(X), C * weight * loss.curvature(y * scores), fit_intercept=intercept)
    got = alo_scores(Fitted(loss, y, scores, weight, C, H, np.ones(n)))
    for i in range(n):
        without = fit(np.delete(np.arange(n), i))
        assert got[i] == pytest.approx(X[i] @ without.coef + without.intercept, rel=1e-5, abs=1e-5)


def test_alo_is_close_to_refitting_for_the_logistic_loss():
    rng = np.random.default_rng(0)
    n, C, loss = 80, 1.0, losses.Logistic()
    X = rng.normal(size=(n, 3))
    y = np.where(X[:, 0] + rng.logistic(size=n) > 0, 1.0, -1.0)

    def fit(rows):
        return solve(Problem(loss, DenseFeatures(X[rows]), y[rows], np.full(len(rows), C), ElasticNet()), tol=1e-12)

    whole = fit(np.arange(n))
    scores = X @ whole.coef + whole.intercept
    H = influence(DenseFeatures(X), C * loss.curvature(y * scores))
    left_out = [fit(np.delete(np.arange(n), i)) for i in range(n)]
    truth = np.mean([loss.value(y[i] * (X[i] @ s.coef + s.intercept)) for i, s in enumerate(left_out)])
    fitted = Fitted(loss, y, scores, np.ones(n), C, H, np.ones(n))
    assert alo(fitted) - fitted.base == pytest.approx(truth - fitted.base, rel=0.1)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_influence_agrees_across_expansions(fit_intercept):
    rng = np.random.default_rng(0)
    X, curvature = rng.normal(size=(30, 4)), rng.uniform(size=30)
    curvature[:5] = 0
    dense = influence(DenseFeatures(X), curvature, 0.5, fit_intercept=fit_intercept)
    B = np.column_stack([np.ones(30), X]) if fit_intercept else X
    ridge = np.r_[[0.0] * fit_intercept, np.full(4, 0.5)]
    np.testing.assert_allclose(
        dense, np.diag(B @ np.linalg.solve(B.T @ (B * curvature[:, None]) + np.diag(ridge), B.T))
    )
    others = [SparseFeatures(sparse.csr_matrix(X)), KernelColumns.from_rows(X, Kernel("linear"))]
    for expansion in others:
        np.testing.assert_allclose(influence(expansion, curvature, 0.5, fit_intercept=fit_intercept), dense, rtol=1e-9)
    some = np.array([0, 2])
    np.testing.assert_allclose(
        influence(DenseFeatures(X), curvature, 0.5, fit_intercept=fit_intercept, active=some),
        influence(DenseFeatures(X[:, some]), curvature, 0.5, fit_intercept=fit_intercept),
    )


def test_losses_without_a_likelihood_are_judged_in_their_own_unit():
    """Robust losses: every formula lies above the loss of the fit itself, and near leave-one-out."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    y = np.where(X[:, 0] + rng.normal(size=150) > 0, 1.0, -1.0)
    for loss in (losses.Welsch(1.0), losses.Cauchy(0.8), losses.TanhHinge(1.0)):
        problem = Problem(loss, DenseFeatures(X), y, np.ones(150), ElasticNet())
        solution = solve(problem, tol=1e-8)
        scores = X @ solution.coef + solution.intercept
        H = influence(problem.expansion, loss.curvature(y * scores))
        fit = Fitted(loss, y, scores, np.ones(150), 1.0, H, np.ones(150))
        left_out = FORMULAS["alo"](fit)
        assert fit.base < FORMULAS["egacv"](fit) < FORMULAS["gacv"](fit)
        assert FORMULAS["gacv"](fit) == pytest.approx(left_out, rel=0.08)
        assert FORMULAS["aic"](fit) / 300 == pytest.approx(left_out, rel=0.04)
        assert FORMULAS["bic"](fit) > FORMULAS["aic"](fit)


def test_a_row_counted_twice_is_two_rows():
    rng = np.random.default_rng(0)
    X, y, count = rng.normal(size=(30, 2)), np.where(rng.random(30) < 0.5, 1.0, -1.0), rng.integers(1, 4, size=30)
    scores, weight, loss, rows = (
        X @ [1.0, -0.5],
        rng.uniform(0.5, 2, size=30),
        losses.Logistic(),
        np.repeat(np.arange(30), count),
    )
    H = influence(DenseFeatures(X), 0.7 * count * weight * loss.curvature(y * scores))
    folded = Fitted(loss, y, scores, weight, 0.7, H, count.astype(float))
    spread = Fitted(loss, y[rows], scores[rows], weight[rows], 0.7, H[rows], np.ones(len(rows)))
    for criterion in FORMULAS.values():
        assert criterion(folded) == pytest.approx(criterion(spread), rel=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_single_precision_influences_agree_with_double_where_they_are_allowed(monkeypatch, C):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    K = np.exp(-0.2 * np.square(X[:, None] - X).sum(axis=2))
    curvature = C * rng.uniform(0.5, 2, size=300)
    double = KernelInfluence(K, curvature, 1.0, True).diagonal()
    monkeypatch.setattr("softmargin.tuning._influence._LARGE", 0)
    single = KernelInfluence(K, curvature, 1.0, True).diagonal()
    assert np.any(single != double)
    np.testing.assert_allclose(1 - curvature * single, 1 - curvature * double, rtol=2e-6)
    exact = KernelInfluence(1e4 * K, curvature, 1.0, True).diagonal()  # too ill-conditioned: double again
    monkeypatch.undo()
    np.testing.assert_array_equal(KernelInfluence(1e4 * K, curvature, 1.0, True).diagonal(), exact)


def test_influences_of_a_matrix_that_rounding_makes_indefinite_are_finite():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    K = 1e9 * (x @ x.T + 1e-18 * rng.normal(size=(40, 40)))
    diagonal = KernelInfluence((K + K.T) / 2, np.ones(40), 1e-9, True).diagonal()
    assert np.all(np.isfinite(diagonal))
