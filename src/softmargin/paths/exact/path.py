"""The exact solution at every value of a parameter: a sorted chain of pieces over one training set.

``Path.at(t)`` is exact at any t of the range, not only at breakpoints. Where no multiplier lies strictly inside its box
the optimal intercepts form an interval [max over LO, min over HI of q - Ku]; its midpoint is used (its finite end if
the other is infinite), the rule of every softmargin solver. That happens on isolated t, where the intercept jumps, and
on stretches where the bounds of the two classes balance by themselves.

Pieces live in the units of ``TrainingRows`` (a Gram matrix of mean diagonal one); what is returned is in the caller's.
The certificate is the duality gap of what is returned: it is measured for every solution handed out, and over the whole
path (``Path.gap``) at every breakpoint and half way between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from softmargin._constraints import check_rows, is_number
from softmargin.expansions import canonical_sparse
from softmargin.paths.exact.pieces import ParametricQP, Piece, balance
from softmargin.paths.exact.products import FEW, STRETCH, PathMultipliers, PathProducts, path_products
from softmargin.paths.exact.training_rows import TrainingRows
from softmargin.solvers import Solution
from softmargin.solvers.svm import best_intercept

__all__ = ["EXACT", "Path", "PosedPath", "TraceReport"]

EXACT = 1e-6  # the relative duality gap up to which a solution counts as exact
_INTERIOR = 1e-9  # of the box width: closer to a bound is at the bound
_BALANCED = 1e-14  # of the sum of sizes: multipliers that were outside their boxes by more leave the others to balance
_NEARBY = 10.0 ** -np.arange(1.0, 12.0, 2.0)  # of a piece, from an end of the path
_STRAIGHT = 1e-7  # of the scores, at least of one: less is rounding, or what a direction that comes in may move
_BLOCK = 2**17  # multipliers evaluated at a time: a quarter less time on 400 rows than all at once, or few
_SCORED = 2**21  # the same for scores, whose similarities are made anew each time
# Where one class costs so little beside the other, rounding of an intercept costs more than what is left of the
# objective (at pi = 1e-9, 4e-12 of the score was 0.2% of it): the best intercept for the scores is taken instead.
_LOPSIDED = 1e-2
# Of the cost of a zero score: where the objective vanishes (pi = 0 or 1) the gap is relative to this. EXACT of it are
# 1e-13 of the costs, which is what rounding leaves of a sum over the rows.
_FLOOR = 1e-7
Array = np.ndarray
Product = Callable[[Array, Array], Array]  # K u, of values of the parameter and rows of multipliers


@dataclass(frozen=True)
class PosedPath:
    """What a path is the solution of: training rows and a QP in their units."""

    rows: TrainingRows
    qp: ParametricQP


@dataclass(frozen=True)
class TraceReport:
    """How the tracing went."""

    seams: tuple[float, ...]
    n_events: int
    n_bridges: int
    violation: float
    complete: bool
    jitter: float


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
        The largest relative duality gap at any breakpoint or between two, measured when first asked for.
    jitter : float
        Relative ridge added to the diagonal of the training Gram matrix.
    """

    def __init__(self, parameter: str, problem: PosedPath, pieces: list[Piece], trace: TraceReport) -> None:
        self.parameter = parameter
        self._rows, self._problem = problem.rows, problem.qp
        self._pieces = sorted(pieces, key=lambda piece: piece.bounds)
        self._seams = trace.seams
        self.n_events, self.n_bridges = trace.n_events, trace.n_bridges
        self.violation, self.complete, self.jitter = trace.violation, trace.complete, trace.jitter
        self.range = (self._pieces[0].bounds[0], self._pieces[-1].bounds[1])

    def __repr__(self) -> str:
        low, high = self.range
        return f"Path({self.parameter} in [{low:.6g}, {high:.6g}], {len(self.breakpoints)} breakpoints)"

    @cached_property
    def gap(self) -> float:
        """The largest relative duality gap at any breakpoint or half way between two."""
        return float(np.max(self._gaps(self._checkpoints()), initial=0.0))

    def _checkpoints(self) -> Array:
        """The values that certify the path: breakpoints, the middles between, and one value beyond the last.

        Objectives may vanish at an end, and what is nothing beside those of the middle may be all there is nearby.
        """
        knots = self.breakpoints
        beyond = [1.0 + 2.0 * knots[-1]] if np.isinf(self.range[1]) else []
        widths = np.diff(knots)
        low, high = (np.outer(widths[at], _NEARBY).ravel() for at in (slice(0, 1), slice(-1, None)))
        return np.concatenate([knots, knots[:-1] + 0.5 * widths, knots[0] + low, knots[-1] - high, beyond])

    def gaps(self, t: Array) -> Array:
        """The relative duality gaps of the solutions at the values ``t``."""
        return self._gaps(self._values(t))

    def _gaps(self, t: Array) -> Array:
        order = np.argsort(t, kind="stable")
        t, gaps, step = t[order], np.empty(len(t)), max(_BLOCK // len(self._problem.q), STRETCH)
        product = self._products_along(t, step)
        for begin in range(0, len(t), step):
            part = t[begin : begin + step]
            u, b, _, box = self._evaluate(part, product)
            gaps[order[begin : begin + step]] = self._certify(part, u, b, box, product)[1]
        return gaps

    def _products_along(self, t: Array, step: int) -> Product:
        """K u at ascending values, so many at a time."""
        if self._rows.linear or len(t) <= step:
            return self._product
        at = np.append(t[::step], t[-1:])
        return PathProducts(self._rows.matrix, at, np.concatenate([u for u, _, _ in self._blocks(at)]))

    def _product(self, t: Array, u: Array) -> Array:
        """K u at ascending values, wherever on the path."""
        rows = self._rows
        return rows.product(u) if rows.linear else path_products(rows.matrix, t, u)

    @property
    def breakpoints(self) -> Array:
        knots, straight = self._knots(), self._straight_seams
        return np.concatenate([knots[:1], knots[1:-1][~np.isin(knots[1:-1], straight)], knots[1:][-1:]])

    def _knots(self) -> Array:
        knots = np.unique(np.concatenate([piece.knots for piece in self._pieces]))
        return knots[np.isfinite(knots)]

    @cached_property
    def _straight_seams(self) -> Array:
        """Seams that no score bends or jumps at; rows of few values may lay one on a breakpoint.

        Scores of two lines that meet at a seam leave their chord by the bend over the shorter one, at most.
        """
        knots = self._knots()
        at = 1 + np.flatnonzero(np.isin(knots[1:-1], self._seams))
        if len(at) == 0:
            return np.empty(0)
        reach = np.minimum(knots[at] - knots[at - 1], knots[at + 1] - knots[at])
        t = knots[at][:, None] + reach[:, None] * [-0.75, -0.25, 0.25, 0.75]
        u, b, _, _ = self._evaluate(t.ravel(), lambda _, u: self._rows.product(u))
        scores = (self._rows.product(u) + b[:, None]).reshape(*t.shape, len(self._problem.q))
        bend = np.abs(np.diff(scores, n=2, axis=1)).max(axis=(1, 2), initial=0.0)
        return knots[at][bend <= _STRAIGHT * np.maximum(1.0, np.abs(scores).max(axis=(1, 2), initial=0.0))]

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
        values = np.array([t, t])  # measured as the whole path is: a product with one vector is rounded otherwise
        u, b, (interval, _), box = self._evaluate(values)
        (primal, _), (gap, _) = self._certify(values, u, b, box, self._product)
        rows, u = self._rows, u / self._rows.scale
        intercept = float(rows.intercept(u, b)[0])
        if interval is not None:
            shift = intercept - float(b[0])
            interval = (interval[0] + shift, interval[1] + shift)
        full = rows.expand(u[0])
        coef = rows.coefficients(u[0]) if rows.kernel is None else full
        return Solution(
            coef,
            intercept,
            full,
            float(primal) / rows.scale,
            float(gap),
            self.n_events,
            bool(gap <= EXACT),
            "duality gap",
            intercept_interval=interval,
        )

    def _certify(self, t: Array, u: Array, b: Array, box: tuple[Array, Array], product: Product) -> tuple[Array, Array]:
        """Primal objectives, in the engine's units, and relative duality gaps of solutions, a row for each."""
        (lo, hi), h = box, product(t, u)
        quadratic = np.einsum("ij,ij->i", u, h)
        residual = np.subtract(self._problem.q, h, out=h)
        residual -= b[:, None]
        with np.errstate(invalid="ignore", over="ignore"):
            bound = np.where(residual > 0, hi, lo)
            bound *= residual
            bound[residual == 0] = 0.0  # an infinite bound costs nothing at a zero residual
            loss, width = bound.sum(axis=1), np.subtract(hi, lo, out=bound)
        width[~np.isfinite(width)] = 0.0
        primal, dual = 0.5 * quadratic + loss, u @ self._problem.q - 0.5 * quadratic
        gap = np.maximum(primal - dual, 0.0) + np.abs(b * u.sum(axis=1))
        scale = np.maximum(np.abs(primal), _FLOOR * width.sum(axis=1))
        gap = gap / np.where(scale > 0, scale, 1.0)
        return primal, np.where(np.isfinite(gap), gap, np.inf)

    def decision_function(self, X: Any, t: float | Array) -> Array:
        """Scores of the rows of ``X`` at ``t``; one column per value if ``t`` is an array."""
        scores = self._scores(self._check_rows(X), self._values(t))
        return scores[:, 0] if np.ndim(t) == 0 else scores

    def scorer(self, t: Array) -> Callable[[Any], Array]:
        """``decision_function`` at values given once, whose coefficients or multipliers are made once too."""
        values, rows = self._values(t), self._rows
        if rows.on_similarities and len(rows.y) > FEW:
            return self._kernel_scorer(values)
        if not rows.linear or rows.X.shape[1] * len(values) > _SCORED:
            return lambda X: self._scores(self._check_rows(X), values)
        parts = [(rows.coefficients(u.T / rows.scale), b) for u, b, _ in self._blocks(values, _SCORED)]
        coef = np.hstack([np.empty((rows.X.shape[1], 0)), *(part for part, _ in parts)])
        b = np.concatenate([np.empty(0), *(part for _, part in parts)])
        return lambda X: rows.feature_scores(self._check_rows(X), coef, b)

    def _kernel_scorer(self, values: Array) -> Callable[[Any], Array]:
        """The same for so many values that their multipliers are kept as lines and what bends from them."""
        rows, order = self._rows, np.argsort(values, kind="stable")
        t, b = values[order], np.empty(len(values))
        at, product = np.append(t[::STRETCH], t[-1:]), self._products_along(t, STRETCH)

        def multipliers() -> Iterator[tuple[Array, Array]]:
            for begin in range(0, len(t), STRETCH):
                part = slice(begin, begin + STRETCH)
                u, found, _, _ = self._evaluate(t[part], product)
                u /= rows.scale
                b[part] = rows.intercept(u, found)
                yield t[part], u

        known = np.concatenate([u for u, _, _ in self._blocks(at)]) / rows.scale
        kept = PathMultipliers(at, known, multipliers())

        def score(X: Any) -> Array:
            X = self._check_rows(X)
            scores = np.empty((X.shape[0], len(t)))
            scores[:, order] = (kept.times(rows.similarities(X)) + b[:, None]).T
            return scores

        return score

    def _scores(self, X: Any, t: Array) -> Array:
        """The same for rows and values known to be good."""
        rows, order, scores = self._rows, np.argsort(t, kind="stable"), np.empty((X.shape[0], len(t)))
        begin, t = 0, t[order]
        for u, b, _ in self._blocks(t, _SCORED):
            part = slice(begin, begin := begin + len(b))
            scores[:, order[part]] = rows.scores(X, t[part], u / rows.scale, b)
        return scores

    def _blocks(self, t: Array, size: int = _BLOCK) -> Iterator[tuple[Array, Array, tuple[Array, Array]]]:
        """Multipliers, intercepts and bounds, in blocks that keep the multipliers few."""
        step = max(1, size // len(self._problem.q))
        for begin in range(0, len(t), step):
            u, b, _, box = self._evaluate(t[begin : begin + step])
            yield u, b, box

    def _evaluate(
        self, t: Array, product: Product | None = None
    ) -> tuple[Array, Array, list[tuple[float, float] | None], tuple[Array, Array]]:
        """Multipliers, a row for each value, intercepts, their intervals where nobody is inside the box, and it."""
        u, b = np.empty((len(t), len(self._problem.q))), np.empty(len(t))
        starts = [piece.bounds[0] for piece in self._pieces]
        owner = np.maximum(np.searchsorted(starts, t, side="right") - 1, 0)
        for k in np.unique(owner):
            at = owner == k
            u[at], b[at] = self._pieces[k].duals(t[at])
        lo, hi = self._problem.box(t[:, None])
        np.clip(u, lo, hi, out=u)
        sizes, above, below = np.abs(u), u - lo, hi - u
        margin = np.minimum(above + below, 2 * sizes.max(axis=1, keepdims=True, initial=0.0))
        margin *= _INTERIOR
        inside = np.minimum(above, below, out=above) > margin
        interior = np.any(inside, axis=1)
        for k in np.flatnonzero(interior & (np.abs(u.sum(axis=1)) > _BALANCED * sizes.sum(axis=1))):
            if not balance(u[k], lo[k], hi[k], inside[k]):  # a class that costs nothing has no room: all end at a bound
                ends = np.where(inside[k], lo[k] if u[k].sum() > 0 else hi[k], u[k])
                u[k] = ends if abs(ends.sum()) < abs(u[k].sum()) else u[k]
        intervals: list[tuple[float, float] | None] = [None] * len(t)
        for k in np.flatnonzero(~interior):
            intervals[k] = low, high = self._interval(u[k], lo[k], hi[k])
            finite = [end for end in (low, high) if np.isfinite(end)]
            b[k] = np.mean(finite) if finite else b[k]
        up, down = hi.sum(axis=1), -lo.sum(axis=1)
        lopsided = np.flatnonzero(interior & (np.minimum(up, down) < _LOPSIDED * np.maximum(up, down)))
        if not len(lopsided):
            return u, b, intervals, (lo, hi)
        for k, h in zip(lopsided, (product or self._product)(t[lopsided], u[lopsided]), strict=True):
            b[k] = best_intercept(self._problem.q - h, lo[k], hi[k])
        return u, b, intervals, (lo, hi)

    def _interval(self, u: Array, lo: Array, hi: Array) -> tuple[float, float]:
        at_hi, movable = hi - u <= u - lo, hi > lo
        limits = self._problem.q - self._rows.product(u)
        low = float(np.max(limits[~at_hi & movable], initial=-np.inf))
        return low, float(np.min(limits[at_hi & movable], initial=np.inf))

    def _values(self, t: float | Array) -> Array:
        """One value or several, checked."""
        listed = np.asarray(t, dtype=object)
        if listed.ndim > 1:
            raise ValueError(f"{self.parameter} must be a number or a list of numbers; got shape {listed.shape}.")
        return np.array([self._check(value) for value in np.atleast_1d(listed)], dtype=float)

    def _check(self, t: float) -> float:
        low, high = self.range
        if not is_number(t):
            raise ValueError(f"{self.parameter} must be a number in [{low:.6g}, {high:.6g}]; got {t!r}.")
        if not (low <= t <= high):
            raise ValueError(f"{self.parameter}={t!r} lies outside this path, which covers [{low:.6g}, {high:.6g}].")
        if np.isinf(t):  # beyond the last breakpoint nothing moves; a finite value avoids inf - inf
            return 1.0 + 2.0 * float(self.breakpoints[-1])
        return float(t)

    def _check_rows(self, X: Any) -> Any:
        expected = (
            len(self._rows.member) if self._rows.kernel and self._rows.kernel.precomputed else self._rows.X.shape[1]
        )
        return check_rows("X", canonical_sparse(X), expected, accept_sparse="csr", dtype=np.float64)
