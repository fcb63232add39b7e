"""Newton's step of a nonconvex fit is refused, without a word, where its equations have no solution."""

import warnings

import numpy as np
import pytest

from softmargin import RobustSVC


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1.0])
def test_rows_that_no_kernel_tells_apart_are_fitted_without_a_warning_of_arithmetic(scale):
    X, y = scale * (np.arange(19.0) % 4)[:, None], np.arange(19) % 2
    for sigma in (0.5, 1.0, 2.0, 6.5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the fitted score is constant
            warnings.simplefilter("error", RuntimeWarning)
            model = RobustSVC(kernel="rbf", gamma=10.0, sigma=sigma).fit(X, y, sample_weight=np.full(19, 1e-3))
        assert np.isfinite(model.decision_function(X)).all()
