"""Steps that read tall data once: from the solution of a sample of rows to the solution of all.

Where rows abound, a Newton step costs what reading the data costs, not what solving a ``p x p`` system costs. The
Hessian ``H`` of a sample of ``m`` rows is that of all rows up to ``sqrt(p / m)``, so its inverse turns the residual
``r = (ridge beta + Phi'g, 1'g)`` of all rows into a step that leaves a few per cent of the error. BFGS corrections,

    H <- (I - rho s y') H (I - rho y s') + rho s s',     s = step, y = change of r along it, rho = 1 / s'y,

learn what the sample did not know, at no product with the data. Residuals come from one sweep over blocks of rows that
stay in cache between ``Phi beta`` and ``Phi'g``: no vector of length n is kept, no line is searched. A whole step is
right unless the slope along it says otherwise; then, or when the gap falls slowly, the method of
:mod:`softmargin.solvers._newton` takes over from the last good point. It also has the last word when all goes well:
the point handed to it is one step beyond the last sweep, where the gap is predicted, and it certifies it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solvers._geometry import FeatureGeometry
from softmargin.solvers._solution import Solution

__all__ = ["glide"]

Array = NDArray[np.floating[Any]]

_MOST_SWEEPS = 8
_FLAT = 0.3  # a whole step is kept where the slope at its end is at most this fraction of the slope at its start
_SLOW = 0.2  # a gap that is not brought below this fraction by a step asks for a new Hessian
_HOPE = 1e-2  # the fraction of the gap that the first step is trusted to leave


def glide(problem: Problem, geometry: FeatureGeometry, start: Solution, tol: float) -> None:
    """Move ``start``, a solution of a sample whose factor ``geometry`` holds, towards the solution of all rows."""
    target = tol * abs(start.objective)
    place = np.append(start.coef, start.intercept)
    residual, gap = _residual(problem, geometry, place)
    fall, pairs = _HOPE, list[tuple[Array, Array]]()
    for _ in range(_MOST_SWEEPS):
        if gap <= target:
            break
        step = -_solve(geometry, pairs, residual)
        slope = float(step @ residual)
        if slope >= 0:  # rounding
            break
        if gap * fall <= target:
            place = place + step
            break
        moved, closer = _residual(problem, geometry, place + step)
        if abs(float(step @ moved)) > -_FLAT * slope or closer > gap:
            break
        place = place + step
        pairs.append((step, moved - residual))
        residual, gap, fall = moved, closer, closer / gap
        if fall > _SLOW:
            break
    start.coef, start.intercept = place[:-1], float(place[-1])


def _residual(problem: Problem, geometry: FeatureGeometry, place: Array) -> tuple[Array, float]:
    """The derivative of the objective, and the gap with what the intercept has to give; reads the data once."""
    coef, intercept = place[:-1], float(place[-1])
    image, total = problem.expansion.sweep(coef, lambda rows, scores: problem.response(rows, scores, intercept))
    image += geometry.ridge * coef
    gap = float(image @ image) / (2 * geometry.ridge)
    if not problem.fit_intercept or not geometry.total:
        return np.append(image, 0.0), gap
    return np.append(image, total), gap + total**2 / (2 * geometry.total)


def _solve(geometry: FeatureGeometry, pairs: list[tuple[Array, Array]], residual: Array) -> Array:
    """The inverse of the sample's Hessian, corrected by what the steps so far have shown (the two-loop recursion)."""
    rest, lengths = residual, list[float]()
    for s, y in reversed(pairs):
        lengths.append(float(s @ rest) / float(s @ y))
        rest = rest - lengths[-1] * y
    out = np.append(*geometry.solve(rest[:-1], float(rest[-1])))
    for (s, y), length in zip(pairs, reversed(lengths), strict=True):
        out = out + (length - float(y @ out) / float(s @ y)) * s
    return out
