"""Smooth convex losses with textbook forms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from softmargin.losses._base import Array, Loss, require
from softmargin.losses._exponentials import logistic_parts, logistic_slope, softplus

__all__ = ["Exponential", "LeastSquares", "Logistic", "PowerMargin"]


@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + exp(-u))``: the deviance of logistic regression, ``P(y = 1) = expit(f)``.

    Examples
    --------
    >>> from softmargin.losses import Logistic
    >>> float(Logistic().probability(0.0))
    0.5
    """

    name = "logistic"
    family = "convex"

    @property
    def curvature_bound(self) -> float:
        return 0.25

    @property
    def probability_modulus(self) -> float:
        return 2.0

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        return logistic_parts(u)

    def _value(self, u: Array) -> Array:
        return softplus(-u)

    def _slope(self, u: Array) -> Array:
        return logistic_slope(u)

    def _curvature(self, u: Array) -> Array:
        slope = logistic_slope(np.abs(u))  # even in u; on this side the slope keeps its digits
        return -slope * (1 + slope)

    def _log_odds(self, f: Array) -> Array:
        return f

    def _score(self, p: Array) -> Array:
        return logit(p)

    def _conjugate(self, v: Array) -> Array:
        return minus_entropy(-v)

    def _trust(self, u: Array) -> Array:
        return expit(u)


def minus_entropy(w: Array) -> Array:
    """``w log w + (1 - w) log(1 - w)`` on [0, 1] with ``0 log 0 = 0``, inf outside."""
    inside = (w >= 0) & (w <= 1)
    w = np.clip(w, 0, 1)
    middle = (w > 0) & (w < 1)
    safe = np.where(middle, w, 0.5)
    entropy = np.where(middle, safe * np.log(safe) + (1 - safe) * np.log1p(-safe), 0)
    return np.where(inside, entropy, np.inf)


@dataclass(frozen=True)
class Exponential(Loss):
    """``exp(-rate u)``: the loss of AdaBoost, ``P(y = 1) = expit(2 rate f)``.

    Margins below ``-709 / rate`` cost more than a double can hold and are reported as inf.

    Parameters
    ----------
    rate : float, default=1.0
        Decay per unit of margin, positive.
    """

    rate: float = 1.0

    name = "exponential"
    family = "convex"

    def __post_init__(self) -> None:
        require(0 < self.rate < math.inf, "rate", self.rate, "positive and finite")

    @property
    def probability_modulus(self) -> float:
        return 2.0

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        value = np.exp(-self.rate * u)
        return value, -self.rate * value, (self.rate * self.rate) * value

    def _value(self, u: Array) -> Array:
        return np.exp(-self.rate * u)

    def _slope(self, u: Array) -> Array:
        return -self.rate * np.exp(-self.rate * u)

    def _curvature(self, u: Array) -> Array:
        return (self.rate * self.rate) * np.exp(-self.rate * u)

    def _log_odds(self, f: Array) -> Array:
        return 2 * self.rate * f

    def _score(self, p: Array) -> Array:
        return logit(p) / (2 * self.rate)

    def _conjugate(self, v: Array) -> Array:
        w = -v / self.rate
        safe = np.where(w > 0, w, 1)
        return np.where(w > 0, safe * np.log(safe) - safe, np.where(w == 0, 0, np.inf))


@dataclass(frozen=True)
class LeastSquares(Loss):
    """``(1 - u)^2``: least squares on labels -1 and +1, ``P(y = 1) = (1 + f) / 2`` clipped to [0, 1]."""

    name = "least_squares"
    family = "convex"

    @property
    def curvature_bound(self) -> float:
        return 2.0

    @property
    def probability_modulus(self) -> float:
        return 4.0

    def _value(self, u: Array) -> Array:
        return np.square(1 - u)

    def _slope(self, u: Array) -> Array:
        return 2 * (u - 1)

    def _curvature(self, u: Array) -> Array:
        return np.full_like(u, 2)

    def _log_odds(self, f: Array) -> Array:
        return 2 * np.arctanh(np.clip(f, -1, 1))

    def _score(self, p: Array) -> Array:
        return 2 * p - 1

    def _conjugate(self, v: Array) -> Array:
        return v + np.square(v) / 4


@dataclass(frozen=True)
class PowerMargin(Loss):
    """``2 |(1 - u) / 2|^power``: between the bounded constraint machine (1) and flatter-than-square losses.

    Its population minimiser stays in (-1, 1) and gives probabilities: ``logit p = (power - 1) logit((1 + f) / 2)``.
    ``power=2`` is half of least squares; below 2 the curvature is infinite at ``u = 1``.

    Parameters
    ----------
    power : float, default=2.0
        Exponent, greater than 1 and at most 100, beyond which doubles do not hold the losses of ordinary scores; at 1
        the loss is ``BalancedHinge(1.0)``.
    """

    power: float = 2.0

    name = "power_margin"
    family = "convex"

    def __post_init__(self) -> None:
        allowed = "greater than 1 and at most 100 (at 1 the loss is BalancedHinge(1.0))"
        require(1 < self.power <= 100, "power", self.power, allowed)

    @property
    def curvature_bound(self) -> float:
        return 1.0 if self.power == 2 else math.inf

    def _value(self, u: Array) -> Array:
        return 2 * np.abs((1 - u) / 2) ** self.power

    def _slope(self, u: Array) -> Array:
        half = (1 - u) / 2
        return -self.power * np.sign(half) * np.abs(half) ** (self.power - 1)

    def _curvature(self, u: Array) -> Array:
        return (self.power * (self.power - 1) / 2) * np.abs((1 - u) / 2) ** (self.power - 2)

    def _log_odds(self, f: Array) -> Array:
        return (2 * (self.power - 1)) * np.arctanh(np.clip(f, -1, 1))

    def _score(self, p: Array) -> Array:
        return np.tanh(logit(p) / (2 * (self.power - 1)))

    def _conjugate(self, v: Array) -> Array:
        a = self.power
        return v + 2 * (a - 1) * (np.abs(v) / a) ** (a / (a - 1))
