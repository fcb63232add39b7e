"""Where does a function bend abruptly? Corners found from values alone.

At a corner with jump ``J`` the second difference ``(phi(u+h) - 2 phi(u) + phi(u-h)) / h`` tends to ``J``; where the
function is smooth it falls with ``h``. The largest second differences of a coarse grid are followed down to steps of
1e-6: those that stay are corners, and the one-sided slopes beside them are differences on that scale. A smooth bend
narrower than that is a corner for every purpose of floating-point optimisation. A first difference that stays, in the
half of an interval where it is larger, is a jump of the value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses._base import Array, Kink

__all__ = ["find_corners", "find_jump"]

_GRID = np.linspace(-10.003, 10.007, 2002)
_CANDIDATES = 6  # largest bends looked at
_ZOOMS, _FACTOR = 4, 10
_LEAST = 1e-3  # jump in units of the slopes beside it
_HALVINGS = 24  # of a step of the grid: down to 1e-9, where a smooth function moves by 1e-9 of its slope


def find_corners(value: Callable[[Array], Any]) -> tuple[Kink, ...]:
    """The corners of ``value`` on margins in [-10, 10], at most a few, from left to right."""
    with np.errstate(all="ignore"):
        largest = _largest_bends(np.asarray(value(_GRID), dtype=np.float64))
        found = [_follow(value, float(_GRID[i + 1]), float(_GRID[1] - _GRID[0])) for i in largest]
    corners: list[Kink] = []
    for corner in sorted(corner for corner in found if corner is not None):
        if not corners or corner.at - corners[-1].at > 1e-3:
            corners.append(corner)
    return tuple(corners)


def find_jump(value: Callable[[Array], Any]) -> tuple[float, float] | None:
    """The margin in [-10, 10] where ``value`` jumps most, and by how much; None if it is continuous."""
    with np.errstate(all="ignore"):
        seen = np.asarray(value(_GRID), dtype=np.float64)
        bends = _largest_bends(seen) if np.isfinite(seen).all() else np.zeros(0, dtype=np.intp)
        left = np.unique(np.concatenate([bends, bends + 1]))  # the steps of the grid on either side
        low, high, before, after = _GRID[left], _GRID[left + 1], seen[left], seen[left + 1]
        first = np.abs(after - before)
        for _ in range(_HALVINGS if len(left) else 0):
            middle = 0.5 * (low + high)
            half = np.asarray(value(middle), dtype=np.float64)
            right = np.abs(after - half) > np.abs(half - before)
            low, before = np.where(right, middle, low), np.where(right, half, before)
            high, after = np.where(right, high, middle), np.where(right, after, half)
        jumps = after - before
        rounding = 1e-12 * np.maximum(np.abs(before), np.abs(after))
        lasting = (np.abs(jumps) > _LEAST * first) & (np.abs(jumps) > rounding)
    if not lasting.any():
        return None
    most = int(np.argmax(np.where(lasting, np.abs(jumps), 0.0)))
    return float(round(0.5 * (low[most] + high[most]), 6)) + 0.0, float(jumps[most])


def _largest_bends(seen: Array) -> NDArray[np.intp]:
    """Where the second differences of values on the grid peak, the largest first."""
    bends = np.abs(np.diff(seen, 2))
    peaks = np.flatnonzero((bends >= np.roll(bends, 1)) & (bends >= np.roll(bends, -1)) & (bends > 0))
    return peaks[np.argsort(-bends[peaks])[:_CANDIDATES]]


def _follow(value: Callable[[Array], Any], at: float, step: float) -> Kink | None:
    """The corner within a step or two of a large bend, if it stays as the step shrinks."""
    for _ in range(_ZOOMS):
        width, step = 2 * step, step / _FACTOR
        grid = at + np.arange(-width, width + step, step)
        at = float(grid[1 + np.argmax(np.abs(np.diff(np.asarray(value(grid), dtype=np.float64), 2)))])
    left, right = at - 4 * step, at + 4 * step
    sides = np.asarray(value(np.array([left - 1e-4, left, right, right + 1e-4])), dtype=np.float64)
    before, after = (sides[1] - sides[0]) / 1e-4, (sides[3] - sides[2]) / 1e-4
    # over a tenth of the distance a smooth bend has a tenth of the jump, a corner the same
    near = np.asarray(value(np.array([left - 1e-5, left, right, right + 1e-5])), dtype=np.float64)
    close = (near[3] - near[2]) / 1e-5 - (near[1] - near[0]) / 1e-5
    scale = max(abs(before), abs(after), 1e-6)
    if not np.isfinite(close) or abs(close) < _LEAST * scale or abs(close) < 0.5 * abs(after - before):
        return None
    corner = (sides[1] - before * left - sides[2] + after * right) / (after - before)  # where the tangents meet
    where = float(corner if abs(corner - at) < 1e-3 else at)
    return Kink(round(where, 9) + 0.0, *(float(f"{side:.9g}") + 0.0 for side in (before, after)))  # what is known
