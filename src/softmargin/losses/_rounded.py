"""A loss with its corners rounded, and what rounding costs, certified.

A corner at ``a`` with slopes ``p < q`` is replaced within ``|t| < h``, ``t = u - a``, by a parabola:

    phi_h(u) = phi(u) + (q - p) ((t + h)^2 / 4h - max(t, 0)),     slope p + (q - p)(t + h) / 2h.

That slope ``s`` is a subgradient of ``phi`` at the corner itself, so ``phi*(s) = s a - phi(a)``: the slopes of the
rounded fit are a point of the true dual, and the true duality gap is that of the rounded problem's residual plus

    slack = sum_i w_i (phi(u_i) - phi(a) - s_i (u_i - a))  over the rows within h of the corner,

which falls like ``h^2``: fewer rows, each for less.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softmargin._constraints import POSITIVE
from softmargin.losses._base import Array, Loss, require

__all__ = ["Rounded", "can_round"]


def can_round(loss: Loss) -> bool:
    """Whether a loss is convex with corners between straight pieces, which is what the certificate asks for."""
    require(isinstance(loss, Loss), "loss", loss, "a Loss")
    if not loss.convex or loss.smooth or not loss.kinks:
        return False
    if not all(np.isfinite(kink.jump) for kink in loss.kinks):  # a wall is no corner
        return False
    near = np.array([kink.at + side for kink in loss.kinks for side in (-1e-3, 1e-3)])
    return bool(np.all(np.asarray(loss.curvature(near)) == 0))


@dataclass(frozen=True)
class Rounded(Loss):
    """``base`` with every corner rounded over ``half_width``."""

    base: Loss
    half_width: float

    def __post_init__(self) -> None:
        require(isinstance(self.base, Loss), "base", self.base, "a Loss")
        POSITIVE.check("half_width", self.half_width)

    @property
    def floor(self) -> float:
        return self.base.floor

    def _value(self, u: Array) -> Array:
        value = np.array(self.base.value(u))
        for kink in self.base.kinks:
            t = u - kink.at
            value += kink.jump * np.where(np.abs(t) < self.half_width, self._bulge(t), 0.0)
        return value

    def _slope(self, u: Array) -> Array:
        slope = np.array(self.base.slope(u))
        for kink in self.base.kinks:
            t = u - kink.at
            inside = kink.left_slope + kink.jump * (t + self.half_width) / (2 * self.half_width)
            slope = np.where(np.abs(t) < self.half_width, inside, slope)
        return slope

    def _curvature(self, u: Array) -> Array:
        total = np.array(self.base.curvature(u))
        for kink in self.base.kinks:
            total += np.where(np.abs(u - kink.at) < self.half_width, kink.jump / (2 * self.half_width), 0.0)
        return total

    def _bulge(self, t: Array) -> Array:
        return (t + self.half_width) ** 2 / (4 * self.half_width) - np.maximum(t, 0)

    def slack(self, u: Array) -> Array:
        """What the value of the base exceeds ``s u - base*(s)`` by, at the slopes ``s`` of the rounded loss."""
        slope, value, slack = self._slope(u), np.asarray(self.base.value(u)), np.zeros(len(u))
        for kink in self.base.kinks:
            t = u - kink.at
            over = value - float(self.base.value(kink.at)) - slope * t
            slack = np.where(np.abs(t) < self.half_width, np.maximum(over, 0.0), slack)
        return slack
