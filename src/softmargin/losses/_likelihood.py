"""Robust relatives of the logistic deviance ``l(u) = log(1 + exp(-u))``, each with probabilities of its own.

``Pregibon`` slows the growth of large deviances: ``rho(l)`` with ``rho(v) = v`` up to ``H`` and ``2 sqrt(H v) - H``
beyond. As ``rho`` is concave, logistic regression with weights ``rho'(l) = min(1, sqrt(H / l))`` majorises it.

``Copas`` is the likelihood of labels that go wrong: a label is found on members of the other class with probability
``g`` (``flip_rate``) and missing on members of its own with probability ``h`` (``lost_rate``, the same unless given).
With ``a = log((1 - h) / g)``,

    L(u) = -log(g + (1 - g - h) expit(u)) = l(u) - l(u + a) - log(1 - h),

a difference of two logistic losses, majorised by the first and the tangent of the second. ``probability`` speaks of the
*true* label, ``expit(f)``; the observed one is ``g + (1 - g - h) expit(f)`` (method ``observed``). Where the classes
differ, ``ByClass((Copas(g, h), Copas(h, g)))`` is the likelihood of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from softmargin._constraints import LEVEL, real_numbers
from softmargin.losses._base import Array, Loss, Majorizer, NoLink, elementwise, floating, require
from softmargin.losses._convex import Logistic
from softmargin.losses._exponentials import logistic_parts, logistic_slope, softplus
from softmargin.losses._invert import solve_increasing

__all__ = ["Copas", "Pregibon"]


@dataclass(frozen=True)
class Pregibon(Loss):
    """The deviance, growing like its square root beyond ``threshold``.

    Parameters
    ----------
    threshold : float, default=1.345**2
        The deviance (H) from which growth slows, positive; inf is the logistic loss.
    """

    threshold: float = 1.345**2

    name = "pregibon"
    family = "likelihood"
    convex = False

    def __post_init__(self) -> None:
        require(self.threshold > 0, "threshold", self.threshold, "in (0, inf]")

    @property
    def curvature_bound(self) -> float:
        return 0.25

    def majorize(self, u: ArrayLike) -> Majorizer:
        """The logistic loss weighted by ``min(1, sqrt(threshold / l))``."""
        u = floating(u)
        deviance = np.asarray(Logistic().value(u))
        weights = np.asarray(elementwise(self._weight, deviance))
        constant = np.asarray(elementwise(self._slowed, deviance)) - weights * deviance
        return Majorizer(Logistic(), weights, np.zeros_like(u), constant)

    def _weight(self, deviance: Array) -> Array:
        beyond = deviance > self.threshold
        return np.sqrt(np.where(beyond, self.threshold / np.where(beyond, deviance, 1), 1))

    def _slowed(self, deviance: Array) -> Array:
        if math.isinf(self.threshold):
            return deviance
        slow = 2 * math.sqrt(self.threshold) * np.sqrt(deviance) - self.threshold
        return np.where(deviance <= self.threshold, deviance, slow)

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        deviance, slope, curvature = logistic_parts(u)
        weight = self._weight(deviance)
        bend = np.where(deviance > self.threshold, np.square(slope) / (2 * np.where(deviance > 0, deviance, 1)), 0)
        return self._slowed(deviance), weight * slope, weight * (curvature - bend)

    def _value(self, u: Array) -> Array:
        return self._slowed(softplus(-u))

    def _slope(self, u: Array) -> Array:
        return self._weight(softplus(-u)) * logistic_slope(u)

    def _curvature(self, u: Array) -> Array:
        return self._evaluate(u)[2]

    def _log_odds(self, f: Array) -> Array:
        # p rho'(l(f)) expit(-f) = (1 - p) rho'(l(-f)) expit(f): the exact minimiser, not expit(f).
        return f + np.log(self._weight(softplus(f))) - np.log(self._weight(softplus(-f)))

    def _score(self, p: Array) -> Array:
        target = np.abs(logit(p))
        size = solve_increasing(self._log_odds, target, 0.0, 1e4)
        return np.where(p == 0.5, 0, np.sign(p - 0.5) * np.where(np.isinf(target), np.inf, size))


@dataclass(frozen=True)
class Copas(Loss):
    """Minus the log-likelihood of labels that are wrong with probability ``flip_rate``.

    Parameters
    ----------
    flip_rate : float, default=0.05
        The probability (gamma) of a flipped label, in [0, 1/2); 0 is the logistic loss.
    lost_rate : float, optional
        The probability that a member of this class carries the other label, in [0, 1/2), where that differs from
        ``flip_rate``, which is then the probability that a member of the other class carries this one.

    Examples
    --------
    >>> from softmargin.losses import Copas
    >>> loss = Copas(flip_rate=0.1)
    >>> float(loss.observed(1.0))
    0.9
    """

    flip_rate: float = 0.05
    lost_rate: float | None = None

    name = "copas"
    family = "likelihood"

    def __post_init__(self) -> None:
        require(0 <= self.flip_rate < 0.5, "flip_rate", self.flip_rate, "in [0, 1/2)")
        require(0 <= self.lost < 0.5, "lost_rate", self.lost_rate, "in [0, 1/2)")

    @property
    def lost(self) -> float:
        """The probability that a member of this class carries the other label."""
        return self.flip_rate if self.lost_rate is None else self.lost_rate

    @property
    def convex(self) -> bool:  # type: ignore[override]
        return self.flip_rate == 0

    @property
    def curvature_bound(self) -> float:
        return 0.25

    @property
    def floor(self) -> float:
        return -math.log1p(-self.lost)

    @property
    def _shift(self) -> float:
        return math.log1p(-self.lost) - math.log(self.flip_rate) if self.flip_rate else math.inf

    def observed(self, p: ArrayLike) -> Any:
        """P(observed label = +1) when the true label is +1 with probability ``p``."""
        return elementwise(lambda a: self.flip_rate + (1 - self.flip_rate - self.lost) * a, p, "p")

    def probability(self, f: ArrayLike, weight: float = 0.5) -> Any:
        """P(true label = +1) at score ``f``; class weights act on the observed labels."""
        LEVEL.check("weight", weight)
        if weight == 0.5 or self.flip_rate == 0:
            return super().probability(f, weight)
        shift = float(logit(weight))
        return elementwise(lambda a: self._true(expit(logit(self.observed(expit(a))) + shift)), f, "f")

    def score(self, p: ArrayLike, weight: float = 0.5) -> Any:
        """The population minimiser when the true label is +1 with probability ``p``; may be infinite."""
        LEVEL.check("weight", weight)
        if weight == 0.5 or self.flip_rate == 0:
            return super().score(p, weight)
        p = real_numbers("p", p)
        require(bool(np.all((p >= 0) & (p <= 1))), "p", p, "between 0 and 1")
        shift = float(logit(weight))
        return elementwise(lambda a: logit(self._true(expit(logit(self.observed(a)) - shift))), p)

    def majorize(self, u: ArrayLike) -> Majorizer:
        """The logistic loss and the tangent of minus its shifted copy."""
        u = floating(u)
        tilt = expit(-u - self._shift)
        constant = self.value(u) - Logistic().value(u) - tilt * u
        return Majorizer(Logistic(), np.ones_like(u), tilt, np.asarray(constant))

    def _true(self, observed: Array) -> Array:
        return np.clip((observed - self.flip_rate) / (1 - self.flip_rate - self.lost), 0, 1)

    def _value(self, u: Array) -> Array:
        if self.flip_rate == 0:
            return softplus(-u) + self.floor
        # l(u) - l(u + a) = log((1 + e^-u) / (1 + e^-u g/(1-h))): written so that neither side cancels.
        a = self._shift
        right = np.log1p(np.exp(-np.maximum(u, 0))) - np.log1p(np.exp(-np.maximum(u, 0) - a))
        left = a + np.log1p(np.exp(np.minimum(u, 0))) - np.log1p(np.exp(np.minimum(u, 0) + a))
        left = np.where(u + a > 0, -u + np.log1p(np.exp(np.minimum(u, 0))) - np.log1p(np.exp(-u - a)), left)
        return np.where(u >= 0, right, left) + self.floor

    def _slope(self, u: Array) -> Array:
        return logistic_slope(u) - logistic_slope(u + self._shift)

    def _curvature(self, u: Array) -> Array:
        a = self._shift
        return expit(u) * expit(-u) - expit(u + a) * expit(-u - a)

    def _log_odds(self, f: Array) -> Array:
        if self.lost != self.flip_rate:
            raise NoLink(
                f"{self!r} is the likelihood of one class's labels: its score speaks of both only beside the other "
                "class's, ByClass((Copas(g, h), Copas(h, g)))."
            )
        return f

    def _score(self, p: Array) -> Array:
        return logit(p)
