"""Intervals around fitted classifiers: coverage, the bootstrap, links, and honest refusals."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import (
    BalancingSVC,
    CompositeLeastSquaresClassifier,
    MarginClassifier,
    MulticategorySVC,
    ProbabilisticSVC,
    RuleBoostClassifier,
    TunedClassifier,
    losses,
)
from softmargin.inference import Inference
from softmargin.losses import NoLink


def _draw(n, rng):
    X = rng.normal(size=(n, 2))
    return X, np.where(0.5 + X[:, 0] + rng.logistic(size=n) > 0, 1, 0)


def test_balancing_loss_coverage_in_the_normal_model():
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(60):
        y = np.where(rng.random(300) < 0.5, 1, -1)
        X = (y + rng.normal(size=300))[:, None]
        model = MarginClassifier(loss=losses.BalancedHinge(1.0), C=1.0, tol=1e-8).fit(X, y)
        low, high = Inference(model, X, y).coef_interval()[0]
        inside.append(low < 0.5546410924069722 < high)
    assert np.mean(inside) > 0.85


def test_bootstrap_agrees_with_the_sandwich():
    X, y = _draw(400, np.random.default_rng(2))
    model = MarginClassifier().fit(X, y)
    plain = Inference(model, X, y)
    boot = Inference(model, X, y, method="bootstrap", n_resamples=200, random_state=0)
    np.testing.assert_allclose(boot.standard_errors_, plain.standard_errors_, rtol=0.3)


def test_decision_and_probability_intervals_are_consistent():
    X, y = _draw(200, np.random.default_rng(3))
    model = MarginClassifier().fit(X, y)
    inference = Inference(model, X, y)
    f, scores, p = (
        model.decision_function(X),
        inference.decision_interval(X, 0.9),
        inference.probability_interval(X, 0.9),
    )
    assert np.all((scores[:, 0] < f) & (f < scores[:, 1]))
    np.testing.assert_allclose(p, losses.Logistic().probability(scores))
    assert np.all(np.diff(inference.decision_interval(X, 0.99)) > np.diff(scores))
    assert list(inference.summary().index) == ["intercept", "x0", "x1"]


def test_no_intercept_means_no_variance_of_the_intercept():
    X, y = _draw(100, np.random.default_rng(6))
    inference = Inference(MarginClassifier(fit_intercept=False).fit(X, y), X, y)
    assert inference.standard_errors_[0] == 0
    assert np.all(inference.standard_errors_[1:] > 0)


def test_selected_models_are_refused_or_split():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 8))
    y = np.where(2 * X[:, 0] + rng.logistic(size=300) > 0, 1, 0)
    model = MarginClassifier(C=0.05, l1_ratio=1.0).fit(X, y)
    with pytest.raises(ValueError, match="split"):
        Inference(model, X, y)
    low, high = Inference(model, X, y, method="split", random_state=0).coef_interval().T
    assert low[0] > 0
    assert np.isnan(high).sum() > 0


def test_a_level_outside_its_range_is_named():
    X, y = _draw(60, np.random.default_rng(8))
    with pytest.raises(ValueError, match="level"):
        Inference(MarginClassifier(C=100.0).fit(X, y), X, y).coef_interval(2.0)


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (MarginClassifier(kernel="rbf"), "kernel=None"),
        (ProbabilisticSVC(), "ProbabilisticSVC"),
        (CompositeLeastSquaresClassifier(), "CompositeLeastSquaresClassifier"),
        (MulticategorySVC(), "MulticategorySVC"),
        (RuleBoostClassifier(n_rules=2), "RuleBoostClassifier"),
        (BalancingSVC(balance=np.inf), "BalancingSVC|constraint"),
        (TunedClassifier(MarginClassifier(), grid={"C": [1.0]}), "TunedClassifier"),
        (LogisticRegression(), "LogisticRegression"),
        (make_pipeline(StandardScaler(), MarginClassifier()), "last step"),
        (MarginClassifier(l1_ratio=0.5), "split"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_classifiers_without_intervals_are_refused_by_name(model, word):
    X, y = _draw(60, np.random.default_rng(8))
    with pytest.raises(ValueError, match=word):
        Inference(model.fit(X, y), X, y)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"y": np.zeros(59)}, "one label per row"),
        ({"y": np.full(60, 7)}, "got 7"),
        ({"X": np.zeros((60, 3))}, "3 columns"),
        ({"sample_weight": np.ones(5)}, "sample_weight"),
        ({"sample_weight": np.r_[1.0, np.zeros(59)]}, "one class only"),
        ({"method": "magic"}, "method"),
        ({"n_resamples": 0}, "n_resamples"),
    ],
)
def test_rows_other_than_those_of_the_fit_are_named(change, word):
    X, y = _draw(60, np.random.default_rng(8))
    given = {"estimator": MarginClassifier().fit(X, y), "X": X, "y": y} | change
    with pytest.raises(ValueError, match=word):
        Inference(**given)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 3.0}])
def test_class_and_sample_weights_act_together_as_repeated_rows_do(class_weight):
    X, y = _draw(80, np.random.default_rng(4))
    count = np.random.default_rng(5).integers(0, 4, size=80)
    rows = np.repeat(np.arange(80), count)
    model = MarginClassifier(tol=1e-12, class_weight=class_weight)
    weighted = Inference(model.fit(X, y, sample_weight=count), X, y, sample_weight=count)
    repeated = Inference(model.fit(X[rows], y[rows]), X[rows], y[rows])
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-5)
    np.testing.assert_allclose(weighted.coef_interval(), repeated.coef_interval(), rtol=1e-5)


def test_resamples_count_weights_as_repeated_rows():
    X, y = _draw(60, np.random.default_rng(6))
    count = np.full(60, 4.0)
    options = {"method": "bootstrap", "n_resamples": 150, "random_state": 0}
    model = MarginClassifier()
    weighted = Inference(model.fit(X, y, sample_weight=count), X, y, sample_weight=count, **options)
    rows = np.repeat(np.arange(60), 4)
    repeated = Inference(model.fit(X[rows], y[rows]), X[rows], y[rows], **options)
    assert weighted.df_ == repeated.df_
    np.testing.assert_allclose(weighted.standard_errors_, repeated.standard_errors_, rtol=0.35)  # twice if not counted
    few = np.where(y == 1, 1.0, 1e-3)
    with pytest.raises(ValueError, match="whole rows"):
        Inference(model.fit(X, y, sample_weight=few), X, y, sample_weight=few, **options)
    many = np.full(60, 1e20)
    with pytest.raises(ValueError, match="one by one"):
        Inference(model.set_params(C=1e-20).fit(X, y, sample_weight=many), X, y, sample_weight=many, **options)


def test_losses_without_a_link_have_no_probability_interval():
    X, y = _draw(250, np.random.default_rng(9))
    inference = Inference(MarginClassifier(loss="hinge", C=10.0).fit(X, y), X, y)
    with pytest.raises(NoLink, match="link"):
        inference.probability_interval(X)


def test_features_collinear_beyond_rounding_are_refused_by_name():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(36, 3))
    X[:, 2] = 3.5  # a second intercept
    y = np.arange(36) % 2
    with pytest.raises(ValueError, match=r"collinear|not positive definite"):
        Inference(MarginClassifier(loss="least_squares", C=1e16).fit(X, y), X, y)
