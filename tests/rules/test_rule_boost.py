"""RuleBoostClassifier: real AdaBoost, invariances, updates, early stopping, surrogate tuning, many classes."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from joblib import effective_n_jobs, parallel_config
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from softmargin import RuleBoostClassifier, SeparableWarning, losses
from softmargin.estimators._rule_parameters import n_threads
from softmargin.expansions import cover

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "uls.json").read_text())
PLAIN = {"update": "single", "fit_intercept": False, "smoothing": 0, "max_literals": 1}


@parametrize_with_checks(
    [RuleBoostClassifier(n_rules=5, update="single", loss="exponential", search="exact", n_jobs=1)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def noisy(n=300, d=5, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] * X[:, 1] + X[:, 2] + noise * rng.normal(size=n) > 0, "yes", "no")


def test_exponential_loss_is_golden_real_adaboost():
    case = GOLDEN["adaboost"]
    X, y = np.array(case["X"]), np.array(case["y"])
    model = RuleBoostClassifier("exponential", n_rules=len(case["rounds"]), max_bins=256, **PLAIN).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), case["H"], atol=1e-10)
    for stage, (line, scores) in enumerate(
        zip(case["rounds"], list(model.staged_decision_function(X))[1:], strict=True)
    ):
        weights = np.exp(-y * scores)
        np.testing.assert_allclose(weights / weights.sum(), line["D"], atol=1e-12, err_msg=f"round {stage}")


def test_adaboost_on_the_same_rules_has_twice_the_coefficients():
    """scikit-learn's SAMME, given our rules as its weak predictions in our order, weighs each of them by 2 delta."""
    X, y = noisy()
    model = RuleBoostClassifier("exponential", n_rules=8, **PLAIN | {"max_literals": 2}).fit(X, y)
    columns = cover(model.rule_list_, model._prediction_set(X))
    signs = np.where(y == "yes", 1.0, -1.0)
    weight = np.full(len(y), 1 / len(y))
    for t, coef in enumerate(model.coef_[0]):
        guess = columns.column(t)
        error = weight[guess != signs].sum()
        samme = np.log((1 - error) / error)
        assert samme == pytest.approx(2 * coef, abs=1e-12)
        weight *= np.exp(samme * (guess != signs))
        weight /= weight.sum()


@pytest.mark.parametrize("update", ["single", "corrective", "cyclic"])
def test_integer_weights_are_repeated_rows_and_zero_weights_are_absent_rows(update):
    X, y = noisy(120)
    weight = np.random.default_rng(1).integers(0, 4, size=120)
    rows = np.repeat(np.arange(120), weight)
    options = {"n_rules": 6, "update": update, "max_bins": 16}
    weighted = RuleBoostClassifier(**options).fit(X, y, sample_weight=weight)
    repeated = RuleBoostClassifier(**options).fit(X[rows], y[rows])
    assert weighted.rule_list_ == repeated.rule_list_
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-7)


def test_rescaling_the_entropy_changes_the_scale_of_scores_and_nothing_else():
    X, y = noisy()
    for update in ("single", "corrective"):
        fits = [
            RuleBoostClassifier(losses.BalancedConvex(losses.Matsushita(mu=mu)), n_rules=12, update=update).fit(X, y)
            for mu in (0.0, 0.3)
        ]
        assert fits[0].rule_list_ == fits[1].rule_list_
        np.testing.assert_allclose(0.7 * fits[0].coef_, fits[1].coef_, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(fits[0].predict_proba(X), fits[1].predict_proba(X), atol=1e-7)


def test_predictions_on_training_rows_survive_increasing_transforms_and_row_order():
    X, y = noisy()
    bent = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, np.arctan(X[:, 2]), 5 * X[:, 3] - 1, X[:, 4]])
    order = np.random.default_rng(0).permutation(len(y))
    base = RuleBoostClassifier(n_rules=15).fit(X, y)
    np.testing.assert_allclose(
        RuleBoostClassifier(n_rules=15).fit(bent, y).decision_function(bent), base.decision_function(X), atol=1e-6
    )
    shuffled = RuleBoostClassifier(n_rules=15).fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.decision_function(X), base.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    "loss", ["logistic", "exponential", "modified_huber", losses.BalancedConvex(losses.PowerEntropy(power=0.25))]
)
def test_corrective_fits_end_at_the_optimum_over_their_rules(loss):
    X, y = noisy(noise=2.0)
    model = RuleBoostClassifier(loss, n_rules=10, smoothing=0, max_bins=8).fit(X, y)
    assert model.solution_.gap <= 1e-10
    signs = np.where(y == "yes", 1.0, -1.0)
    columns = cover(model.rule_list_, model._prediction_set(X))
    w = -model.loss_.slope(signs * model.decision_function(X))
    edges = columns.transpose(signs * w) / np.abs(w).sum()
    assert np.abs(edges).max() <= 1e-9
    assert abs((signs * w).sum()) <= 1e-9 * np.abs(w).sum()


def test_the_risk_decreases_every_round_and_cyclic_ends_where_corrective_would():
    X, y = noisy(noise=2.0)
    for update in ("single", "cyclic", "corrective"):
        model = RuleBoostClassifier(n_rules=12, update=update, smoothing=0, recur=3, max_bins=8).fit(X, y)
        assert np.all(np.diff(model.solution_.history) < 1e-9)
        if update != "single":
            assert model.solution_.gap <= 1e-10


def test_separable_data_warn_without_smoothing_and_stay_silent_and_finite_with_it():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], y[y < 2]
    for update in ("single", "corrective"):
        with pytest.warns(SeparableWarning, match="smoothing"):
            model = RuleBoostClassifier(n_rules=5, smoothing=0, update=update).fit(X, y)
        assert np.all(np.isfinite(model.coef_))
        assert model.score(X, y) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert RuleBoostClassifier(n_rules=5, update=update).fit(X, y).score(X, y) == 1


def test_constant_rule_gives_the_share_of_the_class_under_every_loss():
    X = np.zeros((10, 1))
    y = np.array([0] * 3 + [1] * 7)
    for loss in ("logistic", "exponential", "modified_huber", losses.BalancedConvex(losses.Matsushita())):
        model = RuleBoostClassifier(loss, n_rules=3).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.7, atol=1e-8)
        assert model.rule_list_ == []
        assert model.solution_.status == "no rule has an edge"


def test_n_rules_zero_and_more_rules_than_exist():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array([0, 0, 1, 0])
    assert RuleBoostClassifier(n_rules=0).fit(X, y).rule_list_ == []
    model = RuleBoostClassifier(n_rules=50).fit(X, y)
    assert len(model.rule_list_) == 1
    single = RuleBoostClassifier(n_rules=50, update="single").fit(X, y)
    assert len(single.rule_list_) <= 2


def test_early_stopping_returns_to_the_best_round():
    X, y = noisy(400, noise=3.0)
    full = RuleBoostClassifier(n_rules=60).fit(X, y)
    early = RuleBoostClassifier(n_rules=60, early_stopping=True, n_iter_no_change=5, random_state=0).fit(X, y)
    assert len(early.rule_list_) < len(full.rule_list_)
    assert early.n_iter_ == len(early.edges_) == len(list(early.staged_decision_function(X))) - 1
    again = RuleBoostClassifier(n_rules=60, early_stopping=True, n_iter_no_change=5, random_state=0).fit(X, y)
    assert again.rule_list_ == early.rule_list_
    edge = RuleBoostClassifier(n_rules=60, min_edge=0.2, update="single").fit(X, y)
    assert edge.solution_.status == "min_edge"
    assert np.all(edge.edges_ >= 0.2)


def test_shrinkage_keeps_the_first_rule_and_shrinks_its_coefficient():
    X, y = noisy()
    whole, slow = (RuleBoostClassifier(n_rules=1, learning_rate=rate, **PLAIN).fit(X, y) for rate in (1.0, 0.1))
    assert whole.rule_list_ == slow.rule_list_
    np.testing.assert_allclose(slow.coef_, 0.1 * whole.coef_, rtol=1e-9)


def test_more_than_two_classes_share_their_rules():
    X, y = load_iris(return_X_y=True)
    for update in ("single", "corrective"):
        model = RuleBoostClassifier(n_rules=8, update=update).fit(X, y)
        assert model.coef_.shape == (3, len(model.rule_list_))
        assert len(model.rule_list_) <= 8
        assert model.score(X, y) > 0.95
        p = model.predict_proba(X)
        np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    two = RuleBoostClassifier(n_rules=8).fit(X[y > 0], y[y > 0])
    assert two.coef_.shape[0] == 1


@pytest.mark.parametrize("tuning", ["cv", "F*", "F", "E"])
def test_surrogate_tuning_picks_from_the_bag_at_a_common_slope(tuning):
    X, y = noisy(200)
    bag = ["logistic", "exponential", losses.BalancedConvex(losses.Matsushita())]
    model = RuleBoostClassifier(bag, n_rules=6, tuning=tuning, update="single", random_state=0).fit(X, y)
    step = 1e-5
    assert float(model.loss_.log_odds(step)) / step == pytest.approx(1, abs=1e-3)
    assert model.score(X, y) > 0.7


def test_auto_chooses_one_loss_and_F_or_E_need_single_updates():
    X, y = noisy(200)
    model = RuleBoostClassifier("auto", n_rules=5, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (200, 2)
    with pytest.raises(ValueError, match="update='single'"):
        RuleBoostClassifier("auto", tuning="F", n_rules=5).fit(X, y)


def test_rows_held_out_decide_how_many_rules_where_nobody_says():
    X, y = noisy(120)
    model = RuleBoostClassifier(random_state=0).fit(X, y)
    assert model.n_iter_ == model.held_out_risk_.argmin() < len(model.held_out_risk_) - 1
    again = RuleBoostClassifier(
        n_rules=model.n_iter_, max_literals=3, learning_rate=0.2, update="single", early_stopping=False
    ).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))
    assert again.held_out_risk_ is None
    nothing = RuleBoostClassifier().fit(np.zeros((120, 2)), y)
    assert nothing.n_iter_ == 0
    np.testing.assert_allclose(nothing.predict_proba(np.zeros((1, 2)))[0, 1], np.mean(y == nothing.classes_[1]))


def test_a_short_list_that_was_asked_for_is_fully_corrected():
    X, y = noisy(120)
    model, named = RuleBoostClassifier(n_rules=4), RuleBoostClassifier(n_rules=4, update="corrective", learning_rate=1)
    np.testing.assert_array_equal(model.fit(X, y).coef_, named.fit(X, y).coef_)
    assert len(model.rule_list_) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "cannot be boosted"),
        ({"loss": []}, "empty list"),
        ({"n_rules": -1}, "n_rules must be"),
        ({"max_literals": 0}, "max_literals must be"),
        ({"max_bins": 257}, "max_bins must be"),
        ({"update": "all"}, "update must be None or one of"),
        ({"search": "greedy"}, "search must be one of"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"smoothing": -1}, "smoothing must be"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        RuleBoostClassifier(**options).fit(*noisy(50))


def test_no_number_of_jobs_is_one_thread_unless_joblib_says_more():
    assert n_threads(RuleBoostClassifier()) == 1
    assert n_threads(RuleBoostClassifier(n_jobs=3)) == 3
    assert n_threads(RuleBoostClassifier(n_jobs=-1)) == effective_n_jobs(-1)
    with parallel_config(backend="threading", n_jobs=2):
        assert n_threads(RuleBoostClassifier()) == 2


def test_threads_and_search_options_agree_where_they_must():
    X, y = noisy(3000, 80, noise=0.5)
    one, two = (RuleBoostClassifier(n_rules=5, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert one.rule_list_ == two.rule_list_
    np.testing.assert_array_equal(one.coef_, two.coef_)


def test_a_criterion_of_true_risk_never_starts_worse_than_the_edge():
    X, y = noisy(400)
    edge, exact = (
        RuleBoostClassifier(n_rules=1, criterion=c, **PLAIN | {"max_literals": 2}).fit(X, y) for c in ("edge", "exact")
    )
    assert exact.solution_.objective <= edge.solution_.objective + 1e-9


def test_ten_rules_read_a_tumour_as_well_as_a_forest_of_stumps():
    X, y = load_breast_cancer(return_X_y=True)
    ours = cross_val_score(RuleBoostClassifier(n_rules=10), X, y, cv=5).mean()
    theirs = cross_val_score(AdaBoostClassifier(n_estimators=10, random_state=0), X, y, cv=5).mean()
    assert ours > theirs - 0.02


def test_l1_drops_rules_and_satisfies_the_lasso_conditions():
    X, y = noisy(400, noise=2.0)
    full = RuleBoostClassifier(n_rules=30).fit(X, y)
    sparse = RuleBoostClassifier(n_rules=30, l1=20.0).fit(X, y)
    assert 0 < len(sparse.rule_list_) < len(full.rule_list_)
    assert set(sparse.rule_list_) <= set(full.rule_list_)
    signs = np.where(y == "yes", 1.0, -1.0)
    gradient = signs * sparse.loss_.slope(signs * sparse.decision_function(X))
    kept = cover(sparse.rule_list_, sparse._prediction_set(X)).transpose(gradient)
    np.testing.assert_allclose(kept, -20.0 * np.sign(sparse.coef_[0]), rtol=1e-4)
    dropped = cover(full.rule_list_, full._prediction_set(X)).transpose(gradient)
    assert np.abs(dropped).max() <= 20.0 * (1 + 1e-4)
    three = RuleBoostClassifier(n_rules=10, l1=2.0).fit(*load_iris(return_X_y=True))
    assert three.coef_.shape == (3, len(three.rule_list_))
