"""Probability scores: hand values, agreement with scikit-learn, and the interval of the calibration error."""

import warnings

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from softmargin.probability import brier, calibration_error, comparative_gkl, cross_entropy, misclassification


def test_scores_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    p, y = rng.uniform(0.01, 0.99, 50), rng.integers(0, 2, 50)
    assert cross_entropy(y, p) == pytest.approx(log_loss(y, p))
    assert brier(y, p) == pytest.approx(brier_score_loss(y, p))
    assert misclassification(y, p) == pytest.approx(np.mean((p > 0.5) != y))


def test_comparative_gkl_is_least_at_the_truth():
    truth = np.array([0.2, 0.8, 0.5])
    floor = comparative_gkl(truth, truth)
    assert floor == pytest.approx(-np.mean(truth * np.log(truth) + (1 - truth) * np.log(1 - truth)))
    assert comparative_gkl(truth, truth + 0.05) > floor


def test_sure_and_wrong_costs_infinity_and_sure_and_right_costs_nothing():
    assert cross_entropy([1], [0.0]) == np.inf
    assert cross_entropy([0, 1], [0.0, 1.0]) == 0


def test_calibration_interval_covers_zero_error_forecasts_closely():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=4000)
    y = (rng.uniform(size=4000) < p).astype(int)
    honest, inflated = calibration_error(y, p), calibration_error(y, np.sqrt(p))
    assert honest.value < 0.03
    assert inflated.interval[0] > honest.interval[1]
    assert honest.count.sum() == 4000


@pytest.mark.parametrize(
    ("p", "y", "word"), [([0.5], [0, 1], "shapes"), ([1.2], [1], "between 0 and 1"), ([0.5], [-1], "0 and 1")]
)
def test_bad_input_is_named(p, y, word):
    with pytest.raises(ValueError, match=word):
        cross_entropy(y, p)


@pytest.mark.parametrize("score", [brier, comparative_gkl, cross_entropy, misclassification])
@pytest.mark.parametrize(
    "weight", [[np.nan, 1.0], [-1.0, 2.0], [0.0, 0.0], [1.0], [1.0, 1.0, 1.0], [1e200, 1e200], ["a", "b"], [[1.0, 2.0]]]
)
def test_weights_that_make_no_mean_are_refused_by_name(score, weight):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="weight"):
            score([0, 1], [0.2, 0.7], weight)


@pytest.mark.parametrize("score", [brier, comparative_gkl, cross_entropy, misclassification])
def test_integer_weights_equal_repeated_rows(score):
    y, p = np.array([0, 1, 1]), np.array([0.2, 0.7, 0.4])
    assert score(y, p, [1, 2, 0]) == pytest.approx(score([0, 1, 1], [0.2, 0.7, 0.7]))


@pytest.mark.parametrize("score", [brier, comparative_gkl, cross_entropy, misclassification, calibration_error])
def test_no_rows_have_no_mean(score):
    with pytest.raises(ValueError, match="empty"):
        score([], [])


@pytest.mark.parametrize(
    "options",
    [
        {"level": -1},
        {"level": 1},
        {"level": np.nan},
        {"level": "high"},
        {"n_resamples": 0},
        {"n_resamples": 2.5},
        {"n_bins": 0},
        {"n_bins": None},
    ],
)
def test_options_of_the_calibration_error_are_named(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        calibration_error([0, 1], [0.2, 0.7], **options)
