"""The Bianco-Yohai family: bounded deviances corrected so that ``expit(f)`` stays the probability.

Given a nonincreasing ``psi = rho' >= 0`` of the deviance ``l(u) = log(1 + exp(-u))``,

    L(u)  = rho(l(u)) + G(sigma(u)) + G(sigma(-u)) - G(1),          G(p) = int_0^p psi(-log v) dv,
    L'(u) = -sigma(-u) B(u),      B(u) = sigma(-u) psi(l(u)) + sigma(u) psi(l(-u))  even in u,

so the population minimiser is exactly ``logit p``. Differentiating once more and dropping the terms that ``psi' <= 0``
makes negative shows ``L'' <= kappa l''`` everywhere with

    kappa = max(psi(0) + D/2, psi(log 2) + D, psi(log 2) + E/2),    D = sup over v >= log 2 of |psi'|, E = sup |psi'|

(for ``u >= 0`` the bound is linear in ``sigma(u)`` between the first two; the third covers ``u < 0``). Hence
``kappa l - L`` is convex and ``kappa l`` plus its tangent majorises ``L``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtr

from softmargin.losses._base import Array, Loss, Majorizer, floating, require
from softmargin.losses._convex import Logistic
from softmargin.losses._exponentials import logistic_slope, softplus

__all__ = ["BiancoYohai", "CrouxHaesbroeck"]

_LOG2 = math.log(2)


class _BiancoYohaiFamily(Loss):
    """What the members share; each supplies ``rho``, ``psi``, ``psi'`` and ``G`` of the deviance."""

    family = "likelihood"
    convex = False

    @property
    def curvature_ratio(self) -> float:
        """``kappa``: this loss bends at most ``kappa`` times as much as the logistic."""
        zero = np.asarray(0.0)
        flat = float(self._psi(zero + _LOG2))
        steep, steep_right = self._steepest
        return max(float(self._psi(zero)) + steep_right / 2, flat + steep_right, flat + steep / 2)

    @property
    def curvature_bound(self) -> float:
        return self.curvature_ratio / 4

    def majorize(self, u: ArrayLike) -> Majorizer:
        """``kappa`` times the logistic loss, tilted to touch at ``u``."""
        u = floating(u)
        kappa = self.curvature_ratio
        tilt = np.asarray(self.slope(u)) + kappa * expit(-u)
        constant = self.value(u) - kappa * Logistic().value(u) - tilt * u
        return Majorizer(Logistic(), np.full_like(u, kappa), tilt, np.asarray(constant))

    def _value(self, u: Array) -> Array:
        right, wrong = softplus(-u), softplus(u)
        at_one = self._G(np.zeros_like(u))
        return np.maximum(self._rho(right) + self._G(right) + self._G(wrong) - at_one, 0)

    def _slope(self, u: Array) -> Array:
        return logistic_slope(u) * self._even(u)

    def _even(self, u: Array) -> Array:
        return expit(-u) * self._psi(softplus(-u)) + expit(u) * self._psi(softplus(u))

    def _curvature(self, u: Array) -> Array:
        right, wrong = softplus(-u), softplus(u)
        p, q = expit(u), expit(-u)
        bend = p * q * (self._psi(wrong) - self._psi(right))
        bend += np.square(p) * self._dpsi(wrong) - np.square(q) * self._dpsi(right)
        return p * q * self._even(u) - q * bend

    def _log_odds(self, f: Array) -> Array:
        return f

    def _score(self, p: Array) -> Array:
        return logit(p)

    @property
    def _steepest(self) -> tuple[float, float]:
        raise NotImplementedError

    def _rho(self, deviance: Array) -> Array:
        raise NotImplementedError

    def _psi(self, deviance: Array) -> Array:
        raise NotImplementedError

    def _dpsi(self, deviance: Array) -> Array:
        raise NotImplementedError

    def _G(self, deviance: Array) -> Array:  # noqa: N802
        """``G(exp(-deviance))``."""
        raise NotImplementedError


@dataclass(frozen=True)
class BiancoYohai(_BiancoYohaiFamily):
    """``psi(v) = (1 - v / c)_+``: deviances beyond ``c`` add nothing.

    For ``c <= log 2`` the loss is flat around 0, so scores near 0 are not determined.

    Parameters
    ----------
    c : float, default=1.0
        The deviance from which a point stops counting, positive.
    """

    c: float = 1.0

    name = "bianco_yohai"

    def __post_init__(self) -> None:
        require(0 < self.c < math.inf, "c", self.c, "positive and finite")

    @property
    def _steepest(self) -> tuple[float, float]:
        return 1 / self.c, (1 / self.c if self.c > _LOG2 else 0.0)

    def _rho(self, deviance: Array) -> Array:
        v = np.minimum(deviance, self.c)
        return v - v * (v / (2 * self.c))

    def _psi(self, deviance: Array) -> Array:
        return np.maximum(1 - deviance / self.c, 0)

    def _dpsi(self, deviance: Array) -> Array:
        return np.where(deviance < self.c, -1 / self.c, 0)

    def _G(self, deviance: Array) -> Array:  # noqa: N802
        v = np.minimum(deviance, self.c)
        return np.exp(-v) * (1 - (v + 1) / self.c) + math.exp(-self.c) / self.c


@dataclass(frozen=True)
class CrouxHaesbroeck(_BiancoYohaiFamily):
    """``psi(v) = exp(-sqrt(max(v, d)))``: a bounded deviance whose fit exists whenever the logistic one does.

    Parameters
    ----------
    d : float, default=0.5
        The deviance from which a point's pull begins to fade, positive.
    """

    d: float = 0.5

    name = "croux_haesbroeck"

    def __post_init__(self) -> None:
        require(0 < self.d < math.inf, "d", self.d, "positive and finite")

    @property
    def _steepest(self) -> tuple[float, float]:
        def steep(v: float) -> float:
            return math.exp(-math.sqrt(v)) / (2 * math.sqrt(v))

        return steep(self.d), steep(max(self.d, _LOG2))

    def _rho(self, deviance: Array) -> Array:
        root = math.sqrt(self.d)
        x = np.sqrt(np.maximum(deviance, self.d))
        beyond = math.exp(-root) * (2 * (1 + root) + self.d) - 2 * np.exp(-x) * (1 + x)
        return np.where(deviance <= self.d, deviance * math.exp(-root), beyond)

    def _psi(self, deviance: Array) -> Array:
        return np.exp(-np.sqrt(np.maximum(deviance, self.d)))

    def _dpsi(self, deviance: Array) -> Array:
        x = np.sqrt(np.maximum(deviance, self.d))
        return np.where(deviance > self.d, -np.exp(-x) / (2 * x), 0)

    def _G(self, deviance: Array) -> Array:  # noqa: N802
        x = np.sqrt(np.maximum(deviance, self.d))
        return np.exp(-deviance - x) - math.exp(0.25) * math.sqrt(math.pi) * ndtr(-math.sqrt(2) * (0.5 + x))
