"""The exact solution at every value of a parameter: a sorted chain of pieces over one training set.

``Path.at(t)`` is exact at any t of the range, not only at breakpoints. Where no multiplier lies strictly inside its box
the optimal intercepts form an interval [max over LO, min over HI of q - Ku]; its midpoint is used (its finite end if
the other is infinite), the rule of every softmargin solver. That happens on isolated t, where the intercept jumps, and
on stretches where the bounds of the two classes balance by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from softmargin.expansions import Kernel
from softmargin.paths.exact.pieces import ParametricQP, Piece
from softmargin.solvers import Solution

__all__ = ["Path", "TrainingRows"]

_INTERIOR = 1e-9  # of the box width: closer to a bound is at the bound
_SAMPLE = 25  # values at which the gap is measured
_BLOCK = 2**20  # multipliers evaluated at a time
Array = np.ndarray


@dataclass
class TrainingRows:
    """The rows a path was traced on, equal rows merged, and how they map back to the caller's rows."""

    X: Any
    kernel: Kernel | None
    y: Array
    weight: Array
    member: Array  # of each of the caller's rows; -1 for rows of zero weight
    share: Array

    def __post_init__(self) -> None:
        features = self.kernel is None or self.kernel.name == "linear"
        self.linear = features and not sparse.issparse(self.X) and self.X.shape[1] < len(self.y)
        K = self.X if self.linear else (self.kernel or Kernel("linear"))(self.X, self.X)
        self.matrix = np.ascontiguousarray(K, dtype=np.float64)

    def product(self, u: Array) -> Array:
        """K u over the training rows, never through an n x n matrix if the features are few."""
        return self.matrix @ (self.matrix.T @ u) if self.linear else self.matrix @ u

    def expand(self, u: Array) -> Array:
        """Multipliers of merged rows, divided among the rows the caller gave."""
        return np.where(self.member >= 0, u[self.member] * self.share, 0.0)

    def scores(self, X: Any, u: Array) -> Array:
        """h(x) for multipliers ``u`` of shape (n,) or (n, m)."""
        support = np.flatnonzero(u if u.ndim == 1 else u.any(axis=1))
        if self.kernel is None or self.kernel.name == "linear":
            return np.asarray(X @ (self.X[support].T @ u[support]))
        if self.kernel.precomputed:
            return np.asarray(X[:, np.flatnonzero(self.member >= 0)[support]] @ u[support])
        return self.kernel(X, self.X[support]) @ u[support]


class Path:
    """Exact solutions of an SVM-type problem for every value of one parameter.

    Made by :func:`cost_path`, :func:`weight_path` and :func:`balance_path`.

    Attributes
    ----------
    breakpoints : ndarray
        Ascending parameter values between which the solution is affine; the first and last are the ends of the range.
    range : tuple of float
        The parameter values for which the path holds an exact solution.
    events : structured ndarray
        Every change of a set: ``t``, ``index`` (row), ``before`` and ``after``, one of "L" (margin at most 1, the
        multiplier at its full bound), "E" (margin 1) and "R" (margin at least 1), by ascending t.
    complete : bool
        False if the event cap stopped the path before the end of the range asked for.
    violation : float
        The worst violation of the optimality conditions seen at any breakpoint, relative to their scale.
    n_events, n_bridges : int
        Events handled by the engine, and slivers bridged where it had to start anew.
    gap : float
        The largest relative duality gap at a sample of parameter values, computed when asked for.
    jitter : float
        Relative ridge added to the diagonal of the training Gram matrix.
    """

    def __init__(
        self, parameter: str, rows: TrainingRows, problem: ParametricQP, pieces: list[Piece], **facts: Any
    ) -> None:
        self.parameter = parameter
        self._rows, self._problem = rows, problem
        self._pieces = sorted(pieces, key=lambda piece: piece.bounds)
        self._seams = facts.pop("seams", ())
        self.n_events: int = facts.pop("n_events")
        self.n_bridges: int = facts.pop("n_bridges")
        self.violation: float = facts.pop("violation")
        self.complete: bool = facts.pop("complete")
        self.jitter: float = facts.pop("jitter")
        self.range = (self._pieces[0].bounds[0], self._pieces[-1].bounds[1])

    def __repr__(self) -> str:
        low, high = self.range
        return f"Path({self.parameter} in [{low:.6g}, {high:.6g}], {len(self.breakpoints)} breakpoints)"

    @property
    def gap(self) -> float:
        """The largest relative duality gap at a sample of values: what jitter and bridges cost."""
        knots = self.breakpoints
        middles = 0.5 * (knots[1:] + knots[:-1])
        # not in slivers: next to the end of a weight path the objective vanishes, and no gap is small relative to it
        middles = middles[np.diff(knots) > 1e-7 * np.maximum(np.abs(middles), 1e-3)]
        at = np.linspace(0, len(middles) - 1, min(len(middles), _SAMPLE)).astype(int)
        return max((self.at(t).gap for t in middles[at]), default=0.0)

    @property
    def breakpoints(self) -> Array:
        knots = np.unique(np.concatenate([piece.knots for piece in self._pieces]))
        knots = knots[np.isfinite(knots)]
        return knots[~np.isin(knots, self._seams)]

    @property
    def events(self) -> Array:
        parts = [piece.events() for piece in self._pieces]
        t, index, before, after = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        names = np.array([["R", "L", "E"], ["L", "R", "E"]])  # LO, HI, FREE for y = +1 and y = -1
        label = (self._rows.y[index] < 0).astype(int)
        representative = self._first_member()[index]
        table = np.empty(len(t), dtype=[("t", "f8"), ("index", "i8"), ("before", "U1"), ("after", "U1")])
        table["t"], table["index"] = t, representative
        table["before"], table["after"] = names[label, before], names[label, after]
        return table[np.argsort(t, kind="stable")]

    def _first_member(self) -> Array:
        first = np.full(len(self._rows.y), -1)
        member = self._rows.member
        rows = np.flatnonzero(member >= 0)[::-1]
        first[member[rows]] = rows
        return first

    # -- solutions ------------------------------------------------------------------------------------------------

    def at(self, t: float) -> Solution:
        """The exact solution at ``t``, with its duality gap."""
        t = self._check(t)
        (u,), (b,), (interval,) = self._evaluate(np.array([t]))
        b, h = float(b), self._rows.product(u)
        lo, hi = self._problem.box(t)
        residual = self._problem.q - h - b
        quadratic = float(u @ h)
        with np.errstate(invalid="ignore"):
            loss = np.maximum(_product(hi, residual), _product(lo, residual)).sum()
        primal, dual = 0.5 * quadratic + float(loss), float(self._problem.q @ u) - 0.5 * quadratic
        gap = (max(primal - dual, 0.0) + abs(b * u.sum())) / max(abs(primal), 1e-300)
        full = self._rows.expand(u)
        linear = self._rows.kernel is None
        coef = np.asarray(self._rows.X.T @ u) if linear else full
        return Solution(coef, b, full, primal, gap, self.n_events, True, "duality gap", intercept_interval=interval)

    def decision_function(self, X: Any, t: float | Array) -> Array:
        """Scores of the rows of ``X`` at ``t``; one column per value if ``t`` is an array."""
        values = np.array([self._check(value) for value in np.atleast_1d(t)])
        scores = self._scores(self._check_rows(X), values)
        return scores[:, 0] if np.ndim(t) == 0 else scores

    def _scores(self, X: Any, t: Array) -> Array:
        """The same for rows and values known to be good, in blocks that keep the multipliers few."""
        step = max(1, _BLOCK // len(self._problem.q))
        parts = (self._evaluate(t[begin : begin + step])[:2] for begin in range(0, len(t), step))
        return np.hstack([self._rows.scores(X, np.ascontiguousarray(u.T)) + b for u, b in parts])

    def _evaluate(self, t: Array) -> tuple[Array, Array, list[tuple[float, float] | None]]:
        """Multipliers, a row for each value, intercepts, and their intervals where nobody is inside the box."""
        u, b = np.empty((len(t), len(self._problem.q))), np.empty(len(t))
        starts = [piece.bounds[0] for piece in self._pieces]
        owner = np.maximum(np.searchsorted(starts, t, side="right") - 1, 0)
        for k in np.unique(owner):
            at = owner == k
            u[at], b[at] = self._pieces[k].duals(t[at])
        lo, hi = self._problem.box(t[:, None])
        np.clip(u, lo, hi, out=u)
        width = hi - lo
        margin = _INTERIOR * np.where(np.isfinite(width), width, np.abs(u).max(axis=1, keepdims=True))
        interior = np.any((u - lo > margin) & (hi - u > margin), axis=1)
        intervals: list[tuple[float, float] | None] = [None] * len(t)
        for k in np.flatnonzero(~interior):
            intervals[k] = low, high = self._interval(u[k], lo[k], hi[k])
            ends = [end for end in (low, high) if np.isfinite(end)]
            b[k] = np.mean(ends) if ends else b[k]
        return u, b, intervals

    def _interval(self, u: Array, lo: Array, hi: Array) -> tuple[float, float]:
        at_hi, movable = hi - u <= u - lo, hi > lo
        limits = self._problem.q - self._rows.product(u)
        low = float(np.max(limits[~at_hi & movable], initial=-np.inf))
        return low, float(np.min(limits[at_hi & movable], initial=np.inf))

    def _check(self, t: float) -> float:
        low, high = self.range
        if not (low <= t <= high):
            raise ValueError(f"{self.parameter}={t!r} lies outside this path, which covers [{low:.6g}, {high:.6g}].")
        if np.isinf(t):  # beyond the last breakpoint nothing moves; a finite value avoids inf - inf
            return 1.0 + 2.0 * float(self.breakpoints[-1])
        return float(t)

    def _check_rows(self, X: Any) -> Any:
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        expected = (
            len(self._rows.member) if self._rows.kernel and self._rows.kernel.precomputed else self._rows.X.shape[1]
        )
        if X.shape[1] != expected:
            raise ValueError(f"X has {X.shape[1]} columns, but the path was traced on {expected}.")
        return X


def _product(bound: Array, residual: Array) -> Array:
    """bound * residual with inf * 0 = 0 (an infinite bound costs nothing at a zero residual)."""
    return np.where(residual == 0, 0.0, bound * residual)
