"""The hinge and its relatives: losses made of straight and quadratic pieces.

Straight ones (``Hinge``, ``BalancedHinge``) have one corner at ``u = 1`` with slopes ``-1`` and ``balance`` on its two
sides; their minimiser is ``sign(2p - 1)`` and carries no probability. Rounding the corner off
(``HuberizedHinge``, the Moreau envelope of the hinge) or squaring it (``SquaredHinge``, ``ModifiedHuber``) brings
the probability back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from softmargin.losses._base import Array, Kink, Loss, NoLink, require
from softmargin.losses._softened import Softened, softenings

__all__ = ["BalancedHinge", "Hinge", "HuberizedHinge", "ModifiedHuber", "SquaredHinge"]


@dataclass(frozen=True)
class Hinge(Loss):
    """``max(0, 1 - u)``: the support vector machine. It determines the class, never the probability."""

    name = "hinge"
    family = "convex"
    smooth = False

    @property
    def kink(self) -> Kink:
        return Kink(1.0, -1.0, 0.0)

    def _value(self, u: Array) -> Array:
        return np.maximum(1 - u, 0)

    def _slope(self, u: Array) -> Array:
        return -(u < 1).astype(u.dtype)

    def _curvature(self, u: Array) -> Array:
        return np.zeros_like(u)

    def _log_odds(self, f: Array) -> Array:
        raise NoLink(
            "The hinge loss determines the class only: its population minimiser is sign(2p - 1). "
            "Use ProbabilisticSVC (bracketing), ScoreCalibrator, or a smooth loss such as Coherence."
        )

    def _score(self, p: Array) -> Array:
        return np.sign(2 * p - 1)

    def _conjugate(self, v: Array) -> Array:
        return np.where((v >= -1) & (v <= 0), v, np.inf)


@dataclass(frozen=True)
class BalancedHinge(Loss):
    """``max(1 - u, balance (u - 1))``: a hinge on which well-classified points pull too (g_v of the balancing SVM).

    Parameters
    ----------
    balance : float, default=1.0
        Slope beyond the margin, in [0, inf]: 0 is the hinge, 1 the absolute deviation, inf forbids ``u > 1``.
    """

    balance: float = 1.0

    name = "balanced_hinge"
    family = "convex"
    smooth = False

    def __post_init__(self) -> None:
        require(self.balance >= 0, "balance", self.balance, "in [0, inf]")

    @property
    def kink(self) -> Kink:
        return Kink(1.0, -1.0, float(self.balance))

    def _value(self, u: Array) -> Array:
        residual = 1 - u
        if math.isinf(self.balance):
            return np.where(residual >= 0, residual, np.inf)
        return np.where(residual >= 0, residual, -self.balance * residual)

    def _slope(self, u: Array) -> Array:
        return np.where(u < 1, -1, self.balance).astype(u.dtype) if self.balance else -(u < 1).astype(u.dtype)

    def _curvature(self, u: Array) -> Array:
        return np.zeros_like(u)

    def _log_odds(self, f: Array) -> Array:
        raise NoLink(
            "The balanced hinge determines the class only: its population minimiser is sign(2p - 1) for every balance. "
            "Use ScoreCalibrator on its scores, or a smooth loss such as Coherence or PowerMargin."
        )

    def _score(self, p: Array) -> Array:
        return np.sign(2 * p - 1)

    def _conjugate(self, v: Array) -> Array:
        return np.where((v >= -1) & (v <= self.balance), v, np.inf)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``max(0, 1 - u)^2``: the L2-loss support vector machine, ``P(y = 1) = (1 + f) / 2`` on ``|f| <= 1``."""

    name = "squared_hinge"
    family = "convex"

    @property
    def curvature_bound(self) -> float:
        return 2.0

    @property
    def probability_modulus(self) -> float:
        return 4.0

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        residual = np.maximum(1 - u, 0)
        return np.square(residual), -2 * residual, 2 * (u < 1).astype(u.dtype)

    def _value(self, u: Array) -> Array:
        return np.square(np.maximum(1 - u, 0))

    def _slope(self, u: Array) -> Array:
        return -2 * np.maximum(1 - u, 0)

    def _curvature(self, u: Array) -> Array:
        return 2 * (u < 1).astype(u.dtype)

    def smoothings(self) -> Iterator[Softened]:
        return softenings(((2.0, 1.0),))

    def _log_odds(self, f: Array) -> Array:
        return 2 * np.arctanh(np.clip(f, -1, 1))

    def _score(self, p: Array) -> Array:
        return 2 * p - 1

    def _conjugate(self, v: Array) -> Array:
        return np.where(v <= 0, v + np.square(v) / 4, np.inf)


@dataclass(frozen=True)
class ModifiedHuber(Loss):
    """``max(0, 1 - u)^2`` continued by its tangent ``-4u`` below ``-1``: the extended Gini loss of boosting."""

    name = "modified_huber"
    family = "convex"

    @property
    def curvature_bound(self) -> float:
        return 2.0

    def _value(self, u: Array) -> Array:
        return np.where(u < -1, -4 * u, np.square(np.clip(1 - u, 0, 2)))

    def _slope(self, u: Array) -> Array:
        return -2 * np.clip(1 - u, 0, 2)

    def _curvature(self, u: Array) -> Array:
        return 2 * (np.abs(u) <= 1).astype(u.dtype)

    def smoothings(self) -> Iterator[Softened]:
        return softenings(((2.0, 1.0), (-2.0, -1.0)))

    def _log_odds(self, f: Array) -> Array:
        return 2 * np.arctanh(np.clip(f, -1, 1))

    def _score(self, p: Array) -> Array:
        return 2 * p - 1

    def _conjugate(self, v: Array) -> Array:
        return np.where((v >= -4) & (v <= 0), v + np.square(v) / 4, np.inf)


@dataclass(frozen=True)
class HuberizedHinge(Loss):
    """The hinge with its corner rounded over a width ``delta``: the loss of the hybrid huberised SVM.

    ``0`` above 1, ``(1 - u)^2 / (2 delta)`` down to ``1 - delta``, then ``1 - u - delta / 2``. Its minimiser is
    ``2p - 1`` near ``p = 1/2`` and ``1 - delta (1 - p) / p`` beyond, so it has a probability; for ``delta < 1``
    scores with ``|f| < 1 - delta`` all mean 1/2.

    Parameters
    ----------
    delta : float, default=2.0
        Width of the rounding, positive.
    """

    delta: float = 2.0

    name = "huberized_hinge"
    family = "convex"

    def __post_init__(self) -> None:
        require(0 < self.delta < math.inf, "delta", self.delta, "positive and finite")

    @property
    def curvature_bound(self) -> float:
        return 1 / self.delta

    def _value(self, u: Array) -> Array:
        residual = np.maximum(1 - u, 0)
        rounded = np.minimum(residual, self.delta)
        return rounded * (rounded / (2 * self.delta)) + (residual - rounded)

    def _slope(self, u: Array) -> Array:
        return -np.clip((1 - u) / self.delta, 0, 1)

    def _curvature(self, u: Array) -> Array:
        return ((u > 1 - self.delta) & (u <= 1)).astype(u.dtype) / self.delta

    def smoothings(self) -> Iterator[Softened]:
        return softenings(((1 / self.delta, 1.0), (-1 / self.delta, 1 - self.delta)))

    def _log_odds(self, f: Array) -> Array:
        size = np.minimum(np.abs(f), 1)
        inner = 2 * np.arctanh(np.minimum(size, max(self.delta - 1, 0)))
        outer = math.log(self.delta) - np.log1p(-size)
        return np.sign(f) * np.where(size <= abs(self.delta - 1), inner if self.delta > 1 else 0, outer)

    def _score(self, p: Array) -> Array:
        rare = np.minimum(p, 1 - p)
        inner = 1 - 2 * rare
        outer = 1 - self.delta * rare / (1 - rare)
        return np.sign(2 * p - 1) * np.where(inner <= self.delta - 1, inner, outer)

    def _conjugate(self, v: Array) -> Array:
        return np.where((v >= -1) & (v <= 0), v + (self.delta / 2) * np.square(v), np.inf)
