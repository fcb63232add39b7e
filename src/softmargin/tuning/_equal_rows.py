"""Which rows are the same row of the same class? Criteria judge them as one of their joint weight.

Equal rows draw equal lottery numbers (:mod:`softmargin.expansions.row_lottery`); those that do are then compared, so
that rows are never taken for one because a column of large numbers hides what tells them apart.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions import row_lottery

__all__ = ["EqualRows"]

Array = NDArray[np.floating[Any]]

_SAME = 1e-13  # of the largest similarity: what rounding leaves between those of equal rows


class EqualRows(NamedTuple):
    """One row of each set of equal ones (``first``), and the set that each row is in (``member``)."""

    first: NDArray[np.intp]
    member: NDArray[np.intp]

    @classmethod
    def of(cls, expansion: Any, y: Array) -> EqualRows:
        """The equal rows of an expansion that are of one class; kernels tell them by their similarities."""
        rows = expansion.outer() if expansion.is_kernel else expansion.rows()
        numbers = row_lottery(rows if expansion.is_kernel else _in_units(rows), np.random.RandomState(0))
        order = np.lexsort((y, numbers))
        one, other = order[1:], order[:-1]
        starts = np.append(True, (numbers[one] != numbers[other]) | (y[one] != y[other]))
        pairs = np.flatnonzero(~starts)
        apart = _largest(rows[order[pairs]] - rows[order[pairs - 1]], 1)
        rounding = _SAME * float(np.abs(rows[order[pairs]]).max(initial=0.0)) if expansion.is_kernel else 0.0
        starts[pairs[apart > rounding]] = True
        member = np.empty(len(order), dtype=np.intp)
        member[order] = np.cumsum(starts) - 1
        return cls(order[starts], member)


def _in_units(rows: Any) -> Any:
    """Columns in units of their largest entry."""
    largest = _largest(rows, 0)
    unit = np.divide(1.0, largest, out=np.ones_like(largest), where=largest > 0)
    return rows @ sparse.diags_array(unit) if sparse.issparse(rows) else rows * unit


def _largest(rows: Any, axis: int) -> Array:
    """The largest size in every column (0) or row (1)."""
    if 0 in rows.shape:
        return np.zeros(rows.shape[1 - axis])
    sizes = abs(rows).max(axis=axis)
    return np.asarray(sizes.toarray() if sparse.issparse(sizes) else sizes, dtype=np.float64).ravel()
