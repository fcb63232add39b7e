"""What a path is made of: stretches of the parameter on which the exact solution is known in closed form.

A ``TracedPiece`` stores what the event loop logged: for every segment the elbow with its affine coefficients, and the
list of set changes; memory is O(sum of elbow sizes), never n times the number of events. An ``AffinePiece`` stores two
n-vectors: the solution moves along a straight line (a flat end of a weight path, the constant tail of a balance path).

Both answer ``duals(t) -> (u, b)`` for an array of values; the problem they belong to is ``ParametricQP``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["AffinePiece", "ParametricQP", "Piece", "TracedPiece", "balance"]

LO, HI, FREE = 0, 1, 2
Array = np.ndarray


@dataclass(frozen=True)
class ParametricQP:
    """min 1/2 u'Ku - q'u, sum u = 0, lo0 + t lo1 <= u <= hi0 + t hi1, the Gram matrix left unsaid."""

    q: Array
    lo0: Array
    lo1: Array
    hi0: Array
    hi1: Array

    def seen_from(self, origin: float, direction: int) -> ParametricQP:
        """The same problem in s = direction (t - origin), so that one engine that only goes up can go down.

        Next to its origin a parameter has all its digits, and so have bounds that vanish there.
        """
        lo, hi = self.box(origin)
        return ParametricQP(self.q, lo, direction * self.lo1, hi, direction * self.hi1)

    def box(self, t: float | Array) -> tuple[Array, Array]:
        """The bounds at ``t``, or at a column of values (a bound that does not move stays finite at t = inf)."""
        return _affine(self.lo0, self.lo1, t), _affine(self.hi0, self.hi1, t)


def _affine(constant: Array, slope: Array, t: float | Array) -> Array:
    if not np.isfinite(t).all():
        return np.where(slope == 0, constant, np.copysign(np.inf, slope))
    out = t * slope
    out += constant
    vanish = np.flatnonzero((slope == -constant) & (slope != 0))
    if len(vanish):  # a bound that vanishes at one keeps its digits there
        at = t if np.ndim(t) == 0 or np.shape(t)[-1] == 1 else t[vanish]  # type: ignore[index]
        out[..., vanish] = constant[vanish] * (1 - at)
    return out


@dataclass(frozen=True)
class TracedPiece:
    """Segments logged by the engine in its own upward parameter ``s = direction (t - origin)``."""

    problem: ParametricQP  # in the engine's parameter
    origin: float
    direction: int
    state: Array  # before the first segment
    log: dict[str, Array]

    @property
    def bounds(self) -> tuple[float, float]:
        ends = self._caller(self.log["t"][[0, -1]])
        return float(ends.min()), float(ends.max())

    def _caller(self, s: Array) -> Array:
        return self.origin + self.direction * s

    @property
    def knots(self) -> Array:
        """Segment boundaries, ascending in t."""
        return np.sort(self._caller(self.log["t"]))

    def segments(self, t: Array) -> Array:
        """The segments that hold ``t``; at a boundary the one with the smaller parameter of the engine."""
        k = np.searchsorted(self.log["t"], self.direction * (t - self.origin)) - 1
        return np.clip(k, 0, len(self.log["b0"]) - 1)

    def states_in(self, segments: Array) -> Array:
        """LO, HI or FREE of every index, a row for each of the segments."""
        wanted, row = np.unique(segments, return_inverse=True)
        index, change, counts = self.log["index"], self.log["state"], self.log["changes"][wanted].tolist()
        out, state, done = np.empty((len(wanted), len(self.state)), dtype=self.state.dtype), self.state.copy(), 0
        for k, count in enumerate(counts):  # a repeated index keeps its last value
            state[index[done:count]] = change[done:count]
            out[k], done = state, count
        return out[row]

    def duals(self, t: Array) -> tuple[Array, Array]:
        """Multipliers, a row for each value, and intercepts."""
        k, s = self.segments(t), self.direction * (t - self.origin)
        state = self.states_in(k)
        lo, hi = self.problem.box(s[:, None])
        u = np.where(state == LO, lo, hi)
        begin, end = self.log["ptr"][k], self.log["ptr"][k + 1]
        row = np.repeat(np.arange(len(k)), end - begin)  # the elbows of all values, one after the other
        part = np.arange(len(row)) + np.repeat(end - np.cumsum(end - begin), end - begin)
        u[row, self.log["elbow"][part]] = _affine(self.log["p0"][part], self.log["p1"][part], s[row])
        return u, _affine(self.log["b0"][k], self.log["b1"][k], s)

    def events(self) -> tuple[Array, Array, Array, Array]:
        """(t, index, state before, state after) of every set change, in the order they happened."""
        index, after = self.log["index"], self.log["state"]
        where = np.searchsorted(self.log["changes"], np.arange(len(index)), side="right")
        before = np.empty_like(after)
        order = np.argsort(index, kind="stable")
        first = np.r_[True, index[order][1:] != index[order][:-1]] if len(index) else np.zeros(0, bool)
        before[order] = np.where(first, self.state[index[order]], np.r_[0, after[order][:-1]][: len(order)])
        return self._caller(self.log["t"][where]), index, before, after


@dataclass(frozen=True)
class AffinePiece:
    """u = u0 + t u1 between two parameters, with an intercept that is ``b`` at the first and grows by ``slope``."""

    u0: Array
    u1: Array
    b: float
    bounds: tuple[float, float]
    slope: float = 0.0

    @property
    def knots(self) -> Array:
        return np.array(self.bounds)

    def duals(self, t: Array) -> tuple[Array, Array]:
        """Multipliers, a row for each value, and intercepts."""
        b = self.b + self.slope * (t - self.bounds[0]) if self.slope else np.full(len(t), self.b)
        return _affine(self.u0, self.u1, t[:, None]), b

    def events(self) -> tuple[Array, Array, Array, Array]:
        nothing: Any = np.zeros(0, dtype=np.int32)
        return np.zeros(0), nothing, nothing, nothing


Piece = TracedPiece | AffinePiece


def balance(u: Array, lo: Array, hi: Array, free: Array) -> bool:
    """Move the free entries of ``u`` in place so that sum u = 0, keeping them inside; false if they have no room."""
    excess = float(u.sum())
    room = np.where(free, u - lo if excess > 0 else hi - u, 0.0)
    total = float(room.sum())
    if abs(excess) > 0.99 * total:
        return abs(excess) <= 1e-12 * float(np.abs(u).sum())
    if total > 0:
        u -= excess / total * room
    return True
