"""Compiled exponentials agree with the library functions wherever doubles reach."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, log_expit

from softmargin.losses import _exponentials as compiled

MARGINS = np.concatenate(
    [np.linspace(-700, 700, 2001), np.geomspace(1e-300, 700, 500), -np.geomspace(1e-300, 700, 500)]
)


def test_each_equals_the_library_function_to_nearly_all_digits():
    """Mathematical libraries differ in the last digits, so a hundred units in the last place are allowed."""
    value, slope, curvature = compiled.logistic_parts(MARGINS)
    np.testing.assert_allclose(value, -log_expit(MARGINS), rtol=2e-14)
    np.testing.assert_allclose(slope, -expit(-MARGINS), rtol=2e-14)
    np.testing.assert_allclose(curvature, expit(MARGINS) * expit(-MARGINS), rtol=3e-14)
    np.testing.assert_allclose(compiled.logistic_slope(MARGINS), slope, rtol=2e-14)
    np.testing.assert_allclose(compiled.softplus(-MARGINS), value, rtol=2e-14)
    np.testing.assert_allclose(compiled.decay(-np.abs(MARGINS)), np.exp(-np.abs(MARGINS)), rtol=2e-14)


@pytest.mark.parametrize("u", [1e300, -1e300, np.inf, -np.inf, 745.0, -745.0])
def test_limits_are_finite_or_exact(u):
    value, slope, curvature = compiled.logistic_parts(np.array([u]))
    assert value[0] == pytest.approx(max(-u, 0.0), abs=1e-300)
    assert slope[0] == pytest.approx(-expit(-u), abs=1e-300)
    assert curvature[0] == pytest.approx(0.0, abs=1e-300)


def test_missing_margins_stay_missing():
    assert all(np.isnan(part[0]) for part in compiled.logistic_parts(np.array([np.nan])))
    assert np.isnan(compiled.decay(np.array([np.nan]))[0])


@given(st.integers(0, 9), st.sampled_from([np.float32, np.float64]))
def test_shapes_strides_and_precisions(size, dtype):
    rng = np.random.default_rng(size)
    for u in (rng.normal(size=size), rng.normal(size=(size, 3)), rng.normal(size=2 * size)[::2], np.float64(0.3)):
        u = np.asarray(u, dtype=dtype)
        for part in (*compiled.logistic_parts(u), compiled.logistic_slope(u), compiled.softplus(u)):
            assert part.shape == u.shape
            assert part.dtype == dtype
        np.testing.assert_allclose(compiled.logistic_slope(u), -expit(-u), rtol=1e-6)
