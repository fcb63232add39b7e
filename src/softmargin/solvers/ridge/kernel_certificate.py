"""The coefficients of a kernel fit as the dual point that certifies it.

At the optimum ``v = ridge beta`` is the dual point, and so are minus the slopes ``g`` of the data term. Newton's method
certifies a point by its slopes (:mod:`softmargin.solvers.ridge.newton_systems`): Fenchel-Young holds with equality, and
the gap is ``r'K r / (2 ridge)`` with ``r = ridge beta + g``. Scores ``K beta`` carry a rounding ``e`` of ``eps |K|
|beta|``, slopes one of ``w phi'' e``, and the gap the square of that times ``K`` once more: of large costs and
similarities nothing could be certified. With ``v`` itself as the dual point the gap is the other half,

    sum_i w_i (phi(u_i) + phi*(s_i) - s_i u_i),    s_i = -(y_i v_i + t_i) / w_i,

where the norms cancel: its rounding is ``w phi'' e^2``, without another ``K``. It is finite where the ``s_i`` are
slopes that the loss has, as they are near the optimum. What is certified so is the minimum with the similarities as
they are rounded; that with those meant differs by what rounding makes of ``beta'K beta``, which is added to the gap.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solvers.ridge.newton_systems import KernelSystem

__all__ = ["coefficients_as_dual"]

Array = NDArray[np.floating[Any]]

_EPS = float(np.finfo(np.float64).eps)


class DualCoefficients(NamedTuple):
    """A dual point, its duality gap, infinite where it is none, and what rounding of similarities adds to that."""

    dual: Array
    gap: float
    rounding: float


def coefficients_as_dual(problem: Problem, system: KernelSystem, coef: Array, margins: Array) -> DualCoefficients:
    """``ridge coef`` as the dual point of a fit whose margins are known."""
    dual, loss, push = system.ridge * coef, problem.loss, 0.0
    if not loss.has_conjugate or not coef.any():
        return DualCoefficients(dual, np.inf, 0.0)
    if problem.fit_intercept:
        push = float(dual.sum())
        dual = dual - (push / float(np.abs(dual).sum())) * np.abs(dual)
    slope = -problem.y * dual if problem.tilt is None else -problem.y * dual - problem.tilt
    used = problem.weights > 0
    if np.any(slope[~used] != 0):
        return DualCoefficients(dual, np.inf, 0.0)
    weights, slope, u = problem.weights[used], slope[used] / problem.weights[used], margins[used]
    terms = loss.value(u) + loss.conjugate(slope) - slope * u
    rounding = _EPS * system.ridge * float(np.square(coef) @ np.diagonal(system.K))
    gap = float(weights @ np.maximum(terms, 0.0)) + 0.5 * system.longest * push * push
    return DualCoefficients(dual, gap if np.isfinite(gap) else np.inf, rounding)
