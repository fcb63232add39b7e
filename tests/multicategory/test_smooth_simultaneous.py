"""Composite margin losses and the truncated softmax: calculus, optima, probabilities, trust, conventions."""

import json
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import check_grad, minimize
from scipy.special import logsumexp, xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import check_estimator

from softmargin import CompositeMarginClassifier, TruncatedSoftmaxClassifier, losses
from softmargin.expansions import Kernel, expand
from softmargin.losses.multiclass import Capped, Composite, Softmax
from softmargin.probability._composite import margin_probability
from softmargin.problem import MulticlassProblem
from softmargin.solvers import solve

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "multicategory.json").read_text())
LOSSES = [Softmax(), *(Composite(losses.get(g), mix) for g in ("logistic", "exponential") for mix in (0.0, 0.3, 1.0))]


def problem(seed, n=60, p=3, k=4):
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return rng.normal(size=(n, p)) + 1.5 * rng.normal(size=(k, p))[y], y, rng.uniform(0.2, 3, n)


@pytest.mark.parametrize("case", GOLDEN["losses"]["cases"])
@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_composite_values_equal_golden(case, name):
    value = Composite(losses.get(name), case["gamma"]).value(np.array([case["f"]]), np.array([case["y"]]))
    assert value[0] == pytest.approx(case[f"composite_{name}"], abs=1e-12)


@pytest.mark.parametrize("case", GOLDEN["composite_general_g"]["cases"])
def test_probability_inverts_the_population_minimiser(case):
    P = margin_probability(np.array([case["f"]]), losses.get(case["g"]), case["gamma"])
    np.testing.assert_allclose(P[0], case["P"], atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_slope_and_curvature_are_derivatives(loss):
    rng = np.random.default_rng(0)
    codes = np.array([1])

    def value(f):
        return float(loss.value(f[None], codes)[0])

    def slope(f):
        return loss.slope(f[None], codes)[0]

    for _ in range(5):
        f = rng.normal(size=4)
        assert check_grad(value, slope, f) < 1e-5
        v, step = rng.normal(size=4), 1e-5
        expected = (slope(f + step * v) - slope(f - step * v)) / (2 * step)
        np.testing.assert_allclose(loss.curve(f[None], codes)(v[None])[0], expected, atol=1e-6)


@pytest.mark.parametrize(
    "loss", [Softmax(), Composite(losses.get("logistic"), 0.3), Composite(losses.get("exponential"))]
)
def test_evaluating_all_at_once_equals_one_by_one(loss):
    rng = np.random.default_rng(0)
    F, codes, weights = rng.normal(size=(7, 3)), rng.integers(0, 3, 7), rng.uniform(0.1, 2, 7)
    kept, V = F.copy(), rng.normal(size=(7, 3))
    parts = loss.evaluate(F, codes, weights)
    np.testing.assert_array_equal(F, kept)
    assert parts.value == pytest.approx(weights @ loss.value(F, codes))
    np.testing.assert_allclose(parts.slope, weights[:, None] * loss.slope(F, codes), rtol=1e-12)
    np.testing.assert_allclose(parts.curvature, weights[:, None] * loss.curvature(F, codes), rtol=1e-12)
    np.testing.assert_allclose(parts.curve(V), weights[:, None] * loss.curve(F, codes)(V), rtol=1e-10, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 7),
    st.floats(0, 1),
    st.sampled_from(["logistic", "exponential", "coherence"]),
    st.floats(0.1, 30),
)
def test_composite_probabilities_are_proper_and_keep_the_order_of_scores(seed, k, mix, name, size):
    f = np.random.default_rng(seed).normal(scale=size, size=(5, k))
    f -= f.mean(axis=1, keepdims=True)
    P = margin_probability(f, losses.get(name), mix)
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    assert np.diff(np.take_along_axis(P, np.argsort(f, axis=1), axis=1), axis=1).min() >= -1e-9


@pytest.mark.parametrize("penalize", [True, False])
@pytest.mark.parametrize("mix", [0.0, 0.4, 1.0])
def test_newton_reaches_the_minimum_of_a_generic_solver(mix, penalize):
    X, y, weight = problem(1, k=3)
    loss = losses.get("logistic")
    model = CompositeMarginClassifier(loss, mix=mix, C=0.7, penalize_intercept=penalize, tol=1e-10).fit(X, y, weight)
    composite = Composite(loss, mix)

    def objective(v):
        theta, b = v[:9].reshape(3, 3), v[9:]
        F = X @ theta + b
        F = F - F.mean(axis=1, keepdims=True)
        return 0.7 * weight @ composite.value(F, y) + 0.5 * np.sum(theta**2) + (0.5 * np.sum(b**2) if penalize else 0)

    best = minimize(objective, np.zeros(12), method="BFGS", options={"gtol": 1e-9})
    assert model.solution_.objective == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(model.intercept_.sum(), 0, atol=1e-9)
    assert model.solution_.gap <= 1e-9


@pytest.mark.parametrize("make", [CompositeMarginClassifier, TruncatedSoftmaxClassifier])
def test_sparse_kernel_and_wide_routes_agree(make):
    X, y, weight = problem(2)
    X[np.abs(X) < 0.5] = 0
    base = make(C=0.5, tol=1e-10).fit(X, y, weight).decision_function(X)
    sparse_X = sparse.csr_array(X)
    np.testing.assert_allclose(
        make(C=0.5, tol=1e-10).fit(sparse_X, y, weight).decision_function(sparse_X), base, atol=1e-7
    )
    kernel = make(C=0.5, kernel="linear", tol=1e-10).fit(X, y, weight)
    np.testing.assert_allclose(kernel.decision_function(X), base, atol=1e-6)
    wide, labels, _ = problem(3, n=20, p=50, k=3)
    features = make(C=0.5, tol=1e-10).fit(wide, labels)
    kernel = make(C=0.5, kernel="linear", tol=1e-10).fit(wide, labels)
    np.testing.assert_allclose(
        features.coef_ @ wide.T, (kernel.decision_function(wide) - kernel.intercept_).T, atol=1e-7
    )


def test_logistic_composite_of_two_classes_is_logistic_regression():
    X, y, _ = problem(4, k=2)
    ours = CompositeMarginClassifier("logistic", mix=0.3, C=1.4, tol=1e-10).fit(X, y)
    peer = LogisticRegression(C=0.7, tol=1e-12, max_iter=10**4).fit(X, y)  # |f_1|^2 + |f_2|^2 = 2 |f_2|^2
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)


def test_infinite_level_is_multinomial_logistic_regression():
    X, y, weight = problem(5)
    ours = TruncatedSoftmaxClassifier(np.inf, C=0.7, tol=1e-10).fit(X, y, weight)
    peer = LogisticRegression(C=0.7, tol=1e-12, max_iter=10**5).fit(X, y, weight)
    np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-5)
    assert ours.sample_trust_.min() == 1


def test_wrong_labels_lose_trust_and_influence():
    X, y, _ = problem(6, n=300)
    rng = np.random.default_rng(0)
    wrong = rng.choice(300, 30, replace=False)
    noisy = y.copy()
    noisy[wrong] = (noisy[wrong] + rng.integers(1, 4, 30)) % 4
    model = TruncatedSoftmaxClassifier(C=10, tol=1e-10).fit(X, noisy)
    plain = TruncatedSoftmaxClassifier(np.inf, C=10, tol=1e-10).fit(X, noisy)
    assert model.sample_trust_[wrong].mean() <= 0.4
    assert np.delete(model.sample_trust_, wrong).mean() > 0.85
    assert model.score(X, y) >= plain.score(X, y)
    history = model.solution_.history
    assert len(history) > 1
    assert np.all(np.diff(history) <= 1e-9 * history[0])
    # dropped rows have no influence: the fit to the others alone is the same
    kept = model.sample_trust_ > 0
    again = TruncatedSoftmaxClassifier(np.inf, C=10, tol=1e-10).fit(X[kept], noisy[kept])
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)


def test_a_class_that_would_lose_every_row_keeps_them():
    X, y, _ = problem(7, n=80, k=3)
    loss = Capped(Softmax(), 0.5)
    problem_ = MulticlassProblem(loss, expand(X), y, np.where(y == 2, 1e-3, 1.0), 3)
    solution = solve(problem_, tol=1e-9, max_iter=100)
    values = Softmax().value(X @ solution.coef + solution.intercept, y)
    assert loss.kept(values, y)[y == 2].any()
    assert np.isfinite(solution.coef).all()


@pytest.mark.parametrize("l1_ratio", [0.0, 0.5])
def test_what_is_reported_of_a_class_about_to_vanish_is_what_was_fitted(l1_ratio):
    """Its rows are fitted uncapped to the end, also where some come to lie below the cap again."""
    vanishing = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), (rng.random(60) < 0.15).astype(int)
        X[:, 0] += 0.8 * y
        model = TruncatedSoftmaxClassifier(0.8, C=0.1, l1_ratio=l1_ratio, tol=1e-9).fit(X, y)
        kept = model.sample_trust_ > 0
        again = TruncatedSoftmaxClassifier(np.inf, C=0.1, l1_ratio=l1_ratio, tol=1e-9).fit(X[kept], y[kept])
        np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)
        dropped = 0.1 * 0.8 * np.count_nonzero(~kept)
        assert model.solution_.objective == pytest.approx(again.solution_.objective + dropped, rel=1e-7)
        losses = -np.log(model.predict_proba(X)[np.arange(len(y)), y])
        vanishing += bool(np.any(kept & (losses > 0.8 + 1e-6)) and np.any(losses[y == 1] < 0.8))
    assert vanishing > 0


def test_rows_of_zero_weight_have_no_trust():
    X, y, weight = problem(8)
    weight[:5] = 0
    assert np.all(TruncatedSoftmaxClassifier().fit(X, y, weight).sample_trust_[:5] == 0)


@pytest.mark.parametrize("make", [CompositeMarginClassifier, TruncatedSoftmaxClassifier])
def test_renaming_classes_permutes_the_columns(make):
    X, y, weight = problem(9)
    order = np.array([2, 0, 3, 1])
    one = make(tol=1e-10).fit(X, y, weight)
    two = clone(one).fit(X, order[y], weight)
    np.testing.assert_allclose(two.predict_proba(X)[:, order], one.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CompositeMarginClassifier("hinge"), "loss must decrease everywhere"),
        (CompositeMarginClassifier("least_squares"), "loss must decrease everywhere"),
        (CompositeMarginClassifier(mix=1.5), "mix must be a number between 0 and 1; got 1.5"),
        (CompositeMarginClassifier(C="auto"), "C must be a positive, finite number; got 'auto'"),
        (CompositeMarginClassifier(tol=0), "tol must be a positive"),
        (TruncatedSoftmaxClassifier(-1.0), "level must be None or a positive number.*; got -1.0"),
        (TruncatedSoftmaxClassifier(max_iter=0), "max_iter must be an integer of at least 1"),
    ],
    ids=lambda value: None,
)
def test_bad_parameters_are_named(model, message):
    X, y, _ = problem(10)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize(
    "model",
    [
        CompositeMarginClassifier("coherence", mix=0.2, kernel="rbf"),
        TruncatedSoftmaxClassifier(kernel="rbf"),
    ],
    ids=str,
)
def test_scikit_learn_conventions(model):
    check_estimator(model)


def test_the_loss_of_a_sure_row_keeps_its_digits():
    away = np.array([1.0, 30.0, 100.0, 700.0])
    scores = np.column_stack([away, np.zeros(4)]) + 3.0
    np.testing.assert_allclose(Softmax().value(scores, np.zeros(4, dtype=int)), np.log1p(np.exp(-away)), rtol=1e-12)
    wrong = Softmax().value(scores, np.ones(4, dtype=int))
    np.testing.assert_allclose(wrong, away + np.log1p(np.exp(-away)), rtol=1e-12)


@pytest.mark.parametrize("make", [CompositeMarginClassifier, TruncatedSoftmaxClassifier])
def test_row_order_is_nothing_where_the_objective_of_separated_rows_is_tiny_itself(make):
    rng = np.random.default_rng(0)
    rows, codes = rng.normal(size=(27, 6)), np.arange(27) % 2
    model = make(kernel="poly", gamma=1e4, C=0.5, penalize_intercept=True, tol=1e-9)
    first = model.fit(rows, codes).decision_function(rows)
    assert model.solution_.objective < 1e-8
    second = model.fit(rows[::-1], codes[::-1]).decision_function(rows)
    np.testing.assert_allclose(second, first, atol=1e-3 * np.abs(first).max())


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("kernel", [None, Kernel("rbf", 0.5), Kernel("poly", 10.0, 3, 0.0)], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_machines_of_similarities_up_to_1e10_converge_and_cost_what_is_claimed(seed, kernel, k):
    rng = np.random.default_rng(seed)
    X, loss = 5 * rng.normal(size=(49, 2)), Composite(losses.get("coherence"), 0.25)
    y, rows = np.digitize(X[:, 0], [0.0, 2.0][: k - 1]), expand(X, kernel)
    found = solve(MulticlassProblem(loss, rows, y, np.ones(49), n_classes=k), tol=1e-6)
    assert found.converged
    assert np.abs(found.coef.sum(axis=1)).max() <= 1e-12 * (1 + np.abs(found.coef).max())
    images = rows.apply(found.coef)
    norm = float(np.sum(found.coef * (found.coef if kernel is None else images)))
    value = loss.evaluate(images + found.intercept, y, np.ones(49)).value + 0.5 * norm
    assert value == pytest.approx(found.objective, rel=1e-6)


@pytest.mark.parametrize("intercept", ["penalized", "free", "none"])
@pytest.mark.parametrize("kernel", [None, Kernel("rbf", 0.5)], ids=str)
def test_wherever_a_fit_is_stopped_no_point_is_better_by_more_than_the_gap(kernel, intercept):
    """A gradient small beside that at zero coefficients may leave most of the objective of separated rows to gain."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 7)) + 3 * np.eye(3, 7)[y]
    task = MulticlassProblem(
        Composite(losses.get("logistic"), 0.5), expand(X, kernel), y, np.full(60, 300.0), n_classes=3,
        intercept=intercept,
    )  # fmt: skip
    least = solve(task, tol=1e-9).objective
    for steps in range(1, 10):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = solve(task, tol=0.1, max_iter=steps)
        assert found.objective - least <= (found.gap + 1e-9) * found.objective


@pytest.mark.parametrize("make", [CompositeMarginClassifier, TruncatedSoftmaxClassifier])
def test_what_all_classes_share_never_grows_out_of_rounding(make):
    # features that hardly matter: one step reaches the optimum, and the next has nothing but rounding to follow
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y = np.r_[np.arange(3), rng.integers(0, 3, 23)]
        X = 1e-3 * rng.normal(size=(len(y), 6))
        X, y = np.vstack([X, X]), np.r_[y, y[rng.permutation(len(y))]]
        model = make(class_weight="balanced").fit(X, y)
        weight = (len(y) / (3 * np.bincount(y)))[y]
        cost = model._multiclass_loss().value(model.decision_function(X), y)
        objective = float(weight @ cost) + 0.5 * float(np.square(model.coef_).sum())
        assert model.solution_.objective == pytest.approx(objective, rel=1e-9)
        assert all(later <= before * (1 + 1e-9) for before, later in pairwise(model.solution_.history))


@pytest.mark.parametrize("intercept", ["penalized", "free"])
@pytest.mark.parametrize(("n", "seed", "apart"), [(400, 0, 0), (400, 0, 1), (600, 2, 0), (600, 2, 1)])
def test_machines_of_similarities_converge_where_weights_span_twelve_decades(n, seed, apart, intercept):
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 5)) + apart * y[:, None] * rng.normal(size=5)
    weight, kernel = 10.0 ** rng.uniform(-6, 6, n), Kernel("rbf", 0.2)
    found = solve(MulticlassProblem(Softmax(), expand(X, kernel), y, weight, 3, intercept), tol=1e-10, max_iter=200)
    assert found.converged
    # f = K beta, and beta is minus a slope of the losses: the duality gap, and what constraints of the dual lack
    K = kernel(X, X) + (intercept == "penalized")
    beta = found.dual
    F = K @ beta + found.intercept * (intercept == "free")
    P = np.maximum(np.eye(3)[y] - beta / weight[:, None], 0.0)
    primal = float(weight @ (logsumexp(F, axis=1) - F[np.arange(n), y])) + 0.5 * float(np.sum(beta * (K @ beta)))
    dual = -float(weight @ np.sum(xlogy(P, P), axis=1)) - 0.5 * float(np.sum(beta * (K @ beta)))
    assert abs(primal - dual) <= 1e-5 * primal
    assert primal == pytest.approx(found.objective, rel=1e-9)


@pytest.mark.parametrize("kernel", [None, Kernel("rbf", 0.3)], ids=str)
def test_rounds_over_many_rows_end_at_the_fit_of_the_rows_they_keep(kernel):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=1050)
    X = rng.normal(size=(1050, 4)) + 2 * np.eye(3, 4)[y]
    wrong = rng.random(1050) < 0.15
    y[wrong] = (y[wrong] + 1) % 3
    task = MulticlassProblem(Capped(Softmax(), 1.5), expand(X, kernel), y, np.full(1050, 3.0), n_classes=3)
    found = solve(task, tol=1e-9)
    assert found.converged
    assert 0 < np.count_nonzero(~found.kept) < 400
    assert all(later <= earlier * (1 + 1e-12) for earlier, later in pairwise(found.history))
    plain = solve(replace(task, loss=Softmax(), weights=np.where(found.kept, 3.0, 0.0)), tol=1e-9)
    np.testing.assert_allclose(task.scores(found.coef), task.scores(plain.coef), atol=1e-5)
    assert found.objective == pytest.approx(plain.objective + 4.5 * np.count_nonzero(~found.kept), rel=1e-9)


def test_more_starts_end_as_finely_and_no_higher():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    X = rng.normal(size=(150, 3)) + y[:, None]
    y[:40] = rng.integers(3, size=40)
    fits = [TruncatedSoftmaxClassifier(0.9, kernel="rbf", n_init=n, random_state=0).fit(X, y) for n in (1, 4)]
    assert all(fit.solution_.converged and fit.solution_.gap <= 1e-10 for fit in fits)
    assert fits[1].solution_.objective <= fits[0].solution_.objective
