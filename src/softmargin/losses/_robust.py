"""Redescending losses: squared hinges whose pull fades for points far on the wrong side.

With residual ``s = (1 - u)_+`` and ``z = (s / sigma)^2`` each is ``phi(s) = g(s^2)`` with ``g`` concave, so that

    phi(s) = min over w in [0, 1] of  w s^2 + sigma^2 rho(w),      attained at the weight  w = g'(s^2) = phi'(s) / (2s)

and a squared-hinge fit with those weights majorises the loss (half-quadratic form). The slope is ``-2 s w`` and the
curvature ``2 h`` with ``h = w + 2 z dw/dz``. All satisfy ``phi(s) ~ s^2`` at 0 and tend to the squared hinge as
``sigma`` grows (``sigma=inf`` is allowed). The minimiser at probability ``p`` solves

    logit p = 2 artanh f + log w(1 + f) - log w(1 - f),

which is increasing in ``f``, and hence a probability, only when the loss is convex at ``u = 0``: from a threshold of
``sigma`` on. Below it the minimiser jumps at ``p = 1/2`` and the score carries the class alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logit

from softmargin.losses._base import Array, Loss, Majorizer, NoLink, elementwise, floating, require
from softmargin.losses._invert import solve_increasing
from softmargin.losses._piecewise import SquaredHinge

__all__ = ["Cauchy", "GemanMcClure", "GeneralRobust", "HalfQuadratic", "TanhHinge", "Welsch"]


class HalfQuadratic(Loss):
    """What the redescending losses share; each supplies four functions of ``z = (s / sigma)^2``.

    ``_ratio`` is ``phi / s^2`` for ``z <= 1``, ``_scaled`` is ``phi / sigma^2`` beyond, ``_log_weight`` is ``log w``
    and ``_fade`` is ``h / w``.
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
        return elementwise(lambda a: np.exp(self._log_weight(self._z(np.maximum(1 - a, 0)))), u)

    def majorize(self, u: ArrayLike) -> Majorizer:
        """The squared hinge with this loss's weights: it touches at ``u`` and lies above everywhere."""
        u = floating(u)
        weights = np.asarray(self.weight(u))
        constant = self.value(u) - weights * np.square(np.maximum(1 - u, 0))
        return Majorizer(SquaredHinge(), weights, np.zeros_like(u), np.asarray(constant))

    def _z(self, residual: Array) -> Array:
        cap = math.sqrt(np.finfo(residual.dtype).max) / 2
        return np.square(np.minimum(residual / self.sigma, cap))

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        residual = np.maximum(1 - u, 0)
        z = self._z(residual)
        weight = np.exp(self._log_weight(z))
        curvature = np.where(u < 1, 2 * self._bent(z, weight), 0).astype(u.dtype)
        return self._cost(residual, z), -2 * residual * weight, curvature

    def _value(self, u: Array) -> Array:
        residual = np.maximum(1 - u, 0)
        return self._cost(residual, self._z(residual))

    def _slope(self, u: Array) -> Array:
        residual = np.maximum(1 - u, 0)
        return -2 * residual * np.exp(self._log_weight(self._z(residual)))

    def _curvature(self, u: Array) -> Array:
        z = self._z(np.maximum(1 - u, 0))
        return np.where(u < 1, 2 * self._bent(z, np.exp(self._log_weight(z))), 0)

    def _cost(self, residual: Array, z: Array) -> Array:
        # Each branch is used where it neither overflows nor cancels: sigma^2 may be infinite, s^2 may be too.
        near = np.square(residual) * self._ratio(np.minimum(z, 1))
        if math.isinf(self.sigma):
            return near
        return np.where(z <= 1, near, self.sigma**2 * self._scaled(np.maximum(z, 1), residual / self.sigma))

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
        return twice_artanh + self._log_weight(self._z(1 + f)) - self._log_weight(self._z(1 - f))

    def _score(self, p: Array) -> Array:
        # For p > 1/2 the log-odds cross logit p > 0 once on f > 0, upwards, whether or not they dip below 0 first.
        size = solve_increasing(lambda x: self._balance(x, np.tanh(x / 2)), np.abs(logit(p)), 0.0, 1500.0)
        return np.where(p == 0.5, 0, np.sign(p - 0.5) * np.tanh(size / 2))

    def _ratio(self, z: Array) -> Array:
        raise NotImplementedError

    def _scaled(self, z: Array, root: Array) -> Array:
        raise NotImplementedError

    def _log_weight(self, z: Array) -> Array:
        raise NotImplementedError

    def _fade(self, z: Array) -> Array:
        raise NotImplementedError


def _per_z(function: Array, z: Array) -> Array:
    """``function / z``, 1 at ``z = 0`` where every ``function`` here behaves as ``z``."""
    return np.where(z != 0, function / np.where(z != 0, z, 1), 1)


@dataclass(frozen=True)
class Welsch(HalfQuadratic):
    """``sigma^2 (1 - exp(-z))``: bounded, weights ``exp(-z)``. Probabilities from ``sigma >= sqrt(2)`` on.

    Examples
    --------
    >>> from softmargin.losses import Welsch
    >>> float(Welsch(sigma=2.0).weight(1.0))
    1.0
    """

    sigma: float = 1.0

    name = "welsch"

    @property
    def link_threshold(self) -> float:
        return math.sqrt(2)

    def _ratio(self, z: Array) -> Array:
        return _per_z(-np.expm1(-z), z)

    def _scaled(self, z: Array, root: Array) -> Array:
        return -np.expm1(-z)

    def _log_weight(self, z: Array) -> Array:
        return -z

    def _fade(self, z: Array) -> Array:
        return 1 - 2 * z


@dataclass(frozen=True)
class Cauchy(HalfQuadratic):
    """``sigma^2 log(1 + z)``: unbounded but redescending. Probabilities from ``sigma >= 1`` on."""

    sigma: float = 1.0

    name = "cauchy"

    @property
    def link_threshold(self) -> float:
        return 1.0

    def _ratio(self, z: Array) -> Array:
        return _per_z(np.log1p(z), z)

    def _scaled(self, z: Array, root: Array) -> Array:
        return np.where(root > 1e8, 2 * np.log(root), np.log1p(z))

    def _log_weight(self, z: Array) -> Array:
        return -np.log1p(z)

    def _fade(self, z: Array) -> Array:
        return (1 - z) / (1 + z)


@dataclass(frozen=True)
class GemanMcClure(HalfQuadratic):
    """``s^2 / (1 + z)``: bounded, weights ``(1 + z)^-2``. Probabilities from ``sigma >= sqrt(3)`` on."""

    sigma: float = 1.0

    name = "geman_mcclure"

    @property
    def link_threshold(self) -> float:
        return math.sqrt(3)

    def _ratio(self, z: Array) -> Array:
        return 1 / (1 + z)

    def _scaled(self, z: Array, root: Array) -> Array:
        return 1 / (1 + 1 / z)

    def _log_weight(self, z: Array) -> Array:
        return -2 * np.log1p(z)

    def _fade(self, z: Array) -> Array:
        return (1 - 3 * z) / (1 + z)


@dataclass(frozen=True)
class TanhHinge(HalfQuadratic):
    """``sigma^2 tanh(z)``: bounded, weights ``sech(z)^2``. Probabilities from ``sigma >= 1.3843`` on."""

    sigma: float = 1.0

    name = "tanh_hinge"

    @property
    def link_threshold(self) -> float:
        return 1.38433872028001  # 1 / sqrt(z) at the inflection z tanh z = 1/4

    def _ratio(self, z: Array) -> Array:
        return _per_z(np.tanh(z), z)

    def _scaled(self, z: Array, root: Array) -> Array:
        return np.tanh(z)

    def _log_weight(self, z: Array) -> Array:
        return 2 * (math.log(2) - z - np.log1p(np.exp(-2 * z)))

    def _fade(self, z: Array) -> Array:
        return 1 - 4 * z * np.tanh(z)


@dataclass(frozen=True)
class GeneralRobust(HalfQuadratic):
    """``sigma^2 ((1-p)/p) [(1 + z/(1-p))^p - 1]``: one knob from the squared hinge to Welsch (one-sided Barron).

    ``shape`` 1 is the squared hinge, 1/2 a pseudo-Huber hinge, 0 Cauchy, -1 Geman-McClure (with ``sigma sqrt(2)``),
    -inf Welsch. Redescending below 1/2, convex from 1/2 on.

    Parameters
    ----------
    shape : float, default=0.0
        The exponent ``p``, at most 1; -inf is allowed.
    sigma : float, default=1.0
        Residual scale, in (0, inf].
    """

    shape: float = 0.0
    sigma: float = 1.0

    name = "general_robust"

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.shape <= 1, "shape", self.shape, "at most 1")

    @property
    def convex(self) -> bool:  # type: ignore[override]
        return self.shape >= 0.5 or math.isinf(self.sigma)

    @property
    def link_threshold(self) -> float:
        if self.shape >= 0.5:
            return 0.0
        if math.isinf(self.shape):
            return math.sqrt(2)
        return math.sqrt((1 - 2 * self.shape) / (1 - self.shape))

    @property
    def _exponent(self) -> float:
        # At these ends the general formula already equals its limits, the squared hinge and Welsch, to rounding.
        return min(max(self.shape, -1e16), 1 - 2.0**-53)

    def _ratio(self, z: Array) -> Array:
        p = self._exponent
        v = z / (1 - p)
        log = np.log1p(v)
        return _per_z(log, v) * _per_z(np.expm1(p * log), p * log)

    def _scaled(self, z: Array, root: Array) -> Array:
        p = self._exponent
        log = np.maximum(np.log1p(z / (1 - p)), 2 * np.log(root) - math.log(1 - p))
        return (1 - p) * log * _per_z(np.expm1(p * log), p * log)

    def _log_weight(self, z: Array) -> Array:
        return (self._exponent - 1) * np.log1p(z / (1 - self._exponent))

    def _fade(self, z: Array) -> Array:
        v = z / (1 - self._exponent)
        return (1 + v - 2 * z) / (1 + v)
