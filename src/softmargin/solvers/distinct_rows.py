"""Rows in an order of their own, equal ones of one label as one row of their joint weight.

A concave penalty on kernel columns has many stationary points. In which of them a descent ends hangs on rounding, so on
the order in which rows are summed, and on how equal rows, whose columns are equal, share what is one coefficient (the
penalty of two halves is more than that of the whole; where their labels differ, one of them has the coefficient and the
other a cost that keeps it at zero). Components of an additive kernel that differ on rows without a
loss alone may be exchanged at no cost, and rounding chooses as well. Convex l1 costs do not care, but each row less is
a row and a column less of every pass. Sorted by content and with equal rows put together, rows in another order, or
repeated in place of their weights, are the same problem to the last digit.
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
from softmargin.solvers.elastic_net.equal_columns import kinds_of_columns

__all__ = ["DistinctRows"]

Array = NDArray[np.floating[Any]]

_BITS = 40  # of a weight
_FEWER = 0.9  # of the rows are distinct: passes then cost a fifth less


@dataclass(frozen=True)
class DistinctRows:
    """A problem on its distinct rows, and the way back.

    ``group`` is the row of ``reduced`` that each row is part of, ``share`` its part of that row's weight, ``first`` the
    rows that stand for theirs, and ``column`` for each row of ``reduced`` the one whose coefficient serves for both.
    """

    reduced: Problem
    group: NDArray[np.intp]
    share: Array
    first: NDArray[np.intp]
    column: NDArray[np.intp]

    @classmethod
    def of(cls, problem: Problem) -> DistinctRows | None:
        """The problem on distinct rows, where it has many stationary points or columns chosen among equal ones.

        None where rows differ by more.
        """
        expansion, penalty = problem.expansion, problem.penalty
        if not isinstance(expansion, KernelColumns) or penalty.factors is not None or not _are_alike(problem):
            return None
        if penalty.convex:
            return cls._repeated(problem, expansion) if penalty.l1_ratio > 0 else None
        order = _order(problem, expansion)
        rows = expansion.outer() if expansion.kernel.precomputed else expansion.points
        distinct = cls._sorted(problem, order, _equal(rows, order[1:], order[:-1]))
        distinct = distinct._with_one_column_each(_equal(rows, distinct.first[1:], distinct.first[:-1]))
        if expansion.kernel.is_own:
            return distinct
        # similarities are rounded by where they stand: they are made in their order
        made = KernelColumns.from_rows(expansion.points[distinct.first], expansion.kernel)
        return replace(distinct, reduced=replace(distinct.reduced, expansion=made))

    @classmethod
    def _repeated(cls, problem: Problem, expansion: KernelColumns) -> DistinctRows | None:
        """The problem on distinct rows where these are fewer by enough to be worth a matrix of their own."""
        kinds = kinds_of_columns(expansion)
        if kinds is None:
            return None
        order = np.lexsort((-problem.weights, problem.y, kinds))
        one, other = order[1:], order[:-1]
        rows = expansion.outer() if expansion.kernel.precomputed else expansion.points
        distinct = cls._sorted(problem, order, (kinds[one] == kinds[other]) & _equal(rows, one, other))
        return distinct if len(distinct.first) < _FEWER * len(order) else None

    @classmethod
    def by_features(cls, problem: Problem, X: Array) -> DistinctRows | None:
        """The problem on distinct rows of the features ``X``; None where rows differ by more."""
        if not _are_alike(problem):
            return None
        order = np.lexsort((-problem.weights, problem.y, *X.T))
        return cls._sorted(problem, order, _equal(X, order[1:], order[:-1]))

    @classmethod
    def _sorted(cls, problem: Problem, order: NDArray[np.intp], equal: NDArray[np.bool_]) -> DistinctRows:
        """The problem in an order of its rows, where ``equal`` tells which are as the one before."""
        starts = np.append(True, ~(equal & (problem.y[order[1:]] == problem.y[order[:-1]])))
        group, first = np.empty(len(order), dtype=np.intp), order[starts]
        group[order] = np.cumsum(starts) - 1
        total = _rounded(np.add.reduceat(problem.weights[order], np.flatnonzero(starts)))
        reduced = replace(problem.take(first, np.ones(len(first))), weights=total)
        return cls(reduced, group, _ratio(problem.weights, total[group]), first, np.arange(len(first)))

    def _with_one_column_each(self, repeats: NDArray[np.bool_]) -> DistinctRows:
        """The same where rows that repeat the one before, under the other label, leave the coefficient to that one.

        What moves the first is never more than its cost, so it moves no column that costs twice as much.
        """
        if not np.any(repeats):
            return self
        penalty = replace(self.reduced.penalty, factors=np.where(np.append(False, repeats), 2.0, 1.0))
        column = np.arange(len(self.first))
        column[1:] -= repeats
        return replace(self, reduced=replace(self.reduced, penalty=penalty), column=column)

    def forth(self, solution: Solution | None) -> Solution | None:
        """A solution in terms of the distinct rows."""
        if solution is None:
            return None
        return replace(
            solution,
            coef=_sums(self.column[self.group], solution.coef, len(self.first)),
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


def _are_alike(problem: Problem) -> bool:
    """Whether rows differ by their features, labels and weights alone."""
    return problem.tilt is None and problem.offset is None and problem.loss.of_rows(slice(0)) is problem.loss


def _equal(rows: Any, one: NDArray[np.intp], other: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Whether rows ``one`` are the rows ``other``, pair by pair."""
    if sparse.issparse(rows):
        return np.diff((rows[one] != rows[other]).tocsr().indptr) == 0
    return np.all(rows[one] == rows[other], axis=1)


def _rounded(weights: Array) -> Array:
    """Weights to twelve digits: those beyond say in which order factors were multiplied and repeated rows added up."""
    mantissa, exponent = np.frexp(weights)
    return np.ldexp(np.round(np.ldexp(mantissa, _BITS)), exponent - _BITS)


def _sums(group: NDArray[np.intp], values: Array, least: int = 0) -> Array:
    return np.bincount(group, weights=values, minlength=least).astype(np.float64, copy=False)


def _ratio(part: Array, whole: Array) -> Array:
    """``part / whole``; rows of no weight have none to share."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)
