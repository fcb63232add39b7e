"""How low does a function of the margin go? Its infimum from values alone.

The least value of a grid is followed down between its neighbours, and either tail along margins that double. A tail
that tends to a limit like ``u^-a`` has falls with a constant ratio below one, whose sum is the rest of its way; falls
that do not shrink have no limit. Too low an infimum weakens a certificate, too high a one falsifies it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses._base import Array

__all__ = ["infimum"]

_GRID = np.linspace(-10.003, 10.007, 2002)
_TAIL = 2.0 ** np.arange(4, 21)  # beyond 1e6 the rounding of a difference of large numbers is larger than most tails
_ZOOMS, _PARTS = 6, 40
_ROUNDING = 1e-9  # of the margin: what cancellation may leave of a value there
_LASTING = 0.97  # a tail whose falls shrink by less from one margin to its double has no limit (u^-0.04 has 0.973)


def infimum(value: Callable[[Array], Any]) -> float:
    """The infimum of ``value`` over all margins; -inf if a tail falls for ever."""
    margins = np.concatenate([-_TAIL[::-1], _GRID, _TAIL])
    with np.errstate(all="ignore"):
        seen = np.asarray(value(margins), dtype=np.float64)
        known = ~np.isnan(seen)
        margins, seen = margins[known], seen[known]
        least = int(np.argmin(seen))
        inside = 0 < least < len(seen) - 1
        bottom = _follow(value, margins[least - 1], margins[least + 1]) if inside else float(seen[least])
    bottom = min(bottom, float(seen[least]), *(_limit(seen[side]) for side in _tails(margins)))
    scale = float(np.median(np.abs(seen[np.abs(margins) < 2])))
    return 0.0 if 0 <= bottom <= 1e-9 * scale else bottom


def _tails(margins: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The numbers of the margins of either tail, outwards."""
    return np.flatnonzero(margins < _GRID[0])[::-1], np.flatnonzero(margins > _GRID[-1])


def _follow(value: Callable[[Array], Any], low: float, high: float) -> float:
    """The least value between two margins, by ever finer grids."""
    best = np.inf
    for _ in range(_ZOOMS):
        grid = np.linspace(low, high, _PARTS + 1)
        seen = np.asarray(value(grid), dtype=np.float64)
        at = int(np.argmin(np.where(np.isnan(seen), np.inf, seen)))
        best = min(best, float(seen[at]))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, _PARTS)]
    return best


def _limit(tail: Array) -> float:
    """Where values at doubling margins lead: their last, what a geometric series still takes away, or -inf."""
    if len(tail) < 4 or not np.isfinite(tail[-4:]).all():
        return float(tail[-1]) if len(tail) and tail[-1] < 0 else np.inf
    falls = -np.diff(tail)
    if falls[-1] <= _ROUNDING * max(1.0, float(np.abs(tail[-1]))):
        return float(tail[-1])
    ratio = float(falls[-1] / falls[-2]) if falls[-2] > 0 else 1.0
    return -np.inf if ratio >= _LASTING else float(tail[-1] - falls[-1] * ratio / (1 - ratio))
