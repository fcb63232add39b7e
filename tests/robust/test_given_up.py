"""A class whose rows are trusted less than rounding is a class given up: scores stay of the size of a margin."""

import warnings

import numpy as np
import pytest

from softmargin import RobustSVC


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
