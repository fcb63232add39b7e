"""Probability scores: hand values, agreement with scikit-learn, and the interval of the calibration error."""

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
