"""Losses that stop counting: a convex loss capped at a level, so that hopeless points lose their pull altogether.

A cap is a concave function of the loss, ``min(l, t)``, and equally a difference of convex functions. Both readings
give a convex bound that touches at the current margins:

* *drop and refit* (``Truncated``, ``TruncatedLogistic``): keep ``l`` on the retained points, the constant ``t`` on the
  others. It is the lower of the two bounds and stops after finitely many rounds.
* *tilt* (``TruncatedHinge``, ``Psi``): keep the hinge everywhere and subtract the tangent of what lies above the cap,
  a linear term on the points given up. A box-constrained dual serves it without dropping rows.

A point at the corner, up to rounding, counts as retained. The cap destroys part of the probability: for the logistic
loss the population minimiser is ``logit p`` while ``|logit p| < c_t`` and infinite beyond, where ``c_t`` solves

    e^c log(1 + e^-c) + log(1 + e^c) = t        (0 for t <= 2 log 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit

from softmargin.losses._base import TIE, Array, Kink, Loss, Majorizer, NoLink, floating, require
from softmargin.losses._convex import Logistic
from softmargin.losses._invert import solve_increasing
from softmargin.losses._piecewise import Hinge

__all__ = ["Psi", "Truncated", "TruncatedHinge", "TruncatedLogistic"]

_LOG2 = math.log(2)

Mask = NDArray[np.bool_]


class _Capped(Loss):
    """``min(base(u), cap)``: what the truncated losses share."""

    base: Loss

    family = "truncated"
    convex = False
    smooth = False

    @property
    def cap(self) -> float:
        """The largest cost of a point."""
        raise NotImplementedError

    @property
    def at(self) -> float:
        """The margin below which points are given up."""
        raise NotImplementedError

    @property
    def kinks(self) -> tuple[Kink, ...]:
        if math.isinf(self.at):
            return self.base.kinks
        return (Kink(self.at, 0.0, float(self.base.slope(self.at))), *self.base.kinks)

    def retained(self, u: ArrayLike) -> Mask:
        """True where the point still counts."""
        return self._retained(floating(u))

    def majorize(self, u: ArrayLike) -> Majorizer:
        """The base loss on the retained points, the cap on the others (drop and refit)."""
        u = floating(u)
        kept = self._retained(u)
        constant = np.where(kept, 0, self.cap if math.isfinite(self.cap) else 0)
        return Majorizer(self.base, kept.astype(u.dtype), np.zeros_like(u), constant)

    def _retained(self, u: Array) -> Mask:
        return self.base.value(u) <= self.cap * (1 + TIE)

    def _evaluate(self, u: Array) -> tuple[Array, Array, Array]:
        value, slope, curvature = self.base._evaluate(u)
        kept = self._retained(u)
        return np.minimum(value, self.cap), slope * kept, curvature * kept

    def _value(self, u: Array) -> Array:
        return np.minimum(self.base._value(u), self.cap)

    def _slope(self, u: Array) -> Array:
        return np.where(self._retained(u), self.base._slope(u), 0)

    def _curvature(self, u: Array) -> Array:
        return np.where(self._retained(u), self.base._curvature(u), 0)


@dataclass(frozen=True)
class Truncated(_Capped):
    """Any convex loss capped at its value at the margin ``at``: ``min(base(u), base(at))``.

    Parameters
    ----------
    base : Loss, default=Logistic()
        The convex loss to cap.
    at : float, default=-1.0
        The margin below which points are given up, at most 0; -inf is the base loss itself.

    Examples
    --------
    >>> from softmargin.losses import SquaredHinge, Truncated
    >>> float(Truncated(SquaredHinge(), at=-1.0).value(-100.0))
    4.0
    """

    base: Loss = Logistic()  # noqa: RUF009
    at: float = -1.0

    name = "truncated"

    def __post_init__(self) -> None:
        require(isinstance(self.base, Loss) and self.base.convex, "base", self.base, "a convex Loss")
        require(self.at <= 0, "at", self.at, "at most 0 (-inf for no truncation)")

    @property
    def cap(self) -> float:
        return math.inf if math.isinf(self.at) else float(self.base.value(self.at))

    def _log_odds(self, f: Array) -> Array:
        if math.isinf(self.at):
            return self.base._log_odds(f)
        raise NoLink(
            f"{self!r} estimates probabilities near 1/2 at best: beyond, its minimiser is infinite. Use "
            "TruncatedLogisticRegression (schemes 1-3), ProbabilisticSVC, or ScoreCalibrator on the scores."
        )

    def _score(self, p: Array) -> Array:
        if math.isinf(self.at):
            return self.base._score(p)
        return super()._score(p)


@dataclass(frozen=True)
class TruncatedLogistic(_Capped):
    """``min(log(1 + exp(-u)), level)``: logistic regression that gives up on points costing more than ``level``.

    Parameters
    ----------
    level : float, default=2 log 2
        The cap (t), at least log 2 so that no correctly classified point is given up; inf is the logistic loss.

    Examples
    --------
    >>> from softmargin.losses import TruncatedLogistic
    >>> round(TruncatedLogistic().at, 6)
    -1.098612
    """

    level: float = 2 * _LOG2

    name = "truncated_logistic"
    base = Logistic()

    def __post_init__(self) -> None:
        require(self.level >= _LOG2, "level", self.level, "at least log(2) = 0.693147 (below, right points are cut)")

    @property
    def cap(self) -> float:
        return self.level

    @property
    def at(self) -> float:
        """The margin (s) below which points are given up: ``log(1 + exp(-s)) = level``."""
        return -self.level - math.log(-math.expm1(-self.level)) if math.isfinite(self.level) else -math.inf

    @property
    def estimable(self) -> float:
        """The half-width (c_t) of the scores that determine probabilities: 0 for ``level <= 2 log 2``."""
        return _estimable(self.level)

    def _retained(self, u: Array) -> Mask:
        return u >= self.at - TIE * (1 + abs(self.at))

    def _slope(self, u: Array) -> Array:
        slope = self.base._slope(u)
        slope *= self._retained(u)  # no slope is infinite
        return slope

    def _log_odds(self, f: Array) -> Array:
        if math.isinf(self.level):
            return f
        raise NoLink(
            f"{self!r} determines probabilities only for scores within {self.estimable:.4g} of 0: beyond, its "
            "minimiser is infinite. Use TruncatedLogisticRegression, whose scheme 1, 2 or 3 completes them."
        )

    def _score(self, p: Array) -> Array:
        score = logit(p)
        return np.where(np.abs(score) < self.estimable, score, np.where(p == 0.5, 0, np.sign(p - 0.5) * np.inf))


def _estimable(level: float) -> float:
    if level <= 2 * _LOG2:
        return 0.0
    if math.isinf(level):
        return math.inf

    def peak(c: Array) -> Array:
        e = np.exp(-c)
        return np.where(e > 0, np.log1p(e) / np.where(e > 0, e, 1), 1) + c + np.log1p(e)

    return float(solve_increasing(peak, np.asarray(level), 0.0, level))


class _CappedHinge(Loss):
    """``steepness * min((1 - u)_+, 1 - at)``, a difference of two hinges with corners at 1 and ``at``."""

    at: float
    steepness: float = 1.0

    family = "truncated"
    convex = False
    smooth = False

    @property
    def cap(self) -> float:
        """The largest cost of a point."""
        return self.steepness * (1 - self.at)

    @property
    def kinks(self) -> tuple[Kink, ...]:
        cut = () if math.isinf(self.at) else (Kink(self.at, 0.0, -self.steepness),)
        return (*cut, Kink(1.0, -self.steepness, 0.0))

    def retained(self, u: ArrayLike) -> Mask:
        """True where the point still counts."""
        return self._retained(floating(u))

    def _retained(self, u: Array) -> Mask:
        return u >= self.at - TIE * (1 + abs(self.at))

    def majorize(self, u: ArrayLike) -> Majorizer:
        """The hinge everywhere, tilted by ``steepness`` on the points given up (difference of convex functions)."""
        u = floating(u)
        given_up = (~self._retained(u)).astype(u.dtype)
        shift = self.at if math.isfinite(self.at) else 0.0
        steepness = np.full_like(u, self.steepness)
        return Majorizer(Hinge(), steepness, self.steepness * given_up, -self.steepness * shift * given_up)

    def _value(self, u: Array) -> Array:
        return self.steepness * np.clip(1 - u, 0, 1 - self.at)

    def _slope(self, u: Array) -> Array:
        return -self.steepness * (self._retained(u) & (u < 1)).astype(u.dtype)

    def _curvature(self, u: Array) -> Array:
        return np.zeros_like(u)

    def _log_odds(self, f: Array) -> Array:
        raise NoLink(
            f"{self!r} determines the class only: its population minimiser is sign(2p - 1). "
            "Use ProbabilisticSVC (bracketing over class weights; method='psi' for Psi), or ScoreCalibrator."
        )

    def _score(self, p: Array) -> Array:
        return np.sign(2 * p - 1)


@dataclass(frozen=True)
class TruncatedHinge(_CappedHinge):
    """``min((1 - u)_+, 1 - at)``: the robust support vector machine, deaf to points beyond the margin ``at``.

    Parameters
    ----------
    at : float, default=-1.0
        The margin (s) below which points are given up, at most 0; -inf is the hinge.
    """

    at: float = -1.0

    name = "truncated_hinge"

    def __post_init__(self) -> None:
        require(self.at <= 0, "at", self.at, "at most 0 (-inf for the hinge)")


@dataclass(frozen=True)
class Psi(_CappedHinge):
    """``2 min((1 - u)_+, 1)``: psi-learning; a wrong side costs 2 wherever it is."""

    name = "psi"
    at = 0.0
    steepness = 2.0
