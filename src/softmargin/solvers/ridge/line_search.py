"""One-dimensional work on margins: no product with the data, only vectors of length n.

Along a direction the objective ``F(t) = sum w phi(u + t du) + tilt (u + t du) + ridge/2 |beta + t dbeta|^2`` is convex,
so a root of ``F'`` is an exact line search. It uses slopes and no differences of ``F``, which is what lets Newton's
method reach the last digits. ``center`` is the same search along the intercept: afterwards ``sum y_i s_i = 0`` for the
slopes ``s_i``, which makes them a feasible point of the dual.
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
_LONGEST = 1e10  # times a Newton step
_BALANCED = 1e-12  # the slopes of an optimal intercept sum to this fraction of their sizes


class Ray(NamedTuple):
    """A direction in margin space and the quadratic ``ridge/2 |beta + t dbeta|^2`` along it."""

    dmargins: Array
    linear: float
    square: float


def descend(problem: Problem, margins: Array, term: DataTerm, ray: Ray) -> tuple[float, Array, DataTerm]:
    """A step length ``t > 0`` where ``F'`` is small beside ``F'(0)``, with the margins and the data term there."""
    slope = float(term.slope @ ray.dmargins) + ray.linear
    if slope >= 0:  # rounding: the direction no longer descends
        return 0.0, margins, term

    def probe(t: float) -> tuple[float, Array, DataTerm]:
        moved = margins + t * ray.dmargins
        at = DataTerm(problem, moved)
        return float(at.slope @ ray.dmargins) + ray.linear + t * ray.square, moved, at

    t, moved, at = _root(probe, slope, first=1.0, target=-_FLAT * slope)
    if t > _LONGEST:  # a slope that never rises is rounding, or a direction without an end
        return 0.0, margins, term
    return t, moved, at


def center(
    problem: Problem, margins: Array, term: DataTerm, mass: float | None = None
) -> tuple[float, Array, DataTerm]:
    """The shift of the intercept that makes it optimal for the present coefficients, with margins and data term there.

    ``mass`` is a guess of the total curvature, if one is known.
    """
    if not problem.fit_intercept:
        return 0.0, margins, term
    y = problem.y
    slope = float(y @ term.slope)
    target = _BALANCED * float(np.abs(term.slope).sum())
    if abs(slope) <= target:
        return 0.0, margins, term
    side = -math.copysign(1.0, slope)

    def probe(t: float) -> tuple[float, Array, DataTerm]:
        moved = margins + (t * side) * y
        at = DataTerm(problem, moved)
        return side * float(y @ at.slope), moved, at

    mass = float(term.curvature.sum()) if mass is None else mass
    first = min(abs(slope) / mass, 1e3) if mass > 0 else 1.0
    t, margins, term = _root(probe, -abs(slope), first=first, target=target)
    return t * side, margins, term


def _root(
    probe: Callable[[float], tuple[float, Array, DataTerm]], value: float, *, first: float, target: float
) -> tuple[float, Array, DataTerm]:
    """A root, up to ``target``, of an increasing function whose value at 0 is negative: secants, kept in a bracket."""
    low, high, t, before = 0.0, math.inf, first, (0.0, value)
    for trial in range(100):
        value, margins, term = probe(t)
        if abs(value) <= target or t in (low, high):
            break
        if value < 0:
            low = t
        else:
            high = t
        change = value - before[1]
        guess = t - value * (t - before[0]) / change if change != 0 else math.nan
        before = (t, value)
        if math.isinf(high):
            t = guess if low < guess < 8 * low else 4 * low
        elif low < guess < high and trial % 3 != 2:
            t = guess
        else:
            t = 0.5 * (low + high)
    return t, margins, term
