"""Newton's step of a nonconvex fit is refused, without a word, where its equations have no solution."""

import warnings

import numpy as np
import pytest

from softmargin import RobustSVC
from softmargin.solvers.ridge.indefinite_step import n_negative


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1.0])
def test_rows_that_no_kernel_tells_apart_are_fitted_without_a_warning_of_arithmetic(scale):
    X, y = scale * (np.arange(19.0) % 4)[:, None], np.arange(19) % 2
    for sigma in (0.5, 1.0, 2.0, 6.5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that the fitted score is constant
            warnings.simplefilter("error", RuntimeWarning)
            model = RobustSVC(kernel="rbf", gamma=10.0, sigma=sigma).fit(X, y, sample_weight=np.full(19, 1e-3))
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("loss", ["welsch", "cauchy", "geman_mcclure"])
def test_kernel_and_feature_steps_are_refused_at_the_same_points(loss):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(63, 13)), np.arange(63) % 3 == 0
        X[:, 0] = X[:, 10]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # a constant classifier may cost less
            features, kernel = (RobustSVC(loss=loss, C=0.12, tol=1e-9, kernel=k).fit(X, y) for k in (None, "linear"))
        assert kernel.solution_.objective == pytest.approx(features.solution_.objective, rel=1e-7)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_pivots_count_negative_eigenvalues(dtype):
    for seed in range(20):
        A = np.random.default_rng(seed).normal(size=(9, 9)).astype(dtype)
        A = A + A.T
        assert n_negative(A) == np.count_nonzero(np.linalg.eigvalsh(A) < 0)
