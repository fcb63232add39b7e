"""Composite least squares: golden fits, probabilities, leave-one-out, and what its estimator promises."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.utils.estimator_checks import check_estimator

from reference.multicategory import composite_least_squares
from softmargin import CompositeLeastSquaresClassifier
from softmargin.expansions import Kernel, expand
from softmargin.losses.multiclass import CompositeLeastSquares
from softmargin.probability._composite import (
    least_squares_probability,
    least_squares_raw,
    least_squares_score,
    minshift,
    project_simplex,
    waterfill,
)
from softmargin.problem import MulticlassProblem
from softmargin.solvers import solve
from softmargin.solvers.multiclass import ClassMoments, RowSpace, Spectrum, half_path, leave_one_out

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "multicategory.json").read_text())


def kernel_options(case):
    width = case["bandwidth"] or 1.0
    return {
        "linear": {"kernel": None},
        "rbf": {"kernel": "rbf", "gamma": 1 / (2 * width**2)},
        "poly2": {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0},
    }[case["kernel"]]


def problem(rng, n=30, p=3, k=4, weighted=True):
    codes = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    X = rng.normal(size=(n, p)) + rng.normal(size=(k, p))[codes]
    return X, codes, rng.uniform(0.2, 3, n) if weighted else np.ones(n)


@pytest.mark.parametrize("case", GOLDEN["cls"]["cases"])
def test_fit_equals_golden(case):
    k = case["k"]
    model = CompositeLeastSquaresClassifier(
        mix=case["gamma"],
        C=1 / (2 * case["lam"]),
        penalize_intercept=case["penalise_intercept"],
        **kernel_options(case),
    ).fit(case["X"], case["y"], sample_weight=case["sample_weight"])
    expected = (k - 1) * np.array(case["h_test"])
    scores = model.decision_function(case["X_test"])
    np.testing.assert_allclose(scores, expected if k > 2 else expected[:, 1], rtol=0, atol=1e-8)
    objective = (k - 1) ** 2 * case["objective_h"] / (2 * case["lam"])
    assert model.solution_.objective == pytest.approx(objective, rel=1e-10)
    assert model.solution_.gap < 1e-10
    if "coef_h" in case:
        columns = slice(None) if k > 2 else slice(1, 2)
        np.testing.assert_allclose(model.coef_, (k - 1) * np.array(case["coef_h"])[columns], atol=1e-8)
        np.testing.assert_allclose(model.intercept_, (k - 1) * np.array(case["intercept_h"])[columns], atol=1e-8)


@pytest.mark.parametrize("case", GOLDEN["cls"]["cases"])
def test_raw_probabilities_of_golden_fits(case):
    scores = (case["k"] - 1) * np.array(case["h_test"])
    np.testing.assert_allclose(least_squares_raw(scores, case["gamma"]), case["proba_raw_test"], atol=1e-6)


@pytest.mark.parametrize("case", GOLDEN["loo"]["cases"])
def test_leave_one_out_equals_refits(case):
    X, codes, weight = np.array(case["X"]), np.array(case["y"]), np.array(case["sample_weight"])
    intercept = "penalized" if case["penalise_intercept"] else "free"
    moments = ClassMoments(X, codes, weight, case["k"], intercept)
    result = leave_one_out(moments, case["gamma"], case["lam"])
    np.testing.assert_allclose(result.scores, case["h_loo"], atol=1e-7)
    assert result.df == pytest.approx(case["df"], rel=1e-7)
    assert result.gcv == pytest.approx(case["gcv_h"], rel=1e-7)


@pytest.mark.parametrize("case", GOLDEN["fstar"]["cases"])
def test_population_minimiser(case):
    np.testing.assert_allclose(least_squares_score(np.array([case["P"]]), case["gamma"])[0], case["f"], rtol=1e-10)


@pytest.mark.parametrize("case", GOLDEN["proba"]["cases"])
def test_probability_maps(case):
    f, mix = np.array([case["f"]]), case["gamma"]
    raw = least_squares_raw(f, mix)
    np.testing.assert_allclose(raw[0], case["raw"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(minshift(raw)[0], case["minshift"], atol=1e-9)
    np.testing.assert_allclose(project_simplex(raw)[0], case["simplex_projection_of_raw"], atol=1e-7)
    if "waterfill" in case:
        np.testing.assert_allclose(least_squares_probability(f, mix)[0], case["waterfill"], atol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.floats(0, 1))
def test_probability_inverts_the_population_minimiser(seed, k, mix):
    P = np.random.default_rng(seed).dirichlet(np.ones(k), size=4) * 0.98 + 0.02 / k
    f = least_squares_score(P, mix)
    np.testing.assert_allclose(f.sum(axis=1), 0, atol=1e-9 * max(1, np.abs(f).max()))
    np.testing.assert_allclose(least_squares_raw(f, mix), P, atol=1e-9)
    np.testing.assert_allclose(least_squares_probability(f, mix), P, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(0, 1), st.floats(0.1, 20))
def test_probabilities_are_proper_and_keep_the_order_of_scores(seed, k, mix, size):
    f = np.random.default_rng(seed).normal(scale=size, size=(5, k))
    f -= f.mean(axis=1, keepdims=True)
    for rescale in ("waterfill", "minshift", "simplex"):
        P = least_squares_probability(f, mix, rescale)
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
        order = np.argsort(f, axis=1)
        assert np.diff(np.take_along_axis(P, order, axis=1), axis=1).min() >= -1e-9


def test_waterfill_minimises_its_quadratic_over_the_simplex():
    rng = np.random.default_rng(0)
    A, D = rng.normal(scale=2, size=(50, 5)), rng.uniform(0.01, 3, size=(50, 5))
    P = waterfill(A, D)
    gradient = D * P - A  # optimal: equal where P > 0, no smaller elsewhere
    level = np.where(P > 0, gradient, np.inf).min(axis=1)
    assert np.all(gradient >= level[:, None] - 1e-9)
    np.testing.assert_allclose(np.where(P > 0, gradient - level[:, None], 0), 0, atol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
def test_waterfill_is_row_by_row_in_any_memory_order(n):
    rng = np.random.default_rng(1)
    A, D = rng.normal(scale=2, size=(n, 6)), rng.uniform(0.01, 3, size=(n, 6))
    alone = [waterfill(a[None], d[None])[0] for a, d in zip(A, D, strict=True)]
    for order in "CF":
        P = waterfill(np.array(A, order=order), np.array(D, order=order))
        np.testing.assert_allclose(P, np.reshape(alone, (n, 6)), rtol=1e-12)


def test_waterfill_gives_all_to_the_first_of_the_largest_when_rounding_leaves_none():
    P = waterfill(np.full((5, 3), 1e20) * [1.0, 2.0, 2.0], np.ones((5, 3)))
    np.testing.assert_array_equal(P, [[0.0, 1.0, 0.0]] * 5)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]),
    st.sampled_from(["free", "penalized", "none"]),
    st.floats(-6, 6),
)
def test_both_routes_equal_the_dense_kkt_system(seed, mix, intercept, log_lam):
    X, codes, weight = problem(np.random.default_rng(seed))
    k, lam = 4, 10.0**log_lam
    theta = composite_least_squares(X, codes, weight, k, mix, lam, intercept)
    expected = 3 * (X @ theta.T if intercept == "none" else X @ theta[:, 1:].T + theta[:, 0])
    cost, loss = weight / (2 * lam), CompositeLeastSquares(mix)
    primal = solve(MulticlassProblem(loss, expand(X), codes, cost, k, intercept))
    linear = expand(X @ X.T, Kernel.resolve("precomputed", X @ X.T, codes))
    dual = solve(MulticlassProblem(loss, linear, codes, cost, k, intercept))
    scale = np.abs(expected).max()
    np.testing.assert_allclose(X @ primal.coef + primal.intercept, expected, atol=1e-8 * scale)
    if lam >= 1e-4:  # the kernel matrix has rank 3: its inverse loses digits in proportion to 1 / lam
        np.testing.assert_allclose(X @ X.T @ dual.coef + dual.intercept, expected, atol=1e-8 * scale)
    assert primal.gap < 1e-9
    assert primal.objective == pytest.approx(dual.objective, rel=1e-6)


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("source", ["features", "sparse", "kernel"])
def test_half_path_equals_leave_one_out(source, intercept):
    X, codes, weight = problem(np.random.default_rng(1))
    removed = weight * 0.4
    if source == "kernel":
        spectrum = Spectrum.of_kernel(X @ X.T, weight, intercept)
    else:
        spectrum = Spectrum.of_features(sparse.csr_array(X) if source == "sparse" else X, weight, intercept)
    lams = np.array([0.01, 1.0, 30.0])
    path = half_path(spectrum, codes, weight, lams, removed=removed)
    for lam, fit in zip(lams, path, strict=True):
        expected = leave_one_out(ClassMoments(X, codes, weight, 4, intercept), 0.5, lam, removed=removed)
        np.testing.assert_allclose(fit.scores, expected.scores, atol=1e-9)
        assert fit.gcv == pytest.approx(expected.gcv, rel=1e-9)


@pytest.mark.parametrize("mix", [0.0, 0.3, 1.0])
def test_leave_one_out_with_more_classes_than_features_equals_refits(mix):
    X, codes, weight = problem(np.random.default_rng(2), n=24, p=2, k=6)
    result = leave_one_out(ClassMoments(X, codes, weight, 6, "penalized"), mix, 0.3)
    for i in range(0, 24, 5):
        keep = np.where(np.arange(24) == i, 0, weight)
        theta = composite_least_squares(X, codes, keep, 6, mix, 0.3, "penalized")
        np.testing.assert_allclose(result.scores[i], theta @ np.r_[1, X[i]], atol=1e-9)


def test_single_member_of_a_class_has_no_leave_one_out_fit_at_mix_one_with_a_free_intercept():
    X, codes, weight = problem(np.random.default_rng(3), n=20, k=3, weighted=False)
    codes = np.where(codes == 2, 0, codes)
    codes[7] = 2
    result = leave_one_out(ClassMoments(X, codes, weight, 3, "free"), 1.0, 0.5)
    assert np.isnan(result.scores[7]).all()
    assert np.isfinite(np.delete(result.scores, 7, axis=0)).all()


@pytest.mark.parametrize("criterion", ["brier", "log_loss", "error", "gcv"])
def test_automatic_choice_is_the_minimum_of_the_grid(criterion):
    X, y, _ = problem(np.random.default_rng(4), n=60)
    mix = 0.5 if criterion == "gcv" else "auto"
    model = CompositeLeastSquaresClassifier(mix=mix, C="auto", criterion=criterion, Cs=[0.01, 0.1, 1, 10]).fit(X, y)
    grid = model.grid_
    row, column = list(grid.mixes).index(model.mix_), list(grid.Cs).index(model.C_)
    assert grid.values[row, column] == np.nanmin(grid.values)
    again = clone(model).set_params(mix=model.mix_, C=model.C_).fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("intercept", ["free", "penalized", "none"])
@pytest.mark.parametrize("mix", [0.0, 0.3, 0.5, 0.75, 1.0])
def test_leave_one_out_by_inner_products_is_that_of_the_class_moments(mix, intercept):
    rng = np.random.default_rng(12)
    X, codes, weight = problem(rng, n=40, p=5, k=4)
    removed = weight * rng.uniform(0.2, 1, len(codes))
    expected = leave_one_out(ClassMoments(X, codes, weight, 4, intercept), mix, 0.3, removed=removed).scores
    Z = X - weight @ X / weight.sum() if intercept == "free" else X
    K = Z @ Z.T + (intercept == "penalized")
    space = RowSpace(K, codes, weight, n_classes=4, free=intercept == "free")
    np.testing.assert_allclose(space.left_out(mix, 0.3, removed / weight), expected, atol=1e-9)


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("seed", range(3))
def test_a_few_looks_choose_nearly_as_well_as_the_whole_grid(kernel, seed):
    rng = np.random.default_rng(seed)
    X, y, _ = problem(rng, n=150, p=4, k=3 + seed)
    model = CompositeLeastSquaresClassifier("auto", C="auto", kernel=kernel).fit(X, y)
    grid = model.grid_
    whole = [
        CompositeLeastSquaresClassifier(mix, C="auto", kernel=kernel, Cs=part).fit(X, y).grid_.values.min()
        for mix in grid.mixes
        for part in np.array_split(grid.Cs, 2)  # few enough to be looked at one by one
    ]
    assert np.nanmin(grid.values) <= min(whole) + 0.01
    assert np.isnan(grid.values).sum() > grid.values.size / 2


def test_automatic_choice_does_not_depend_on_units_or_on_the_route():
    X, y, _ = problem(np.random.default_rng(5), n=60)
    base = CompositeLeastSquaresClassifier(mix="auto", C="auto").fit(X, y)
    scaled = clone(base).fit(1000 * X, y)
    np.testing.assert_allclose(scaled.decision_function(1000 * X), base.decision_function(X), rtol=1e-6, atol=1e-8)
    kernel = clone(base).set_params(kernel="linear").fit(X, y)
    np.testing.assert_allclose(kernel.grid_.values, base.grid_.values, atol=1e-8)
    np.testing.assert_allclose(kernel.decision_function(X), base.decision_function(X), atol=1e-6)


def test_half_mix_classifies_as_ridge():
    X, y, _ = problem(np.random.default_rng(6), n=80)
    ours = CompositeLeastSquaresClassifier(mix=0.5, C=0.25).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), RidgeClassifier(alpha=2 * 2.0).fit(X, y).predict(X))


def test_two_classes_ignore_the_mix_and_equal_ridge_regression():
    X, y, weight = problem(np.random.default_rng(7), k=2)
    scores = [
        CompositeLeastSquaresClassifier(mix=mix).fit(X, y, weight).decision_function(X) for mix in (0, 0.3, 0.5, 1)
    ]
    for other in scores[1:]:
        np.testing.assert_allclose(other, scores[0], atol=1e-12)
    Z = np.column_stack([np.ones(len(X)), X])  # lambda_binary = 2 lambda = 1 / C
    theta = np.linalg.solve(Z.T @ (weight[:, None] * Z) + np.diag([0, 1, 1, 1]), Z.T @ (weight * np.where(y, 1, -1)))
    np.testing.assert_allclose(scores[0], Z @ theta, atol=1e-10)


@pytest.mark.parametrize("options", [{"mix": 0.8}, {"mix": 0.2, "kernel": "rbf"}, {"kernel": "rbf", "n_components": 9}])
def test_renaming_classes_permutes_the_columns(options):
    X, y, weight = problem(np.random.default_rng(8))
    order = np.array([2, 0, 3, 1])
    one = CompositeLeastSquaresClassifier(random_state=0, **options).fit(X, y, weight)
    two = clone(one).fit(X, order[y], weight)
    np.testing.assert_allclose(two.decision_function(X)[:, order], one.decision_function(X), atol=1e-8)
    np.testing.assert_allclose(two.predict_proba(X)[:, order], one.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("mix", [0.0, 0.5, 0.8, 1.0])
def test_more_columns_and_more_rows_meet(mix):
    rng = np.random.default_rng(9)
    X, y, weight = problem(rng, n=12, p=40, k=3)
    wide = CompositeLeastSquaresClassifier(mix=mix).fit(X, y, weight)
    theta = composite_least_squares(X, y, weight, 3, mix, 0.5, "free")
    np.testing.assert_allclose(wide.coef_, 2 * theta[:, 1:], atol=1e-8)
    np.testing.assert_allclose(wide.intercept_, 2 * theta[:, 0], atol=1e-8)


def test_strong_penalty_leaves_class_priors():
    X, y, weight = problem(np.random.default_rng(10))
    priors = np.bincount(y, weight) / weight.sum()
    for mix in (0.0, 0.4, 1.0):
        free = CompositeLeastSquaresClassifier(mix=mix, C=1e-10).fit(X, y, weight)
        np.testing.assert_allclose(free.predict_proba(X), np.tile(priors, (len(X), 1)), atol=1e-6)
        shrunk = CompositeLeastSquaresClassifier(mix=mix, C=1e-10, penalize_intercept=True).fit(X, y, weight)
        np.testing.assert_allclose(shrunk.predict_proba(X), 0.25, atol=1e-6)


def test_more_classes_than_features_and_single_members_work():
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(6, 2)), np.arange(6)
    for mix in (0.0, 0.5, 1.0):
        for kernel in (None, "rbf"):
            P = CompositeLeastSquaresClassifier(mix=mix, kernel=kernel, C=100).fit(X, y).predict_proba(X)
            np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
    model = CompositeLeastSquaresClassifier(mix="auto", C="auto").fit(X, y)
    values = model.grid_.values
    assert np.isfinite(values[~np.isnan(values)]).all()
    assert np.isfinite(values[0]).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mix": 1.2}, "mix must be a number between 0 and 1 or 'auto'; got 1.2"),
        ({"mix": -0.1}, "mix must be a number between 0 and 1 or 'auto'; got -0.1"),
        ({"mix": "best"}, "mix must be a number between 0 and 1 or 'auto'"),
        ({"C": 0}, "C must be a positive, finite number or 'auto'; got 0"),
        ({"rescale": "clip"}, "rescale must be one of"),
        ({"criterion": "aic"}, "criterion must be one of"),
        ({"mix": "auto", "criterion": "gcv"}, "cannot choose it"),
        ({"C": "auto", "Cs": [1.0, -1.0]}, "Cs must be .* an array of positive numbers"),
        ({"C": "auto", "Cs": 0}, "Cs must be an integer from 1"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y, _ = problem(np.random.default_rng(12))
    with pytest.raises(ValueError, match=message):
        CompositeLeastSquaresClassifier(**options).fit(X, y)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="one class only"):
        CompositeLeastSquaresClassifier().fit(np.eye(3), [1, 1, 1])


@pytest.mark.parametrize(
    "model",
    [
        CompositeLeastSquaresClassifier(mix=0.8, penalize_intercept=True, rescale="minshift"),
        CompositeLeastSquaresClassifier(mix=0.2, kernel="rbf", rescale="simplex"),
        CompositeLeastSquaresClassifier(mix="auto", C="auto", class_weight="balanced"),
    ],
    ids=str,
)
def test_scikit_learn_conventions(model):
    check_estimator(model)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # rows so far from zero may say so
@pytest.mark.parametrize("penalize_intercept", [False, True])
def test_a_mix_is_chosen_where_rounding_leaves_no_matrix_definite(penalize_intercept):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        y = np.r_[np.arange(6), rng.integers(0, 6, 300)]
        X = rng.normal(size=(len(y), 5)) + 1e9
        model = CompositeLeastSquaresClassifier(mix="auto", C=0.015, penalize_intercept=penalize_intercept).fit(X, y)
        assert np.isfinite(model.decision_function(X)).all()
