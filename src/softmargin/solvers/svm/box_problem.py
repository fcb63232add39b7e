"""The box QP, a point of it, its solution, and a feasible point near any other.

    minimise  1/2 u'Ku - q'u   subject to  lo <= u <= hi,  sum u = total (with an intercept)

The matrix is not part of it: solvers ask for its rows. :mod:`.box_qp` says what the symbols mean and solves it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoxQP", "BoxSolution", "Iterate", "best_intercept", "feasible_start", "midpoint", "optimal_intercepts"]

Array = NDArray[np.floating[Any]]

ROUNDING = 1e-13  # of the sum of sizes: what a sum of multipliers may be off


@dataclass(frozen=True)
class BoxQP:
    """Linear term and bounds (which may be infinite); with ``intercept`` the multipliers sum up to ``total``."""

    q: Array
    lo: Array
    hi: Array
    intercept: bool = True
    total: float = 0.0

    def __post_init__(self) -> None:
        for name in ("q", "lo", "hi"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        reachable = not self.intercept or self.lo.sum() <= self.total <= self.hi.sum()
        if np.any(self.lo > self.hi) or not reachable:
            raise ValueError("the box QP has no feasible point: need lo <= hi and sum(lo) <= total <= sum(hi).")

    def take(self, rows: NDArray[np.intp], total: float) -> BoxQP:
        """The problem in some of the multipliers, which sum up to ``total``."""
        return BoxQP(self.q[rows], self.lo[rows], self.hi[rows], self.intercept, total)

    def scaled(self, factor: float) -> BoxQP:
        """The same problem in ``factor`` times the multipliers (the matrix divided by ``factor``)."""
        return BoxQP(self.q, factor * self.lo, factor * self.hi, self.intercept, factor * self.total)

    @property
    def largest(self) -> float:
        """The largest finite bound."""
        ends = np.concatenate([self.lo, self.hi])
        return float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))


@dataclass
class Iterate:
    """Where a solver stands: multipliers, gradient ``Ku - q`` (None if not at hand) and the work done so far."""

    u: Array
    G: Array | None = None
    n_iter: int = 0


@dataclass
class BoxSolution:
    """The optimum: multipliers, gradient ``Ku - q``, the interval of optimal intercepts and the certificates.

    ``violation`` is the largest KKT violation in units of the score; ``gap`` the duality gap relative to the primal
    objective (inf when an infinite bound makes the primal infeasible at this accuracy). ``value`` is the dual
    objective ``1/2 u'Ku - q'u``, ``primal`` the cost ``1/2 u'Ku + sum max{v (q - f)}``.
    """

    u: Array
    gradient: Array
    interval: tuple[float, float]
    intercept: float
    value: float
    primal: float
    gap: float
    violation: float
    n_iter: int
    converged: bool


def feasible_start(start: Array | None, box: BoxQP) -> Array:
    """``start`` (zero if None) clipped to the box, its sum brought to zero by moving free points first."""
    lo, hi = box.lo, box.hi
    u = np.zeros_like(lo) if start is None else np.array(start, dtype=np.float64)
    np.clip(u, lo, hi, out=u)
    if not box.intercept:
        return u
    for allowed in ("free", "towards zero", "all"):  # rows that are not support rows become so only if they must
        excess = u.sum() - box.total
        if abs(excess) <= ROUNDING * (float(np.abs(u).sum()) + abs(box.total)):
            break
        room = u - lo if excess > 0 else hi - u
        if allowed == "free":
            room = np.where((u > lo) & (u < hi), room, 0.0)
        elif allowed == "towards zero":
            room = np.minimum(room, np.maximum(u if excess > 0 else -u, 0.0))
        if np.isinf(room).any():
            share = np.isinf(room) / np.isinf(room).sum()
            u -= share * excess
        elif room.sum() > 0:
            u -= room * (np.sign(excess) * min(1.0, abs(excess) / room.sum()))
            u = np.clip(u, lo, hi)
    return u


def midpoint(interval: tuple[float, float]) -> float:
    """The middle of an interval, its finite end if only one is finite, 0 if none is."""
    finite = [end for end in interval if np.isfinite(end)]
    return sum(finite) / len(finite) if finite else 0.0


def optimal_intercepts(r: Array, lo: Array, hi: Array, total: float = 0.0) -> tuple[float, float]:
    """The interval of the b that minimise ``sum max{v (r - b) : lo <= v <= hi} + total b``.

    The slope grows by ``hi - lo`` at each ``r``; the interval is where it is zero but for the rounding of sums. So it
    is known from the costs alone: a multiplier that is only almost on its bound does not make a point of it.
    """
    sizes = np.abs(np.concatenate([lo, hi, [total]]))
    infinite = np.isinf(sizes)
    if infinite.any():  # one such slope outweighs all that are finite
        steep = 1.0 + 2 * float(sizes[~infinite].sum())
        lo, hi, sizes[infinite] = np.maximum(lo, -steep), np.minimum(hi, steep), steep
    rounding = ROUNDING * float(sizes.sum())
    order = np.argsort(r)
    slope = total - float(hi.sum()) + np.append(0.0, np.cumsum((hi - lo)[order]))
    ends = np.concatenate([[-np.inf], r[order], [np.inf]])  # where the slope becomes what it is
    low, high = np.searchsorted(slope, -rounding), np.searchsorted(slope, rounding, side="right")
    return float(ends[low]), float(ends[high])


def best_intercept(r: Array, lo: Array, hi: Array) -> float:
    """The midpoint of the optimal ones."""
    return midpoint(optimal_intercepts(r, lo, hi))
