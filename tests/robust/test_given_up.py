"""A class whose rows are trusted less than rounding is a class given up: scores stay of the size of a margin."""

import warnings

import numpy as np
import pytest

from softmargin import MarginClassifier, RobustSVC


@pytest.mark.parametrize("kernel", [None, "rbf"])
@pytest.mark.parametrize("sigma", [0.05, 0.13, 0.3])
def test_a_fit_that_gives_up_rows_keeps_its_scores_and_their_calibration_in_bounds(kernel, sigma):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 4)), np.arange(40) % 4 == 0
    model = RobustSVC(sigma=sigma, kernel=kernel, probability="calibrated")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a class was given up, which the status says as well
        warnings.simplefilter("error", RuntimeWarning)
        model.fit(X, y)
        proba = model.predict_proba(X)
    assert np.abs(model.decision_function(X)).max() < 1e3
    assert np.isfinite(proba).all()


@pytest.mark.parametrize("others", [19, 20, 21, 40])
@pytest.mark.parametrize("seed", range(3))
def test_an_intercept_that_runs_away_ends_where_the_constant_classifier_does(seed, others):
    # one row against so many that flipped labels explain it: all that is left is an intercept that costs less the
    # further out it is
    X = np.random.default_rng(seed).normal(size=(1 + others, 4))
    y = np.arange(1 + others) == 0
    options = {"loss": "copas", "tol": 1e-9, "C": 0.01}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        features = MarginClassifier(**options).fit(X, y)
        kernel = MarginClassifier(kernel="linear", **options).fit(X, y)
    scale = 1 + np.abs(features.decision_function(X)).max()
    np.testing.assert_allclose(kernel.decision_function(X), features.decision_function(X), atol=1e-5 * scale)
