"""One-dimensional work on margins: no product with the data, only vectors of length n.

Along a direction the objective ``F(t) = sum w phi(u + t du) + tilt (u + t du) + ridge/2 |beta + t dbeta|^2`` is convex,
so a root of ``F'`` found by safeguarded Newton is an exact line search. It uses derivatives and no differences of
``F``, which is what lets Newton's method reach the last digits. ``center`` is the same search along the intercept:
afterwards ``sum y_i s_i = 0`` for the slopes ``s_i``, which makes them a feasible point of the dual.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import DataTerm, Problem

__all__ = ["Ray", "center", "descend"]

Array = NDArray[np.floating[Any]]

_FLAT = 0.3  # a line search ends where the slope is this fraction of its first value


class Ray(NamedTuple):
    """A direction in margin space and the quadratic ``ridge/2 |beta + t dbeta|^2`` along it."""

    dmargins: Array
    linear: float
    square: float


def descend(problem: Problem, margins: Array, term: DataTerm, ray: Ray) -> tuple[float, DataTerm]:
    """A step length ``t > 0`` where ``F'`` is small beside ``F'(0)``, and the data term there."""
    slope = float(term.slope @ ray.dmargins) + ray.linear
    if slope >= 0:  # rounding: the direction no longer descends
        return 0.0, term

    def probe(t: float) -> tuple[float, float, DataTerm]:
        at = problem.evaluate(margins + t * ray.dmargins)
        bend = float(at.curvature @ np.square(ray.dmargins)) + ray.square
        return float(at.slope @ ray.dmargins) + ray.linear + t * ray.square, bend, at

    return _root(probe, first=1.0, target=_FLAT * abs(slope), lowest=0.0)


def center(problem: Problem, margins: Array, term: DataTerm) -> tuple[float, DataTerm]:
    """The shift of the intercept that makes it optimal for the present coefficients, and the data term there."""
    if not problem.fit_intercept:
        return 0.0, term
    y = problem.y
    slope, size = float(y @ term.slope), float(np.abs(term.slope).sum())
    target = 8 * np.finfo(np.float64).eps * size
    if abs(slope) <= target:
        return 0.0, term
    side = -math.copysign(1.0, slope)

    def probe(t: float) -> tuple[float, float, DataTerm]:
        at = problem.evaluate(margins + (t * side) * y)
        return side * float(y @ at.slope), float(at.curvature.sum()), at

    bend = float(term.curvature.sum())
    first = min(abs(slope) / bend, 1e3) if bend > 0 else 1.0
    t, at = _root(probe, first=first, target=target, lowest=0.0)
    return t * side, at


def _root(
    probe: Callable[[float], tuple[float, float, DataTerm]], *, first: float, target: float, lowest: float
) -> tuple[float, DataTerm]:
    """A root, up to ``target``, of the increasing function ``probe`` that is negative at ``lowest``."""
    low, high, t = lowest, math.inf, first
    for trial in range(80):
        value, bend, at = probe(t)
        if abs(value) <= target or t in (low, high):
            break
        if value < 0:
            low = t
        else:
            high = t
        guess = t - value / bend if bend > 0 else math.nan
        if math.isinf(high):
            t = guess if low < guess < 8 * low else 4 * low
        elif low < guess < high and trial % 3 != 2:
            t = guess
        else:
            t = 0.5 * (low + high)
    return t, at
