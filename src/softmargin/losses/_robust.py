"""The redescending losses: members of the half-quadratic family, from the squared hinge to Welsch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from softmargin.losses._base import Array, require
from softmargin.losses._half_quadratic import HalfQuadratic
from softmargin.losses._invert import solve_increasing

__all__ = ["Cauchy", "GemanMcClure", "GeneralRobust", "TanhHinge", "Welsch"]


def _log1p_square(z: Array, root: Array, scale: float = 1.0) -> Array:
    """``log(1 + root^2 / scale)``, also where ``z = root^2`` had to be capped."""
    log = np.log1p(z / scale)
    return np.maximum(log, 2 * np.log(root) - math.log(scale)) if np.any(root > 1e8) else log


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

    def _log_weight(self, z: Array, root: Array) -> Array:
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
        return _log1p_square(z, root)

    def _log_weight(self, z: Array, root: Array) -> Array:
        return -_log1p_square(z, root)

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

    def _log_weight(self, z: Array, root: Array) -> Array:
        return -2 * _log1p_square(z, root)

    def _fade(self, z: Array) -> Array:
        return (1 - 3 * z) / (1 + z)


@dataclass(frozen=True)
class TanhHinge(HalfQuadratic):
    """``sigma^2 tanh(z)``: bounded, weights ``sech(z)^2``. Probabilities from ``sigma >= 1.4034`` on."""

    sigma: float = 1.0

    name = "tanh_hinge"

    @property
    def link_threshold(self) -> float:
        # Convex at u = 0 from 1.3843 on, but only here do the log-odds stop dipping (at f = 0.3837).
        return 1.4033598928632826

    def _ratio(self, z: Array) -> Array:
        return _per_z(np.tanh(z), z)

    def _scaled(self, z: Array, root: Array) -> Array:
        return np.tanh(z)

    def _log_weight(self, z: Array, root: Array) -> Array:
        return 2 * (math.log(2) - z - np.log1p(np.exp(-2 * z)))

    def _fade(self, z: Array) -> Array:
        return 1 - 4 * z * np.tanh(z)

    def _score(self, p: Array) -> Array:
        # Just below the threshold the log-odds rise, dip and rise: two local minima compete for p near 1/2.
        x = np.linspace(0, 8, 1601)
        falling = np.flatnonzero(np.diff(self._balance(x, np.tanh(x / 2))) < 0)
        if falling.size == 0 or falling[0] == 0:
            return super()._score(p)
        target = np.abs(logit(np.asarray(p, dtype=np.float64)))
        odds = lambda x: self._balance(x, np.tanh(x / 2))  # noqa: E731
        near = np.tanh(solve_increasing(odds, target, 0.0, x[falling[0]]) / 2)
        far = np.tanh(solve_increasing(odds, target, x[falling[-1] + 1], 1500.0) / 2)
        common = np.maximum(p, 1 - p)
        risks = [common * self._value(f) + (1 - common) * self._value(-f) for f in (near, far)]
        return np.where(p == 0.5, 0, np.sign(p - 0.5) * np.where(risks[0] <= risks[1], near, far))


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
        log = _log1p_square(z, root, 1 - p)
        return (1 - p) * log * _per_z(np.expm1(p * log), p * log)

    def _log_weight(self, z: Array, root: Array) -> Array:
        return (self._exponent - 1) * _log1p_square(z, root, 1 - self._exponent)

    def _fade(self, z: Array) -> Array:
        v = z / (1 - self._exponent)
        return (1 + v - 2 * z) / (1 + v)
