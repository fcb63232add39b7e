"""The channels of a block side by side reach what each of them reaches alone."""

from __future__ import annotations

import numpy as np
import pytest

from softmargin.losses import get
from softmargin.solvers.rules.learners import GivenColumns
from softmargin.solvers.rules.leveraging import Block, WeightedRisk, correct
from softmargin.solvers.rules.side_by_side import Channels

TOL = 1e-10


def _drawn(case: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labels, weights, columns and smoothing of a block whose first column is constant."""
    n, channels = 150, 5
    y = np.where(rng.integers(0, channels, n) == np.arange(channels)[:, None], 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, n)
    H = np.column_stack([np.ones(n), np.where(rng.random((n, 2)) < 0.4, 1.0, -1.0)])
    if case == "a column twice":
        H[:, 2] = H[:, 1]
    elif case == "a column tells a class":
        H[:, 1] = y[0]
    elif case == "unequal weights":
        weights = 10 ** rng.uniform(-4, 4, n)
    return y, weights, H, np.array([0.0, 0.5, 0.5])


@pytest.mark.parametrize("case", ["plain", "a column twice", "a column tells a class", "unequal weights"])
@pytest.mark.parametrize("loss", ["logistic", "exponential", "modified_huber", "least_squares"])
def test_channels_side_by_side_reach_what_each_reaches_alone(loss, case):
    rng = np.random.default_rng(0)
    y, weights, H, smoothing = _drawn(case, rng)
    loss, coef = get(loss), rng.normal(size=(len(y), 3))
    channels = Channels(loss, y, weights, H, smoothing)
    risks = [WeightedRisk(loss, labels, weights) for labels in y]
    points = [
        risk.at(risk.y * (rng.normal(scale=0.5, size=len(H)) + H @ a)) for risk, a in zip(risks, coef, strict=True)
    ]
    together = channels.correct(points, coef, TOL)
    for risk, block, point, a in zip(risks, together, points, coef, strict=True):
        alone = correct(risk, GivenColumns(H, range(3)), Block(a, point), smoothing=smoothing, tol=TOL)
        assert block.converged == alone.converged
        assert block.edge <= max(TOL, 2 * alone.edge)
        assert block.point.margins == pytest.approx(alone.point.margins, rel=1e-6, abs=1e-6)
        moved = point.margins + risk.y * (H @ (block.coef - a))
        assert block.point.margins == pytest.approx(moved, rel=1e-9, abs=1e-9)
        for kept, anew in zip(
            (block.point.value, block.point.slope, block.point.curvature),
            loss.evaluate(block.point.margins),
            strict=True,
        ):
            assert kept == pytest.approx(anew)


def test_gradients_of_channels_are_slopes_of_their_costs():
    rng = np.random.default_rng(1)
    y, weights, H, smoothing = _drawn("plain", rng)
    loss, coef = get("logistic"), rng.normal(size=(len(y), 3))
    channels = Channels(loss, y, weights, H, smoothing)
    points = [WeightedRisk(loss, labels, weights).at(labels * (H @ a)) for labels, a in zip(y, coef, strict=True)]

    def cost(k: int, a: np.ndarray) -> float:
        both = loss.value(a) + loss.value(-a)
        return float(weights @ loss.value(y[k] * (H @ a)) + smoothing @ both)

    gradients, small = channels.gradients(points, coef), 1e-5
    for k, a in enumerate(coef):
        slopes = [(cost(k, a + small * e) - cost(k, a - small * e)) / (2 * small) for e in np.eye(3)]
        assert gradients[k] == pytest.approx(slopes, rel=1e-5, abs=1e-5)
