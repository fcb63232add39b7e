"""Which columns move between two passes over the data: the support and the worst violators of optimality.

Similarities to neighbouring rows are nearly the same column: where one is wanted hundreds of others violate their
conditions as well, until it is there. So kernel columns are let in a few at a time; taken in by hundreds they share
what one of them would hold, and it takes many steps of their large system to put that right.

Of equal columns (repeated rows of a kernel) one will do: hundreds of them make a support that no step can tell from
another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solvers.elastic_net.equal_columns import kinds_of_columns
from softmargin.solvers.elastic_net.quadratic_model import Columns

__all__ = ["WorkingSet"]

Array = NDArray[np.floating[Any]]

_FIRST_SET, _FIRST_KERNEL = 64, 32
# new columns per column of the support; sparse ones cost no Gram matrix (kernel columns of adult, german, higgs, banana
# and pima: with a half for each instead of two, fits take from the same time to an eighth)
_GROWTH, _GROWTH_SPARSE, _GROWTH_KERNEL = 2.0, 4.0, 0.5


class WorkingSet:
    """The columns of a problem that move, with what has been gathered of them."""

    def __init__(self, problem: Problem) -> None:
        self.problem, expansion = problem, problem.expansion
        many = expansion.is_kernel and expansion.shape[1] > _FIRST_SET
        self.kinds = kinds_of_columns(expansion) if many else None
        self.cost = problem.penalty.thresholds(problem.expansion.shape[1])
        self._columns: Columns | None = None

    def columns(self, coef: Array, violation: Array) -> Columns:
        """The support and the worst violators, in proportion to the support; the old set if it will do."""
        problem, support = self.problem, coef != 0
        room = self._room(int(support.sum()))
        outside = np.flatnonzero((violation > 0) & ~support)
        if self.kinds is not None:
            worst_first = outside[np.argsort(-violation[outside], kind="stable")]
            outside = _one_of_each(worst_first, support, self.cost, self.kinds)
        if len(outside) > room:
            outside = outside[np.argpartition(-violation[outside], room)[:room]]
        wanted = support.copy()
        wanted[outside] = True
        index = np.flatnonzero(wanted)
        if self._columns is None or wanted[self._columns.index].sum() != len(index):
            self._columns = Columns(problem.expansion, index, problem.penalty.ridge, problem.fit_intercept)
        return self._columns

    def _room(self, support: int) -> int:
        """How many columns may come to a support of so many."""
        if self.problem.expansion.is_kernel:
            return max(_FIRST_KERNEL, int(_GROWTH_KERNEL * support))
        return max(_FIRST_SET, int((_GROWTH_SPARSE if self.problem.expansion.is_sparse else _GROWTH) * support))


def _one_of_each(
    outside: NDArray[np.intp], support: NDArray[np.bool_], cost: Array, kinds: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The first of each kind, and none whose like is in the support at no greater cost."""
    cheapest = np.full(len(kinds), np.inf)
    np.minimum.at(cheapest, kinds[support], cost[support])
    outside = outside[cost[outside] < cheapest[kinds[outside]]]
    return outside[np.unique(kinds[outside], return_index=True)[1]]
