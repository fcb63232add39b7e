"""Intervals cover at their level, or a warning or refusal says why they may not: n = 60 .. 2000, p/n up to one half."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from softmargin import (
    BalancingSVC,
    CoherenceClassifier,
    MarginClassifier,
    RobustSVC,
    TruncatedLogisticRegression,
    losses,
)
from softmargin.inference import Caution, Inference

MODELS = {
    "logistic": MarginClassifier(C=10.0),
    "squared": MarginClassifier(loss="least_squares"),
    "squared_hinge": MarginClassifier(loss="squared_hinge"),
    "coherence": CoherenceClassifier(C=100.0),
    "hinge": MarginClassifier(loss="hinge", tol=1e-6),
    "balanced_hinge": MarginClassifier(loss=losses.BalancedHinge(1.0), tol=1e-6),
    "steep_hinge": MarginClassifier(loss=losses.BalancedHinge(5.0), tol=1e-6),
    "welsch": RobustSVC(sigma=2.0, tol=1e-6),
    "narrow_welsch": RobustSVC(sigma=1.0, C=1000.0, tol=1e-6),
    "bent_welsch": RobustSVC(sigma=1.3, C=1000.0, tol=1e-6),
    "geman_mcclure": RobustSVC(loss="geman_mcclure", sigma=1.0, C=1000.0, tol=1e-6),
    "cauchy": RobustSVC(loss="cauchy", sigma=1.0, C=1000.0, tol=1e-6),
    "truncated": TruncatedLogisticRegression(level=3 * np.log(2), scheme=None, C=10.0, tol=1e-6),
}
SHAPES = [(60, 3, 60), (60, 12, 20), (60, 30, 6), (200, 4, 60), (200, 50, 6), (200, 100, 3), (2000, 20, 6)]


def _draw(n, p, rng, signal=1.0, intercept=0.3, correlation=0.0):
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] = correlation * X[:, j - 1] + np.sqrt(1 - correlation**2) * X[:, j]
    return X, np.where(intercept + signal * X[:, 0] + rng.logistic(size=n) > 0, 1, 0)


def coverage(model, shape, level=0.95, data=None, **options):
    """Share of the coefficients that are zero in truth whose interval holds zero, and the share of cautious answers."""
    n, p, repeats = shape
    rng = np.random.default_rng(n + p)
    inside, cautious = [], 0
    for _ in range(repeats):
        X, y = _draw(n, p, rng, **(data or {}))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                low, high = Inference(model.fit(X, y), X, y, **options).coef_interval(level)[1:].T
            except ValueError as refusal:
                cautious += "use " in str(refusal)
                continue
        cautious += any(issubclass(w.category, Caution) for w in caught)
        inside.append((low <= 0) & (high >= 0))
    return np.mean(inside) if inside else np.nan, cautious / repeats


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_sandwich_intervals_cover_or_say_why_not(name, shape):
    _covers_or_says(MODELS[name], shape)


def _covers_or_says(model, shape, **options):
    reached, cautious = coverage(model, shape, **options)
    drawn = shape[2] * (shape[1] - 1)
    chance = 2.6 * np.sqrt(0.05 * 0.95 / drawn)  # what a simulation of this size can tell
    assert cautious > 0.5 or abs(reached - 0.95) <= 0.03 + chance, (reached, cautious)


OTHER_ROWS = {"correlated": {"correlation": 0.8}, "unbalanced": {"intercept": -2.6}, "rare": {"intercept": -3.5}}


@pytest.mark.parametrize("shape", [(60, 6, 20), (100, 50, 2), (400, 8, 25)], ids=str)
@pytest.mark.parametrize("rows", OTHER_ROWS)
@pytest.mark.parametrize("name", [*MODELS, "balancing"])
def test_they_do_so_for_correlated_columns_and_unbalanced_classes_too(name, rows, shape):
    model = BalancingSVC(C=10.0, tol=1e-6) if name == "balancing" else MODELS[name]
    _covers_or_says(model, shape, data=OTHER_ROWS[rows])


@pytest.mark.parametrize("method", ["sandwich", "bootstrap"])
@pytest.mark.parametrize("name", ["hinge", "balanced_hinge"])
def test_a_fit_that_lies_on_its_corner_is_told_by_that_reason(name, method):
    X, y = _draw(400, 5, np.random.default_rng(0), intercept=-3.0)
    with pytest.warns(Caution, match="lie on a corner"):
        Inference(MODELS[name].fit(X, y), X, y, method=method, n_resamples=5, random_state=0)
    weighted = clone(MODELS[name]).set_params(class_weight="balanced").fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Caution)
        Inference(weighted, X, y, method=method, n_resamples=5, random_state=0)
    assert not any("lie on a corner" in str(w.message) for w in caught)  # the remedy is one


@pytest.mark.parametrize("method", ["sandwich", "bootstrap"])
def test_a_handful_of_rows_of_one_class_is_told_whatever_the_others_are(method):
    X, y = _draw(300, 4, np.random.default_rng(0), intercept=-4.2)
    assert 3 < y.sum() < 15
    with pytest.warns(Caution, match="the smaller class has"):
        Inference(MarginClassifier(C=10.0).fit(X, y), X, y, method=method, n_resamples=5, random_state=0)


@pytest.mark.parametrize("name", ["logistic", "squared", "squared_hinge", "coherence"])
def test_ordinary_fits_have_no_caution(name):
    for shape in [(60, 12, 10), (200, 50, 3), (2000, 20, 2)]:
        assert coverage(MODELS[name], shape)[1] == 0, shape


@pytest.mark.parametrize(("name", "shape"), [("logistic", (60, 30, 3)), ("steep_hinge", (200, 4, 3))])
def test_what_no_correction_mends_is_said(name, shape):
    assert coverage(MODELS[name], shape)[1] == 1


@pytest.mark.parametrize("method", ["sandwich", "bootstrap"])
@pytest.mark.parametrize("name", ["narrow_welsch", "bent_welsch", "geman_mcclure"])
def test_losses_whose_best_score_jumps_are_told_by_that_reason(name, method):
    X, y = _draw(300, 3, np.random.default_rng(0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", Caution)
        Inference(MODELS[name].fit(X, y), X, y, method=method, n_resamples=5, random_state=0)
    assert any("its best score jumps" in str(w.message) and "larger sigma" in str(w.message) for w in caught)


def test_corners_beyond_which_rows_are_given_up_are_not_called_steep():
    X, y = _draw(300, 3, np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", Caution)
        Inference(MODELS["truncated"].fit(X, y), X, y)


def test_the_signal_is_covered_too():
    rng, truth, inside = np.random.default_rng(0), np.array([0.3, 1.0]), []
    for _ in range(150):
        X, y = _draw(150, 4, rng)
        inference = Inference(MarginClassifier(C=100.0).fit(X, y), X, y)
        low, high = np.vstack([inference.intercept_interval(), inference.coef_interval()])[:2].T
        inside.append((low <= truth) & (truth <= high))
    reached = np.mean(inside, axis=0)
    assert np.all((reached > 0.9) & (reached < 0.995)), reached


@pytest.mark.parametrize("shape", [(60, 4, 20), (200, 12, 5)], ids=str)
def test_bootstrap_intervals_cover(shape):
    reached, cautious = coverage(MarginClassifier(), shape, method="bootstrap", n_resamples=60, random_state=0)
    assert cautious == 0
    assert 0.88 <= reached <= 1.0


def test_bootstrap_of_many_features_or_of_a_selection_is_cautious():
    assert coverage(MarginClassifier(), (60, 20, 1), method="bootstrap", n_resamples=10)[1] == 1
    assert coverage(MarginClassifier(l1_ratio=1.0), (60, 4, 1), method="bootstrap", n_resamples=10)[1] == 1


@pytest.mark.parametrize(("n", "p", "C"), [(72, 300, 0.15), (72, 300, 0.4), (300, 30, 0.05)])
def test_split_intervals_are_valid_under_pure_noise_or_refused(n, p, C):
    rng, inside, refused = np.random.default_rng(n), [], 0
    for seed in range(40):
        X, y = _draw(n, p, rng, signal=0.0)
        model = MarginClassifier(l1_ratio=1.0, C=C).fit(X, y)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", Caution)
                low, high = Inference(model, X, y, method="split", random_state=seed).coef_interval().T
        except ValueError as refusal:
            refused += "selected" in str(refusal)
            continue
        kept = np.isfinite(low)
        inside.append((low[kept] <= 0) & (high[kept] >= 0))
    found = np.concatenate(inside) if inside else np.ones(0)
    assert len(found) < 20 or found.mean() >= 0.95 - 0.03 - 2.6 * np.sqrt(0.05 * 0.95 / len(found)), found.mean()
    assert len(inside) + refused == 40


@pytest.mark.parametrize(
    "model",
    [
        MarginClassifier(l1_ratio=1.0, C=0.3),
        MarginClassifier(penalty="scad", C=0.3),
        CoherenceClassifier(l1_ratio=1.0, C=0.3),
        RobustSVC(l1_ratio=1.0, sigma=2.0, C=0.3),
        TruncatedLogisticRegression(l1_ratio=1.0, scheme=None, level=5.0, C=0.3),
        BalancingSVC(),  # selects nothing, and is split all the same
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_estimator_is_split(model):
    X, y = _draw(400, 6, np.random.default_rng(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Caution)
        low, high = Inference(model.fit(X, y), X, y, method="split", random_state=0).coef_interval()[0]
    assert 0 < low < high
