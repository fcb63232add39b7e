"""Piecewise quadratic losses softened for a continuation: they end at the loss, are convex, and save steps."""

import numpy as np
import pytest
from scipy.integrate import quad

from softmargin import MarginClassifier
from softmargin.losses import HuberizedHinge, ModifiedHuber, SquaredHinge

LOSSES = [SquaredHinge(), ModifiedHuber(), HuberizedHinge(0.5), HuberizedHinge(2.0)]


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_smoothings_are_averages_over_logistic_shifts_and_end_at_the_loss(loss):
    u = np.array([-30.0, -3.0, -1.0, 0.0, 0.9, 1.0, 1.5, 4.0])
    stages = list(loss.smoothings())
    soft = stages[1]
    for point, value in zip(u, soft.value(u), strict=True):
        density = lambda s: 1 / (soft.width * (2 + 2 * np.cosh(s / soft.width)))  # noqa: E731
        averaged = quad(lambda s, p=point, d=density: d(s) * float(loss.value(p + s)), -20, 20, points=[0], limit=200)[
            0
        ]
        assert value == pytest.approx(averaged, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(stages[-1].value(u), loss.value(u), rtol=1e-5, atol=1e-9)
    h = 1e-5
    np.testing.assert_allclose((soft.value(u + h) - soft.value(u - h)) / (2 * h), soft.slope(u), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((soft.slope(u + h) - soft.slope(u - h)) / (2 * h), soft.curvature(u), atol=1e-5)
    assert np.all(soft.curvature(u) >= 0)


@pytest.mark.parametrize("weight", [1.0, 100.0, 1e4])
@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
@pytest.mark.parametrize("loss", LOSSES[:3], ids=repr)
def test_heavy_rows_of_one_class_are_fitted_within_the_default_limits(loss, l1_ratio, weight):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 8)) @ rng.normal(size=(8, 150)) + 0.5 * rng.normal(size=(100, 150))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = (X[:, 0] + rng.normal(size=100) > 0.8).astype(int)
    model = MarginClassifier(loss=loss, l1_ratio=l1_ratio, class_weight={0: weight, 1: 1.0}).fit(X, y)
    assert model.solution_.converged
