"""Costs that select features of several classes, against an interior point and by optimality."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning

from softmargin import CompositeLeastSquaresClassifier, TruncatedSoftmaxClassifier, TunedClassifier
from softmargin.penalties import MCP, SCAD
from softmargin.solvers.multiclass.selection import zero_sum_threshold

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "selection.json").read_text())
X, CODES = np.array(GOLDEN["X"]), np.array(GOLDEN["codes"])


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['mix']}-{case['l1_ratio']}-{case['group']}")
def test_sparse_composite_least_squares_is_the_minimiser_of_an_interior_point(case):
    settings = {name: case[name] for name in ("mix", "l1_ratio", "group", "C")}
    model = CompositeLeastSquaresClassifier(**settings).fit(X, CODES)
    assert model.solution_.objective == pytest.approx(case["objective"], rel=1e-6)
    np.testing.assert_allclose(model.coef_, case["coef"], atol=1e-4)
    np.testing.assert_allclose(model.intercept_, case["b"], atol=1e-4)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-10)


def test_the_proximal_map_of_zero_sum_rows_is_the_least_of_a_search():
    rng = np.random.default_rng(0)
    for k in (2, 3, 5):
        z, t = 2 * rng.standard_normal((1, k)), rng.random((1, k))
        found = zero_sum_threshold(z, t)[0]
        assert abs(found.sum()) < 1e-12

        def cost(x, z=z, t=t):
            x = np.append(x, -x.sum())
            return 0.5 * np.sum((x - z[0]) ** 2) + t[0] @ np.abs(x)

        best = min((minimize(cost, s, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
                    for s in (found[:-1], np.zeros(k - 1))), key=lambda r: r.fun)  # fmt: skip
        assert cost(found[:-1]) <= best.fun + 1e-9


def test_a_group_selects_features_for_all_classes_and_noise_goes_first():
    rng = np.random.default_rng(1)
    y = np.arange(150) % 3
    noisy = np.column_stack([np.eye(3)[y] * 2 + rng.standard_normal((150, 3)), rng.standard_normal((150, 30))])
    model = CompositeLeastSquaresClassifier(C=0.02, l1_ratio=1.0).fit(noisy, y)
    used = np.flatnonzero(np.any(model.coef_ != 0, axis=0))
    assert set(used) <= {0, 1, 2}
    assert len(used) == 3
    tuned = TunedClassifier(CompositeLeastSquaresClassifier(l1_ratio=1.0), grid={"C": [0.01, 0.1]}, criterion="cv")
    assert tuned.fit(noisy, y).score(noisy, y) > 0.8


@pytest.mark.parametrize("penalty", [SCAD(l1_ratio=0.8), MCP(l1_ratio=0.8)])
def test_truncated_softmax_with_a_concave_penalty_is_stationary(penalty):
    y = CODES.copy()
    y[:3] = 2 - y[:3]
    model = TruncatedSoftmaxClassifier(C=0.5, penalty=penalty, group=True).fit(X, y)
    history = np.array(model.solution_.history)
    assert np.all(np.diff(history) <= 1e-9 * np.abs(history[:-1]))
    theta, kept = model.coef_.T, model.sample_trust_ > 0
    curve = penalty
    F = X @ theta + model.intercept_
    P = np.exp(F - logsumexp(F, axis=1, keepdims=True))
    gradient = 0.5 * X[kept].T @ (P - np.eye(3)[y])[kept]
    size = np.linalg.norm(theta, axis=1)
    for j in range(len(theta)):
        if size[j] > 0:
            pulled = gradient[j] + 0.2 * theta[j] + 0.8 * curve.relative_slopes(size[j : j + 1]) * theta[j] / size[j]
            np.testing.assert_allclose(pulled, 0, atol=2e-4)
        else:
            assert np.linalg.norm(gradient[j]) <= 0.8 + 1e-4


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"l1_ratio": 0.5, "kernel": "rbf"}, "select features"),
        ({"l1_ratio": 0.5, "penalize_intercept": True}, "select features"),
        ({"l1_ratio": 0.5, "C": "auto"}, "no closed form"),
        ({"l1_ratio": 2.0}, "l1_ratio must be"),
        ({"group": "rows"}, "group must be"),
    ],
)
def test_what_does_not_go_with_selection_is_refused(parameters, said):
    with pytest.raises(ValueError, match=said):
        CompositeLeastSquaresClassifier(**parameters).fit(X, CODES)


def test_two_classes_and_sparse_rows_and_an_offset():
    from scipy import sparse

    y = np.where(CODES == 2, "b", "a")
    dense = CompositeLeastSquaresClassifier(C=0.1, l1_ratio=0.8).fit(X, y)
    thin = CompositeLeastSquaresClassifier(C=0.1, l1_ratio=0.8).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=1e-4)
    shifted = CompositeLeastSquaresClassifier(C=0.1, l1_ratio=0.8).fit(X + 100, y)
    np.testing.assert_allclose(shifted.decision_function(X + 100), dense.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize("penalty", [None, "scad", "mcp"])
def test_the_tolerance_asked_for_is_the_tolerance_reached(penalty, group):
    model = TruncatedSoftmaxClassifier(C=0.5, l1_ratio=0.8, penalty=penalty, group=group).fit(X, CODES)
    assert model.solution_.converged
    assert model.solution_.gap <= model.tol == 1e-10


def test_a_concave_cost_without_a_ridge_says_when_there_is_no_minimum():
    rng = np.random.default_rng(0)
    y = np.arange(30) % 3
    apart = np.eye(3)[y] + 0.05 * rng.standard_normal((30, 3))  # separated far out on the flat part
    model = TruncatedSoftmaxClassifier(level=np.inf, C=100.0, penalty=SCAD(l1_ratio=1.0), max_iter=100_000)
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        model.fit(apart, y)
    assert model.solution_.status == "unbounded"
    assert not model.solution_.converged
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("made", [CompositeLeastSquaresClassifier, TruncatedSoftmaxClassifier])
def test_nothing_is_selected_where_everything_costs_too_much(made, fit_intercept, group):
    penalty = {"penalty": "scad"} if made is TruncatedSoftmaxClassifier else {"l1_ratio": 1.0}
    model = made(C=1e-6, group=group, fit_intercept=fit_intercept, **penalty).fit(X, CODES)
    assert not np.any(model.coef_)
    assert model.solution_.converged


@pytest.mark.parametrize("penalty", [None, MCP(l1_ratio=1.0)])
@pytest.mark.parametrize("group", [True, False])
def test_a_gradient_that_is_rounding_selects_nothing_and_is_certified(penalty, group):
    y = np.arange(71) % 5 % 2
    settings = {"l1_ratio": 1.0, "penalty": penalty, "group": group, "class_weight": "balanced", "tol": 1e-9}
    model = TruncatedSoftmaxClassifier(level=np.inf, **settings).fit(np.zeros((71, 6)), y)
    assert model.solution_.converged
    assert not model.coef_.any()


@pytest.mark.parametrize("weight", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("group", [True, False])
def test_flat_losses_of_separable_rows_are_minimised_within_the_default_limits(weight, group):
    """Where losses bend far less than they could, steps are as long as the losses allow."""
    rng = np.random.default_rng(3)
    wide = rng.standard_t(2, size=(27, 39))
    model = TruncatedSoftmaxClassifier(level=np.inf, l1_ratio=1.0, group=group, C=weight)
    assert model.fit(wide, np.arange(27) % 2).solution_.gap <= model.tol


@pytest.mark.parametrize("penalty", [None, "scad", "adaptive_l1"])
@pytest.mark.parametrize("group", [True, False])
@pytest.mark.parametrize("units", [np.full(6, 1e8), np.logspace(-4, 8, 6)], ids=["large", "mixed"])
def test_columns_of_any_unit_are_minimised_and_every_one_is_looked_at(units, group, penalty):
    rng = np.random.default_rng(0)
    codes = np.arange(40) % 3
    rows = (rng.normal(size=(40, 6)) + np.outer(codes, np.eye(6)[0])) * units
    model = TruncatedSoftmaxClassifier(level=np.inf, l1_ratio=1.0, penalty=penalty, group=group).fit(rows, codes)
    assert model.solution_.converged
    # intercepts cost nothing: their slopes must vanish however large the slopes of the columns are
    share = np.exp(model.decision_function(rows) - logsumexp(model.decision_function(rows), axis=1, keepdims=True))
    np.testing.assert_allclose((share - np.eye(3)[codes]).sum(axis=0), 0, atol=1e-6)


@pytest.mark.parametrize("group", [True, False])
def test_a_concave_cost_says_when_one_class_alone_is_separated(group):
    """The others overlap: no ray of the present coefficients lowers every loss, but some direction does."""
    rng = np.random.default_rng(1)
    codes = np.arange(60) % 3
    rows = 0.02 * rng.standard_normal((60, 2))
    rows[codes == 0, 0] -= 0.4
    model = TruncatedSoftmaxClassifier(level=np.inf, C=100.0, penalty=MCP(l1_ratio=1.0), group=group)
    with pytest.warns(ConvergenceWarning, match="no minimum"):
        model.fit(rows, codes)
    assert model.solution_.status == "unbounded"
    rows[codes == 0, 0] += 0.4
    overlapping = TruncatedSoftmaxClassifier(level=np.inf, C=100.0, penalty=MCP(l1_ratio=1.0), group=group)
    assert overlapping.fit(rows, codes).solution_.converged


@pytest.mark.parametrize("penalty", ["adaptive_l1", "scad"])
@pytest.mark.parametrize("seed", [0, 7, 15, 21, 22])
def test_capped_losses_with_concave_costs_come_to_an_end(penalty, seed):
    """A fit to other rows sets out from another pilot, and must not end above the one before it."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(53, 5)), np.arange(53) % 2
    X[:, 0] += 0.8 * y
    model = TruncatedSoftmaxClassifier(class_weight="balanced", penalty=penalty).fit(X, y)
    assert model.solution_.converged
    assert np.all(np.diff(model.solution_.history) <= 1e-9)
