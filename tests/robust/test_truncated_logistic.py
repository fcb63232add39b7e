"""Truncated logistic regression and its relatives: golden optima, probability schemes, degenerate fits."""

import json
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit
from sklearn.utils.estimator_checks import check_estimator

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, losses
from softmargin.penalties import MCP, SCAD
from softmargin.probability import bracket, estimable_or_fallback, nearest_estimable, outward_weights

CASES = json.loads((Path(__file__).parents[1] / "golden" / "truncated_logistic.json").read_text())["cases"]
LEVEL3 = 3 * math.log(2)


def golden(*kinds):
    cases = [case for case in CASES if case["kind"] in kinds]
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def named(name):
    return next(case for case in CASES if case["name"] == name)


def theta(model):
    return np.concatenate([model.intercept_, model.coef_[0]])


def noisy_plane(n=150, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    y = np.where(X[:, 0] > X[:, 1], 1, -1)
    wrong = rng.choice(n, int(share * n), replace=False)
    y[wrong] = -y[wrong]
    return X, y, wrong


@golden("rplr_linear")
def test_dropping_and_refitting_reaches_the_enumerated_minimum_it_should(case):
    given, want = case["input"], case["expected"]
    X, y = np.array(given["X"]), np.array(given["y"])
    model = TruncatedLogisticRegression(level=given["t"], C=1 / given["lam"], scheme=None, tol=1e-10)
    model.fit(X, y, sample_weight=given["sample_weight"])
    reached = want["drop_from_plr_reaches"]
    assert model.objective_ * given["lam"] == pytest.approx(want["local_objectives"][reached], rel=1e-9)
    np.testing.assert_allclose(theta(model), want["local_theta"][reached], atol=1e-6)
    np.testing.assert_array_equal(~model.outliers_, np.array(want["local_retained"][reached], dtype=bool))
    assert model.constant_objective_ * given["lam"] == pytest.approx(want["degenerate_infimum"], rel=1e-12)
    base = model.solution_.base
    np.testing.assert_allclose([base.intercept, *base.coef], want["plr_theta"], atol=1e-5)


@golden("rplr_linear")
def test_more_starts_find_the_global_minimum(case):
    given, want = case["input"], case["expected"]
    model = TruncatedLogisticRegression(
        level=given["t"], C=1 / given["lam"], scheme=None, n_init=60, random_state=0, tol=1e-10
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(np.array(given["X"]), np.array(given["y"]), sample_weight=given["sample_weight"])
    assert model.objective_ * given["lam"] == pytest.approx(want["global_finite_objective"], rel=1e-8)


@golden("rplr_linear_criteria")
def test_linear_fits_are_golden(case):
    given, want = case["input"], case["expected"]
    X, y = np.array(given["X"]), np.array(given["y"])
    model = TruncatedLogisticRegression(level=given["t"], C=1 / given["lam"], scheme=None, tol=1e-10)
    model.fit(X, y, sample_weight=given.get("sample_weight"))
    np.testing.assert_allclose(theta(model), want["theta"], atol=1e-7)
    assert model.objective_ * given["lam"] == pytest.approx(want["objective"], rel=1e-8)
    np.testing.assert_array_equal(~model.outliers_, np.array(want["retained"], dtype=bool))


@golden("rplr_kernel_criteria")
def test_kernel_fits_are_golden_and_rows_given_up_have_no_coefficient(case):
    given, want = case["input"], case["expected"]
    X, y = np.array(given["X"]), np.array(given["y"])
    model = TruncatedLogisticRegression(
        level=given["t"], C=1 / given["lam"], kernel="rbf", gamma=1 / (2 * given["sigma"] ** 2), scheme=None, tol=1e-10
    ).fit(X, y)
    np.testing.assert_allclose(model.decision_function(np.array(given["X_new"])), want["f_new"], atol=1e-6)
    assert model.objective_ * given["lam"] == pytest.approx(want["objective"], rel=1e-8)
    v = np.zeros(len(y))
    v[model.support_] = model.dual_coef_[0]
    np.testing.assert_allclose(v, want["v"], atol=1e-6)
    assert np.all(v[model.outliers_] == 0)


@golden("rplr_l1")
def test_the_lasso_version_finds_an_enumerated_minimum(case):
    given, want = case["input"], case["expected"]
    X, y = np.array(given["X"]), np.array(given["y"])
    model = TruncatedLogisticRegression(
        level=given["t"], C=1 / given["lam"], l1_ratio=1.0, scheme=None, tol=1e-8, n_init=40, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, y)
    assert model.objective_ * given["lam"] == pytest.approx(want["global_finite_objective"], rel=1e-5)
    np.testing.assert_allclose(model.coef_[0], want["w"], atol=1e-2)


@golden("rsvm_linear")
def test_the_truncated_hinge_finds_the_enumerated_minimum(case):
    given, want = case["input"], case["expected"]
    model = RobustSVC(loss="truncated_hinge", sigma=1 - given["s"], C=given["C"], tol=1e-8, n_init=20, random_state=0)
    model.fit(np.array(given["X"]), np.array(given["y"]))
    assert model.objective_ == pytest.approx(want["global_finite_objective"], abs=case["tol"])
    np.testing.assert_allclose(model.coef_[0], want["w"], atol=1e-5)
    assert model.constant_objective_ == pytest.approx(want["degenerate_objective"])


@golden("robust_ridge_1d")
@pytest.mark.parametrize("name", ["copas", "pregibon", "croux_haesbroeck"])
def test_smooth_robust_likelihoods_are_golden(case, name):
    given, want = case["input"], case["expected"][name]
    loss = {
        "copas": losses.Copas(flip_rate=given["copas_gamma"]),
        "pregibon": losses.Pregibon(threshold=given["pregibon_H"]),
        "croux_haesbroeck": losses.CrouxHaesbroeck(d=given["ch_d"]),
    }[name]
    x, y = np.array(given["x"])[:, None], np.array(given["y"])
    model = MarginClassifier(loss=loss, C=1 / given["lam"], tol=1e-9).fit(x, y)
    assert model.solution_.objective * given["lam"] == pytest.approx(want["objective"], rel=1e-7)
    np.testing.assert_allclose(theta(model), [want["b"], want["w"]], atol=1e-4)
    history = np.array(model.solution_.history)
    assert np.all(np.diff(history) <= 1e-10 * history[0])
    np.testing.assert_array_equal(model.classes_[model.predict_proba(x).argmax(axis=1)], model.predict(x))


def test_schemes_are_golden():
    one, two, three = named("scheme1"), named("scheme2"), named("scheme3")
    reach = losses.TruncatedLogistic(level=one["input"]["t"]).estimable
    got = estimable_or_fallback(one["input"]["f"], one["input"]["p_plr"], reach)
    np.testing.assert_allclose(got, one["expected"]["P"], atol=1e-12)
    reach = losses.TruncatedLogistic(level=two["input"]["t"]).estimable
    got = nearest_estimable(two["input"]["F"], two["input"]["pis"], two["input"]["p_plr"], reach)
    np.testing.assert_allclose(got, two["expected"]["P"], atol=1e-12)
    F = np.array(three["input"]["F"])
    np.testing.assert_allclose(bracket(F.T).probability, three["expected"]["P"], atol=1e-12)


@golden("region")
def test_estimable_regions_are_golden(case):
    given, want = case["input"], case["expected"]
    for t, pi, c, low, high in zip(given["t"], given["pi"], want["c"], want["p1"], want["p2"], strict=True):
        reach = losses.TruncatedLogistic(level=t).estimable
        assert reach == pytest.approx(c, abs=1e-11)
        shift = math.log(pi / (1 - pi))
        assert 1 / (1 + math.exp(reach - shift)) == pytest.approx(low, abs=1e-11)
        assert 1 / (1 + math.exp(-reach - shift)) == pytest.approx(high, abs=1e-11)


@pytest.mark.parametrize("level", [1.6, LEVEL3, 3.0])
def test_the_weights_of_scheme_2_leave_no_gap(level):
    reach = losses.TruncatedLogistic(level=level).estimable
    centres = np.sort(np.log(outward_weights(reach) / (1 - outward_weights(reach))))
    assert np.all(np.diff(centres) <= 2 * reach)
    assert centres[-1] >= math.log(90) - 1e-9


@pytest.mark.parametrize(
    ("level", "scheme"), [(LEVEL3, 1), (LEVEL3, 2), (LEVEL3, 3), (2 * math.log(2), 3), (np.inf, 1)]
)
@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_probabilities_agree_with_labels_and_with_the_truth(level, scheme, kernel):
    X, y, _ = noisy_plane(n=200)
    model = TruncatedLogisticRegression(level=level, scheme=scheme, kernel=kernel, C=10.0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    truth = np.where(X[:, 0] > X[:, 1], 0.9, 0.1)
    assert np.abs(p[:, 1] - truth).mean() < 0.2


def test_an_infinite_level_is_logistic_regression():
    X, y, _ = noisy_plane()
    plain = MarginClassifier(loss="logistic", tol=1e-10).fit(X, y)
    model = TruncatedLogisticRegression(level=np.inf, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(theta(model), theta(plain), atol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    assert not model.outliers_.any()


def test_schemes_1_and_2_refuse_levels_that_leave_nothing_to_read():
    X, y, _ = noisy_plane()
    for scheme in (1, 2):
        with pytest.raises(ValueError, match="level"):
            TruncatedLogisticRegression(scheme=scheme).fit(X, y)
    for params in ({"level": 0.5}, {"scheme": 4}, {"level": np.nan}):
        with pytest.raises(ValueError, match=next(iter(params))):
            TruncatedLogisticRegression(**params).fit(X, y)
    assert not hasattr(TruncatedLogisticRegression(scheme=None).fit(X, y), "predict_proba")


def test_a_retained_set_of_one_class_is_degenerate():
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = np.where(np.arange(40) < 6, 1, -1)
    model = TruncatedLogisticRegression(level=math.log(2), C=1e-4)
    with pytest.warns(UserWarning, match="gives up every row of one class"):
        model.fit(X, y)
    assert model.status_ == "degenerate"
    assert model.objective_ == pytest.approx(1e-4 * math.log(2) * 6)
    assert np.all(model.predict(X) == -1)
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("kernel", [None, "rbf"])
def test_integer_weights_are_repeated_rows(kernel):
    X, y, _ = noisy_plane(n=60)
    weight = np.random.default_rng(1).integers(0, 4, len(y))
    settings = {"kernel": kernel, "gamma": 1.0, "tol": 1e-10, "level": LEVEL3, "scheme": 2, "C": 5.0}
    weighted = TruncatedLogisticRegression(**settings).fit(X, y, sample_weight=weight)
    repeated = TruncatedLogisticRegression(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_outliers_are_the_rows_beyond_the_cap():
    X, y, wrong = noisy_plane(n=400, share=0.05, seed=2)
    model = TruncatedLogisticRegression(C=20.0, scheme=None).fit(X, y)
    u = y * model.decision_function(X)
    np.testing.assert_array_equal(model.outliers_, u < losses.TruncatedLogistic().at)
    assert np.all(np.diff(model.solution_.history) <= 1e-9 * model.solution_.history[0])
    assert np.isin(np.flatnonzero(model.outliers_), wrong).mean() > 0.8


def test_several_classes():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((150, 2)) + 3 * np.eye(3, 2)[np.arange(150) % 3]
    y = np.arange(150) % 3
    model = TruncatedLogisticRegression(C=1.0).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    assert model.outliers_.shape == model.sample_trust_.shape == (150,)


def test_scikit_learns_own_checks():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_estimator(TruncatedLogisticRegression(scheme=None))


@pytest.mark.parametrize("penalty", [SCAD(l1_ratio=0.8), MCP(l1_ratio=0.8)], ids=["scad", "mcp"])
def test_concave_penalties_of_many_rows_end_where_the_rows_kept_and_the_penalty_pull_alike(penalty):
    X, y, _ = noisy_plane(1200)
    X = np.column_stack([X, np.random.default_rng(1).standard_normal((len(X), 6))])
    model = TruncatedLogisticRegression(penalty=penalty, C=0.2, scheme=None, tol=1e-5).fit(X, y)
    found = model.solution_
    assert found.converged
    assert np.all(np.diff(found.history) <= 1e-11 * np.abs(found.history[:-1]))

    coef, margins = model.coef_[0], y * model.decision_function(X)
    slopes = np.where(np.logaddexp(0, -margins) < model.level, -0.2 * y * expit(-margins), 0.0)
    pull = X.T @ slopes + 0.2 * coef
    cost = 0.8 * penalty.relative_slopes(np.abs(coef))
    wrong = np.where(coef != 0, np.abs(pull + cost * np.sign(coef)), np.maximum(np.abs(pull) - cost, 0.0))
    assert wrong.max() <= 2e-5
    assert abs(slopes.sum()) <= 1e-6 * np.abs(slopes).sum()
