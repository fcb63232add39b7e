"""Whether an objective has no minimum, because coefficients that cost nothing separate the rows.

Without a ridge, coefficients of no l1 cost (factors of zero, or beyond the flat part of a concave penalty) and the
intercept are held by the losses alone. The objective falls for ever along a direction ``(d, a)`` of theirs with

    y_i ((Phi d)_i + a) >= 0  for all rows,   and  > 0  for a row whose loss never ends to fall:

complete separation of the rows, or quasi-complete where some of them stay where they are (Albert and Anderson 1984).
Losses with a flat end (squared hinge) reach their least value instead, and have a minimum. Rows that a bounded loss
has given up hold nothing: it charges no more for them however far back they go.

``is_unbounded`` looks along the present coefficients, which costs next to nothing and ends a descent that would not;
it sees complete separation. ``is_separated`` solves a linear program over all directions. At a minimum the slopes
``-s_i`` are positive multipliers with ``sum_i s_i y_i (Phi_F, 1)_i = 0``, so that every such direction leaves the rows
where they are (Stiemke's alternative): the program is only asked where some slopes have all but vanished.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from softmargin.problem import Problem

__all__ = ["is_separated", "is_unbounded"]

Array = NDArray[np.floating[Any]]

_FAINT = 1e-4  # beside the slope at the boundary: rows that may be on their way to infinity
_EXACT = 1e-12  # a margin that rounding can tell from none, columns being of size one
_FORWARD = 1e-6  # what the program calls a way forward and not a zero
_MOST = 10**6  # entries of the rows on free columns, beyond which the program would take as long as fits


def is_unbounded(problem: Problem, coef: Array, cost: Array, margins: Array) -> bool:
    """Whether growing the coefficients that cost nothing separates the rows that still have a slope."""
    if problem.penalty.ridge > 0 or problem.tilt is not None:
        return False
    free = np.where(cost == 0, coef, 0.0)
    if not np.any(free):
        return False
    pulled = (problem.loss.slope(margins) != 0) & (problem.weights > 0)
    if not np.any(pulled & _falls_for_ever(problem, margins)):
        return False
    scores, y = problem.expansion.apply(free)[pulled], problem.y[pulled]
    low, high = float(scores[y > 0].min(initial=np.inf)), float(scores[y < 0].max(initial=-np.inf))
    return low > high if problem.fit_intercept else low > 0 > high


def is_separated(problem: Problem, coef: Array, intercept: float) -> bool:
    """Whether some direction of the coefficients that cost nothing lowers the objective for ever."""
    if problem.penalty.ridge > 0 or problem.tilt is not None:
        return False
    free = np.flatnonzero(problem.penalty.linearize(coef).thresholds(len(coef)) == 0)
    margins = problem.margins(coef, intercept)
    counted = (problem.weights > 0) & ~_is_given_up(problem, margins)
    if len(free) == 0 or counted.sum() * len(free) > _MOST:
        return False
    slope, at_boundary = (np.abs(problem.loss.slope(u)) for u in (margins, np.zeros_like(margins)))
    leaving = (counted & _falls_for_ever(problem, margins) & (slope <= _FAINT * at_boundary))[counted]
    return bool(leaving.any()) and _separates(problem, _signed_rows(problem, free, counted), leaving)


def _falls_for_ever(problem: Problem, margins: Array) -> NDArray[np.bool_]:
    """Which rows' losses still fall well beyond their margin, and beyond that of a flat end."""
    return np.asarray(problem.loss.slope(1 + 2 * np.abs(margins)) < 0)


def _is_given_up(problem: Problem, margins: Array) -> NDArray[np.bool_]:
    """Which rows' losses are as large as they can be."""
    return np.asarray(problem.loss.value(margins) >= problem.loss.value(-1 - 2 * np.abs(margins)))


def _signed_rows(problem: Problem, free: NDArray[np.intp], counted: NDArray[np.bool_]) -> Array:
    """``y_i (Phi_F, 1)_i`` of the rows that count, columns of size one."""
    M = problem.expansion.columns(free)
    M = np.asarray(M.toarray() if sparse.issparse(M) else M, dtype=np.float64)[counted]
    size = np.abs(M).max(axis=0, initial=0.0)
    M = M / np.where(size > 0, size, 1.0)
    M = np.column_stack([M, np.ones(len(M))]) if problem.fit_intercept else M
    return problem.y[counted, None] * M


def _separates(problem: Problem, rows: Array, leaving: NDArray[np.bool_]) -> bool:
    """Whether some direction brings a leaving row forward and no row back."""
    lowest = np.full(rows.shape[1], -1.0)
    if problem.penalty.positive:
        lowest[: len(lowest) - problem.fit_intercept] = 0.0
    bounds = np.column_stack([lowest, np.ones_like(lowest)])
    found = linprog(-rows[leaving].sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=bounds)
    if found.x is None:
        return False
    forward = rows @ found.x  # the program forgives rows that go back by 1e-7, and they would have held the fit
    return bool(forward.min() >= -_EXACT * len(found.x) and forward[leaving].max() > _FORWARD)
