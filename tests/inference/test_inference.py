"""Intervals around fitted classifiers: coverage, the bootstrap, links, and honest refusals."""

import numpy as np
import pytest

from softmargin import MarginClassifier, losses
from softmargin.inference import Inference
from softmargin.losses import NoLink


def _draw(n, rng):
    X = rng.normal(size=(n, 2))
    return X, np.where(0.5 + X[:, 0] + rng.logistic(size=n) > 0, 1, 0)


def test_logistic_intervals_cover_the_truth():
    rng = np.random.default_rng(0)
    truth, inside = np.array([0.5, 1.0, 0.0]), []
    for _ in range(150):
        X, y = _draw(300, rng)
        intervals = Inference(MarginClassifier(C=100.0).fit(X, y), X, y)
        low, high = np.vstack([intervals.intercept_interval(), intervals.coef_interval()]).T
        inside.append((low < truth) & (truth < high))
    coverage = np.mean(inside, axis=0)
    assert np.all(coverage > 0.89), coverage
    assert np.all(coverage <= 1.0)


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


def test_repeated_rows_equal_integer_weights():
    X, y = _draw(80, np.random.default_rng(4))
    count = np.random.default_rng(5).integers(1, 4, size=80)
    rows = np.repeat(np.arange(80), count)
    weighted = Inference(MarginClassifier(tol=1e-12).fit(X, y, sample_weight=count), X, y, sample_weight=count)
    repeated = Inference(MarginClassifier(tol=1e-12).fit(X[rows], y[rows]), X[rows], y[rows])
    np.testing.assert_allclose(weighted.covariance_, repeated.covariance_, rtol=1e-5)


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


@pytest.mark.parametrize(
    ("model", "word"),
    [(MarginClassifier(kernel="rbf"), "kernel"), (MarginClassifier(), "level")],
)
def test_bad_requests_are_named(model, word):
    X, y = _draw(60, np.random.default_rng(8))
    with pytest.raises(ValueError, match=word):
        Inference(model.fit(X, y), X, y).coef_interval(2.0)


def test_losses_without_a_link_have_no_probability_interval():
    X, y = _draw(60, np.random.default_rng(9))
    with pytest.raises(NoLink, match="link"):
        Inference(MarginClassifier(loss="hinge").fit(X, y), X, y).probability_interval(X)
