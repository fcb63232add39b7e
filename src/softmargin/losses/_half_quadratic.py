"""Redescending losses: squared hinges whose pull fades for points far on the wrong side.

With residual ``s = (1 - u)_+`` and ``z = (s / sigma)^2`` each is ``phi(s) = g(s^2)`` with ``g`` concave, so that

    phi(s) = min over w in [0, 1] of  w s^2 + sigma^2 rho(w),      attained at the weight  w = g'(s^2) = phi'(s) / (2s)

and a squared-hinge fit with those weights majorises the loss (half-quadratic form). The slope is ``-2 s w`` and the
curvature ``2 h`` with ``h = w + 2 z dw/dz``. All satisfy ``phi(s) ~ s^2`` at 0 and tend to the squared hinge as
``sigma`` grows (``sigma=inf`` is allowed). The minimiser at probability ``p`` solves

    logit p = 2 artanh f + log w(1 + f) - log w(1 - f),

which is increasing in ``f``, and hence a probability, only from a threshold of ``sigma`` on: where the loss turns
convex at ``u = 0`` (a little later for ``TanhHinge``). Below it the minimiser jumps at ``p = 1/2`` and the score
carries the class alone; at the tie itself ``score`` is 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from softmargin.losses._base import Array, Loss, Majorizer, NoLink, elementwise, floating, require
from softmargin.losses._exponentials import decay
from softmargin.losses._invert import solve_increasing
from softmargin.losses._piecewise import SquaredHinge

__all__ = ["HalfQuadratic"]


_ORDINARY = (1e-100, 1e100)  # scales whose squares are ordinary numbers


class HalfQuadratic(Loss):
    """What the redescending losses share; each supplies four functions of ``z = (s / sigma)^2``.

    ``_ratio`` is ``phi / s^2`` for ``z <= 1``, ``_scaled`` is ``phi / sigma^2`` beyond, ``_log_weight`` is ``log w``
    and ``_fade`` is ``h / w``. As ``z`` is capped before it overflows, they may look at ``root = s / sigma`` too.
    """

    sigma: float

    family = "robust"
    convex = False

    def __post_init__(self) -> None:
        require(self.sigma > 0, "sigma", self.sigma, "in (0, inf]")

    @property
    def link_threshold(self) -> float:
        """The least ``sigma`` at which scores determine probabilities."""
        raise NotImplementedError

    @property
    def curvature_bound(self) -> float:
        return 2.0

    def weight(self, u: ArrayLike) -> Array:
        """The weight in [0, 1] of a point at margin ``u`` in the equivalent squared-hinge fit."""
        return elementwise(lambda a: self._weight(np.maximum(1 - a, 0)), u)

    def _trust(self, u: Array) -> Array:
        return self._weight(np.maximum(1 - u, 0))

    def majorize(self, u: ArrayLike) -> Majorizer:
        """The squared hinge with this loss's weights: it touches at ``u`` and lies above everywhere."""
        u = floating(u)
        weights = np.asarray(self.weight(u))
        constant = self.value(u) - weights * np.square(np.maximum(1 - u, 0))
        return Majorizer(SquaredHinge(), weights, np.zeros_like(u), np.asarray(constant))

    def _z(self, residual: Array) -> Array:
        cap = math.sqrt(np.finfo(residual.dtype).max) * 2.0**-28  # z / (1 - shape) must not overflow either
        return np.square(np.minimum(residual / self.sigma, cap))

    def _weight(self, residual: Array) -> Array:
        return decay(self._log_weight(self._z(residual), residual / self.sigma))

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        residual = np.maximum(1 - u, 0)
        z = self._z(residual)
        weight = decay(self._log_weight(z, residual / self.sigma))
        curvature = np.where(u < 1, 2 * self._bent(z, weight), 0)
        return self._cost(residual, z), -2 * residual * weight, curvature

    def _value(self, u: Array) -> Array:
        residual = np.maximum(1 - u, 0)
        return self._cost(residual, self._z(residual))

    def _slope(self, u: Array) -> Array:
        residual = np.maximum(1 - u, 0)
        return -2 * residual * self._weight(residual)

    def _curvature(self, u: Array) -> Array:
        residual = np.maximum(1 - u, 0)
        return np.where(u < 1, 2 * self._bent(self._z(residual), self._weight(residual)), 0)

    def _cost(self, residual: Array, z: Array) -> Array:
        if _ORDINARY[0] < self.sigma < _ORDINARY[1] and residual.dtype == np.float64:
            return (self.sigma * self.sigma) * self._scaled(z, residual / self.sigma)
        # Each branch is used where it neither overflows nor cancels: sigma^2 may be infinite, s^2 may be too.
        near = np.square(residual) * self._ratio(np.minimum(z, 1))
        if math.isinf(self.sigma):
            return near
        return np.where(z <= 1, near, (self.sigma * self.sigma) * self._scaled(np.maximum(z, 1), residual / self.sigma))

    def _bent(self, z: Array, weight: Array) -> Array:
        return np.where(weight > 0, weight * self._fade(z), 0)

    def _log_odds(self, f: Array) -> Array:
        if self.sigma < self.link_threshold:
            raise NoLink(
                f"{self!r} gives the class only: its population minimiser jumps at p = 1/2 while sigma is below "
                f"{self.link_threshold:.6g}. Raise sigma, or calibrate the scores with ScoreCalibrator."
            )
        return self._balance(2 * np.arctanh(np.clip(f, -1, 1)), np.clip(f, -1, 1))

    def _balance(self, twice_artanh: Array, f: Array) -> Array:
        plus, minus = 1 + f, 1 - f
        far = self._log_weight(self._z(plus), plus / self.sigma)
        return twice_artanh + far - self._log_weight(self._z(minus), minus / self.sigma)

    def _score(self, p: Array) -> Array:
        # For p > 1/2 the log-odds cross logit p > 0 once on f > 0, upwards, whether or not they dip below 0 first.
        size = solve_increasing(lambda x: self._balance(x, np.tanh(x / 2)), np.abs(logit(p)), 0.0, 1500.0)
        return np.where(p == 0.5, 0, np.sign(p - 0.5) * np.tanh(size / 2))

    def _ratio(self, z: Array) -> Array:
        raise NotImplementedError

    def _scaled(self, z: Array, root: Array) -> Array:
        raise NotImplementedError

    def _log_weight(self, z: Array, root: Array) -> Array:
        raise NotImplementedError

    def _fade(self, z: Array) -> Array:
        raise NotImplementedError
