"""Rows of kernel columns in an order of their own, equal ones of one label as one row of their joint weight.

A concave penalty on kernel columns has many stationary points. In which of them a descent ends hangs on rounding, so on
the order in which rows are summed, and on how equal rows, whose columns are equal, share what is one coefficient (the
penalty of two halves is more than that of the whole). Sorted by content and with equal rows put together, rows in
another order, or repeated in place of their weights, are the same problem to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions import KernelColumns, row_lottery
from softmargin.problem import Problem
from softmargin.solution import Solution

__all__ = ["DistinctRows"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class DistinctRows:
    """A problem on its distinct rows, and the way back.

    ``group`` is the row of ``reduced`` that each row is part of, ``share`` its part of that row's weight, and ``first``
    the rows that stand for theirs.
    """

    reduced: Problem
    group: NDArray[np.intp]
    share: Array
    first: NDArray[np.intp]

    @classmethod
    def of(cls, problem: Problem) -> DistinctRows | None:
        """The problem on distinct rows, where it has many stationary points; None where rows differ by more."""
        expansion, loss, penalty = problem.expansion, problem.loss, problem.penalty
        if not isinstance(expansion, KernelColumns) or penalty.convex or penalty.factors is not None:
            return None
        if problem.tilt is not None or problem.offset is not None or loss.of_rows(slice(0)) is not loss:
            return None
        order = _order(problem, expansion)
        same = _equal(expansion, order[1:], order[:-1]) & (problem.y[order[1:]] == problem.y[order[:-1]])
        starts = np.append(True, ~same)
        group, first = np.empty(len(order), dtype=np.intp), order[starts]
        group[order] = np.cumsum(starts) - 1
        total = _sums(group, problem.weights)
        share = _ratio(problem.weights, total[group])
        reduced = problem.take(first, _ratio(total, problem.weights[first]))
        if not expansion.kernel.is_own:  # similarities are rounded by where they stand: they are made in their order
            reduced = replace(reduced, expansion=KernelColumns.from_rows(expansion.points[first], expansion.kernel))
        return cls(reduced, group, share, first)

    def forth(self, solution: Solution | None) -> Solution | None:
        """A solution in terms of the distinct rows."""
        if solution is None:
            return None
        return replace(
            solution,
            coef=_sums(self.group, solution.coef),
            dual=None if solution.dual is None else _sums(self.group, solution.dual),
            margins=None if solution.margins is None else solution.margins[self.first],
            base=self.forth(solution.base),
        )

    def back(self, solution: Solution) -> Solution:
        """A solution in terms of all rows: a coefficient is that of the row that stands for its equals."""
        coef = np.zeros(len(self.group), dtype=solution.coef.dtype)
        coef[self.first] = solution.coef
        return replace(
            solution,
            coef=coef,
            dual=None if solution.dual is None else solution.dual[self.group] * self.share,
            margins=None if solution.margins is None else solution.margins[self.group],
            base=None if solution.base is None else self.back(solution.base),
        )


def _order(problem: Problem, expansion: KernelColumns) -> NDArray[np.intp]:
    """Rows by the similarities they have, which a matrix given beforehand tells as well, then by their features."""
    K, w = expansion.outer(), problem.weights
    seen = row_lottery(np.column_stack([expansion.diagonal(), K @ w, np.square(K) @ w]), _draw())
    rows = seen if expansion.kernel.precomputed else row_lottery(expansion.points, _draw())
    return np.lexsort((-problem.weights, problem.y, rows, seen))


def _draw() -> Any:
    return np.random.RandomState(0)


def _equal(expansion: KernelColumns, one: NDArray[np.intp], other: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether rows ``one`` are the rows ``other``, pair by pair."""
    rows = expansion.outer() if expansion.kernel.precomputed else expansion.points
    if sparse.issparse(rows):
        return np.diff((rows[one] != rows[other]).tocsr().indptr) == 0
    return np.all(rows[one] == rows[other], axis=1)


def _sums(group: NDArray[np.intp], values: Array) -> Array:
    return np.bincount(group, weights=values).astype(np.float64, copy=False)


def _ratio(part: Array, whole: Array) -> Array:
    """``part / whole``; rows of no weight have none to share."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
