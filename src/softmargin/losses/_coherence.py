"""The coherence loss: a logistic loss that becomes the hinge as its temperature falls.

With temperature ``rho`` and cost ``u`` (the margin asked for), and ``l`` the logistic loss,

    V(z) = rho log(1 + exp((u - z) / rho)) = rho l((z - u) / rho),     [u - z]_+ <= V <= [u - z]_+ + rho log 2.

``C = u V / V(0)`` and ``L = V / V(0)`` are the same loss in other units. The population minimiser is common to the
three and, unlike the hinge's, determines the probability:

    logit p(f) = log(1 + exp((f - u) / rho)) - log(1 + exp(-(f + u) / rho)),

a smooth soft threshold of ``f`` at ``u``, in units of ``rho``. Its inverse is
``f = rho (x + asinh(sinh(x) exp(u / rho)))`` with ``x = logit(p) / 2``; both are evaluated in the log domain, for
temperatures down to 1e-6 and beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from softmargin.losses._base import Array, Loss, require
from softmargin.losses._convex import minus_entropy
from softmargin.losses._exponentials import logistic_parts, logistic_slope

__all__ = ["Coherence"]

_ASYMPTOTIC = 18.0  # beyond this log argument asinh(e^a / 2) = a + exp(-2a) to double precision


@dataclass(frozen=True)
class Coherence(Loss):
    """The coherence loss: logistic at ``cost=0``, the hinge as ``temperature`` goes to 0.

    Parameters
    ----------
    temperature : float, default=1.0
        Width of the rounded corner (rho), positive.
    cost : float, default=1.0
        The margin asked for (u), at least 0, and positive for ``scale="C"``.
    scale : {"C", "V", "L"}, default="C"
        Units: ``V`` has slope -1 at minus infinity, ``C`` costs ``cost`` at margin 0, ``L`` costs 1 there.

    Examples
    --------
    >>> from softmargin.losses import Coherence
    >>> float(Coherence(temperature=0.5).value(0.0))
    1.0
    """

    temperature: float = 1.0
    cost: float = 1.0
    scale: str = "C"

    name = "coherence"
    family = "convex"

    def __post_init__(self) -> None:
        remedy = "positive and finite (for temperature 0 use Hinge)"
        require(0 < self.temperature < math.inf, "temperature", self.temperature, remedy)
        require(isinstance(self.scale, str) and self.scale in ("C", "V", "L"), "scale", self.scale, "'C', 'V' or 'L'")
        require(0 <= self.cost < math.inf, "cost", self.cost, "at least 0 and finite")
        allowed = "positive for scale='C' (the loss vanishes at 0; use scale='V' or 'L')"
        require(self.cost > 0 or self.scale != "C", "cost", self.cost, allowed)

    @property
    def factor(self) -> float:
        """What ``V`` is multiplied by in the chosen scale."""
        if self.scale == "V":
            return 1.0
        at_zero = self.cost + self.temperature * math.log1p(math.exp(-self.cost / self.temperature))
        return (self.cost if self.scale == "C" else 1.0) / at_zero

    @property
    def curvature_bound(self) -> float:
        return self.factor / (4 * self.temperature)

    @property
    def probability_modulus(self) -> float:
        return 2 * self.temperature * self.factor  # theorem 9

    def relaxations(self) -> Iterator[Coherence]:
        """Temperatures falling by half decades from ``cost`` (from 1 without it), while well above this one."""
        temperature = self.cost or 1.0
        while temperature > 5 * self.temperature:
            yield replace(self, temperature=temperature)
            temperature /= 10**0.5

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        value, slope, curvature = logistic_parts((u - self.cost) / self.temperature)
        factor = self.factor
        value *= factor * self.temperature
        curvature *= factor / self.temperature
        return value, (slope if factor == 1 else slope * factor), curvature

    def _value(self, u: Array) -> Array:
        short = self.cost - u
        tail = self.temperature * np.log1p(np.exp(-np.abs(short) / self.temperature))
        return self.factor * (np.maximum(short, 0) + tail)

    def _slope(self, u: Array) -> Array:
        return self.factor * logistic_slope((u - self.cost) / self.temperature)

    def _curvature(self, u: Array) -> Array:
        e = np.exp(-np.abs(u - self.cost) / self.temperature)
        return (self.factor / self.temperature) * (e / np.square(1 + e))

    def _log_odds(self, f: Array) -> Array:
        rho, cost = self.temperature, self.cost
        size = np.abs(f)
        t = (size - cost) / rho
        far = np.exp(-(size + cost) / rho)
        # The plain difference of softplus terms loses all digits for small f; this form cancels nothing.
        near = np.log1p(np.exp(np.minimum(t, 30)) * -np.expm1(-2 * size / rho) / (1 + far))
        beyond = t + np.log1p(np.exp(-np.abs(t))) - np.log1p(far)
        return np.sign(f) * np.where(t > 30, beyond, near)

    def _score(self, p: Array) -> Array:
        rho, cost = self.temperature, self.cost
        rare = np.where(p < 0.5, p, 1 - p)
        log_rare, log_common = np.log(rare), np.log1p(-rare)
        log_sinh = np.log1p(-2 * rare) - (log_rare + log_common) / 2
        half = (log_common - log_rare) / 2
        a = log_sinh + cost / rho
        large = cost + rho * (log_sinh + np.exp(-2 * a) + half)
        small = rho * (np.arcsinh(np.exp(np.minimum(a, _ASYMPTOTIC)) / 2) + half)
        size = np.where(rare == 0, np.inf, np.where(a > _ASYMPTOTIC, large, small))
        return np.where(p == 0.5, 0, np.copysign(size, p - 0.5))

    def _conjugate(self, v: Array) -> Array:
        w = -v / self.factor
        return self.factor * (self.temperature * minus_entropy(w) - self.cost * np.clip(w, 0, 1))
