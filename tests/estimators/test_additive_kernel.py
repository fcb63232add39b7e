"""Sums of splines whose components are chosen: against cone problems, and what holds of any such fit."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin import AdditiveKernelClassifier, TunedClassifier, inference, load, losses, save
from softmargin.expansions import AdditiveColumns

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "components.json").read_text())


def rows(n=80, p=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    return X, np.sin(6 * X[:, 0]) + 2 * X[:, 3] + 0.3 * rng.standard_normal(n) > 1


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: f"{case['loss']}-{case['interactions']}")
def test_components_are_those_of_a_cone_problem(case):
    X, y, weight = (np.array(GOLDEN[name]) for name in ("X", "y", "weight"))
    parameters = {name: case[name] for name in ("loss", "C", "interactions")}
    model = AdditiveKernelClassifier(tol=1e-6, **parameters).fit(X, y, weight)
    assert model.solution_.converged
    # the cone problem leaves out directions of tiny norm, so its minimum is never below
    assert -1e-7 < 1 - model.solution_.objective / case["objective"] < 2e-5
    np.testing.assert_allclose(model.component_norms_[0], case["norms"], atol=1e-3)
    np.testing.assert_allclose(model.decision_function(X), case["scores"], atol=1e-3)
    np.testing.assert_array_equal(model.component_weights_[0] > 0, np.array(case["norms"]) > 1e-3)


def test_the_components_add_up_to_the_score_and_their_norms_to_the_penalty():
    X, y = rows()
    model = AdditiveKernelClassifier(C=0.5, interactions=True).fit(X, y)
    new = rows(seed=1)[0] * 1.4 - 0.2  # beyond the range of training too
    np.testing.assert_allclose(model.component_scores(new).sum(axis=1) + model.intercept_, model.decision_function(new))
    fit = 0.5 * losses.Logistic().value(np.where(y, 1, -1) * model.decision_function(X)).sum()
    np.testing.assert_allclose(model.solution_.objective, fit + model.component_norms_.sum(), rtol=1e-8)
    idle = [j for j, one in enumerate(model.components_) if one not in model.selected_components_]
    assert idle
    assert not model.component_scores(new)[:, idle].any()


def test_an_interaction_holds_no_function_of_one_feature():
    t = (np.arange(400) + 0.5) / 400
    X = np.column_stack([np.tile(t[::20], 20), np.repeat(t[::20], 20)])
    columns = AdditiveColumns.of_rows(X, interactions=True)
    alone, _, both = columns.images(np.cos(5 * X[:, 0]), np.arange(3)).T
    assert np.abs(both).max() < 1e-2 * np.abs(alone).max()


def test_nothing_is_chosen_where_the_loss_weighs_little():
    X, y = rows()
    model = AdditiveKernelClassifier(C=1e-3).fit(X, y)
    assert model.selected_components_ == []
    assert model.solution_.gap <= 1e-4
    assert np.ptp(model.decision_function(X)) == 0


@pytest.mark.parametrize("at", [0, 2, 4])
def test_constant_features_and_units_change_nothing(at):
    X, y = rows()
    plain = AdditiveKernelClassifier(C=0.5, tol=1e-7).fit(X, y)
    wider = np.insert(X, at, 7.0, axis=1) * 1e3 + 5
    model = AdditiveKernelClassifier(C=0.5, tol=1e-7).fit(wider, y)
    np.testing.assert_allclose(model.decision_function(wider), plain.decision_function(X), atol=1e-4)
    assert all(at not in one for one in model.components_)


def test_only_constant_features_leave_the_intercept():
    y = np.arange(20) < 6
    model = AdditiveKernelClassifier().fit(np.ones((20, 2)), y)
    np.testing.assert_allclose(model.predict_proba(np.ones((1, 2)))[0, 1], 0.3, atol=1e-6)


def test_weights_are_repetitions():
    X, y = rows(50)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y))
    X[weight == 0] = np.clip(X[weight == 0], X[weight > 0].min(axis=0), X[weight > 0].max(axis=0))
    weighted = AdditiveKernelClassifier(tol=1e-7).fit(X, y, weight)
    repeated = AdditiveKernelClassifier(tol=1e-7).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("loss", [losses.TruncatedLogistic(level=1.5), losses.Welsch(sigma=1.5), losses.Copas(0.05)])
def test_a_robust_loss_never_rises_and_doubts_flipped_labels(loss):
    X, y = rows(120)
    flipped = np.flatnonzero(np.abs(np.sin(6 * X[:, 0]) + 2 * X[:, 3] - 1) > 1)[:6]
    y = y.copy()
    y[flipped] = ~y[flipped]
    model = AdditiveKernelClassifier(loss=loss).fit(X, y)
    assert model.solution_.gap <= 1e-4
    assert np.all(np.diff(model.solution_.history) <= 1e-9 * abs(model.solution_.objective))
    assert model.sample_trust_[flipped].max() < np.median(model.sample_trust_)


def test_several_classes_have_components_of_their_own():
    X, _ = rows(90)
    y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [0.3, 0.7])]
    model = AdditiveKernelClassifier(C=0.5).fit(X, y)
    assert model.component_weights_.shape == model.component_norms_.shape == (3, 5)
    assert model.score(X, y) > 0.9
    assert model.intercept_.shape == (3,)
    with pytest.raises(AttributeError, match="in each of its estimators_"):
        _ = model.dual_coef_
    with pytest.raises(ValueError, match="add up to one score"):
        model.component_scores(X)


def test_files_hold_it(tmp_path):
    X, y = rows(40)
    model = AdditiveKernelClassifier(interactions=True).fit(X, y)
    save(model, tmp_path / "sum.softmargin")
    again = load(tmp_path / "sum.softmargin")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.selected_components_ == model.selected_components_
    assert "smooth functions" in again.describe()


def test_its_cost_is_tuned():
    X, y = rows(60)
    model = TunedClassifier(AdditiveKernelClassifier(), grid={"C": [0.01, 1.0]}, criterion="cv").fit(X, y)
    assert model.best_params_ == {"C": 1.0}


def test_bad_input_is_refused():
    X, y = rows(30)
    with pytest.raises(ValueError, match=r"needs a loss with curvature.*Hinge"):
        AdditiveKernelClassifier(loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="interactions must be True or False; got 2"):
        AdditiveKernelClassifier(interactions=2).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="above tol"):
        AdditiveKernelClassifier(max_iter=1, tol=1e-9).fit(X, y)


def test_influence_says_that_the_kernel_was_chosen():
    X, y = rows(30)
    with pytest.raises(ValueError, match="not one margin loss"):
        inference.influence(AdditiveKernelClassifier().fit(X, y), X, y)


def test_float32_rows_give_float32_scores():
    X, y = rows(40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdditiveKernelClassifier().fit(X.astype(np.float32), y)
    assert model.decision_function(X.astype(np.float32)).dtype == np.float32


def test_very_many_components_are_certified_all_though_few_move_at_a_time():
    rng = np.random.default_rng(0)
    X = rng.random((30, 36))
    model = AdditiveKernelClassifier(interactions=True).fit(X, X[:, 0] * X[:, 35] > 0.25)
    assert len(model.components_) == 36 + 36 * 35 // 2
    assert model.solution_.converged


def test_images_of_more_components_than_rows_are_those_of_each():
    rng = np.random.default_rng(0)
    columns, coef = AdditiveColumns.of_rows(rng.random((5, 7)), True), rng.normal(size=5)
    each = [columns.weighted(one).apply(coef) for one in np.eye(len(columns.components))]
    for chosen in (np.arange(len(each)), np.array([0, 3, 8, 20])):  # all products at once, and one by one
        np.testing.assert_allclose(columns.images(coef, chosen), np.column_stack(each)[:, chosen], atol=1e-12)
    np.testing.assert_allclose(columns.squares(coef), coef @ np.column_stack(each), atol=1e-12)


def test_a_working_set_of_very_many_components_ends_where_all_of_them_move(monkeypatch):
    X, y = rows(60, 8)
    few = AdditiveKernelClassifier(interactions=True, tol=1e-7).fit(X, y)
    monkeypatch.setattr("softmargin.solvers.components.selection._MOST", 10)
    model = AdditiveKernelClassifier(interactions=True, tol=1e-7).fit(X, y)
    assert few.solution_.converged
    assert model.solution_.converged
    np.testing.assert_allclose(model.solution_.objective, few.solution_.objective, rtol=1e-7)
    np.testing.assert_allclose(model.component_norms_, few.component_norms_, atol=1e-4)


@pytest.mark.parametrize("loss", ["truncated_logistic", "welsch", "bianco_yohai"])
def test_bounded_losses_go_on_to_the_end_where_a_step_leaves_weights_behind_norms(loss):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(100, 6))
        y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.8 * rng.normal(size=100) > 0
        model = AdditiveKernelClassifier(loss=loss).fit(X, y)
        history = np.array(model.solution_.history)
        assert model.solution_.converged
        assert np.all(np.diff(history) <= 1e-2 * model.tol * history[:-1])
        assert model.solution_.objective == history[-1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("loss", ["squared_hinge", "welsch", "cauchy"])
def test_neither_row_order_nor_repeats_choose_among_components_that_cost_the_same(loss):
    """Beyond the margin these losses are zero: components that differ there alone may be exchanged."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = (rng.random((12, 18)) < 0.3).astype(float), np.repeat([0, 1], 6)
        model = AdditiveKernelClassifier(loss=loss, C=3.7, class_weight="balanced", tol=1e-9, max_iter=1000)
        order, times = rng.permutation(12), rng.integers(1, 4, size=12)
        first = model.fit(X, y).decision_function(X)
        np.testing.assert_allclose(model.fit(X[order], y[order]).decision_function(X), first, atol=1e-9)
        weighted = model.fit(X, y, times).decision_function(X)
        repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).decision_function(X)
        np.testing.assert_allclose(repeated, weighted, atol=1e-9)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0, 1000.0])
def test_tables_of_any_scale_are_solved_at_costs_up_to_a_thousand(C, loss):
    """Flags, levels and amounts: weights of components then differ by millions, and scores are sums of large terms."""
    rng = np.random.default_rng(3)
    n = 250
    flags = rng.random((n, 12)) < np.linspace(0.05, 0.6, 12)
    levels = rng.integers(0, 4, size=(n, 3))
    amounts = np.exp(rng.normal(size=(n, 3))) * np.array([1.0, 1e3, 1e5])
    score = flags @ rng.normal(size=12) + levels @ [0.5, -0.3, 0.0] + np.log(amounts[:, 1]) - 7 + rng.normal(size=n)
    X, y = np.column_stack([flags, levels, amounts]), score > np.median(score)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = AdditiveKernelClassifier(loss=loss, C=C).fit(X, y)
    value = losses.get(loss).value(np.where(y, 1, -1) * model.decision_function(X)).sum()
    np.testing.assert_allclose(model.solution_.objective, C * value + model.component_norms_.sum(), rtol=1e-5)
