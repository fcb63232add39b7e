"""From a problem to pieces of its path: an exact start, runs in both directions, restarts where the engine refuses.

The start needs no accurate solver, because the engine can make any guess exact. Take sets (E, LO, HI) and a feasible
u with those sets, choose the linear term q~ for which they are optimal (r = 0 on E, of the right sign with room to
spare elsewhere), and follow the path of q~ + s (q - q~) from s = 0 to 1: at s = 1 the sets are optimal for q. A good
guess needs few events, u = 0 always works.

A run ends in one of four ways: at the end of the range; where h becomes constant (the solution then moves on a known
straight line to the end); at the event cap (the verified prefix is kept); or because the sets failed their own
optimality check, in which case the problem is solved anew slightly further on and the sliver between is bridged
linearly and counted.

Columns of very different scales make directions in which the rows hardly differ. A multiplier is known to a tie of the
residuals over the squared length of a row beside the others, which for such a direction may exceed its whole box: the
sets would follow rounding. But multipliers that sum up to T move scores by ``T d^2`` at most where no row is longer
than d, so the direction is left out until that can be seen, and the run starts anew where it comes in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from softmargin._compiled.elbow import Elbow
from softmargin.paths.exact.pieces import FREE, HI, LO, AffinePiece, ParametricQP, Piece, TracedPiece, balance
from softmargin.paths.exact.training_rows import TrainingRows
from softmargin.solvers.svm import BoxQP, GramRows, midpoint, solve_box_qp

__all__ = ["NoStart", "Start", "Tracer"]

_START_TOLERANCES = (1e-3, 1e-6)  # of the guesses that a start is made from
_FLAT_INTERCEPTS: dict[float | None, float] = {0.0: 1.0, 1.0: -1.0}  # of the trivial solutions at either end
_LEVEL = 1e-12  # h varying less than this, times the size sum|u| max K_ii of its summands, is constant,
_LEVEL_SCORE = 1e-9  # unless it varies by more than this: large summands may leave a small difference
_NEGLIGIBLE = 1e-8  # scores below this change no objective by more than the gap that counts as exact
_ROUNDED = 1e-11  # of the longest axis
_FAR = 1e6  # cost times squared row length from which digits are short
_NEAR = (1e-7, 1e-5)  # of the box: guesses closer to a bound are at it
_SLIVER = 1e-7  # relative length bridged by the first restart
_RESOLVED = 16 * float(np.finfo(np.float64).eps)  # the least step from a value that is still one
Array = np.ndarray


class NoStart(ValueError):
    """No exact solution could be found to start from."""


@dataclass
class Start:
    """An exact solution at ``t`` as sets and numbers."""

    t: float
    state: Array
    elbow: Array
    u: Array
    b: float


@dataclass
class Tracer:
    """Follows ``ParametricQP`` s over one Gram matrix (or its features, if ``linear``)."""

    rows: TrainingRows
    jitter: float
    max_events: int
    max_restarts: int
    unseen: float
    n_events: int = 0
    n_bridges: int = 0
    violation: float = 0.0
    status: str = "finished"
    pieces: list[Piece] = field(default_factory=list)
    seams: list[float] = field(default_factory=list)
    leaves_out: bool = False

    def __post_init__(self) -> None:
        X, linear = self.rows.matrix, self.rows.linear
        self.rng = np.random.default_rng(0)  # breaks ties only; a fixed seed keeps fits reproducible
        self._scale = float(np.max(np.einsum("ij,ij->i", X, X) if linear else np.diagonal(X))) or 1.0
        self._turned = _principal(X) if linear else None
        self._use(X)

    def _use(self, matrix: Array) -> None:
        """Trace on these features, or on this Gram matrix."""
        linear = self.rows.linear
        self._matrix, self.engine = matrix, Elbow(matrix, linear, self.jitter)
        self._gram = GramRows(len(matrix), lambda at: matrix[at] @ matrix.T) if linear else GramRows.of(matrix)

    def _look(self, problem: ParametricQP, t: float) -> None:
        """Take the directions that multipliers within their bounds at ``t`` make seen."""
        if self._turned is None:
            return
        features, lengths = self._turned
        seen = max(int(np.sum(_total(problem, t) * lengths**2 >= self.unseen * (1 - 1e-6))), 1)
        self.leaves_out |= seen < len(lengths)
        if seen != self._matrix.shape[1]:
            whole = seen == self.rows.matrix.shape[1]
            self._use(self.rows.matrix if whole else np.ascontiguousarray(features[:, :seen]))

    def _product(self, u: Array) -> Array:
        return (u @ self._matrix) @ self._matrix.T if self.rows.linear else u @ self._matrix

    def features(self) -> Array:
        """Points whose inner products are K, for linear programs."""
        if self.rows.linear:
            return self.rows.matrix
        values, vectors = np.linalg.eigh(self.rows.matrix)
        keep = values > 1e-10 * values[-1]
        return vectors[:, keep] * np.sqrt(values[keep])

    def is_flat(self, u: Array) -> bool:
        """Is h = Ku constant over the training points?"""
        level = min(_LEVEL * self._scale * float(np.abs(u).sum()), _LEVEL_SCORE)
        return float(np.ptp(self.rows.product(u))) <= level

    def is_negligible(self, total: float) -> bool:
        """Are scores of multipliers that sum up to ``total`` too small to be seen beside a margin of one?"""
        return self._scale * total <= _NEGLIGIBLE

    # -- the start ------------------------------------------------------------------------------------------------

    def start(self, problem: ParametricQP, t: float, guess: Array | None = None) -> Start:
        """The exact solution at ``t``, from ``guess`` if one is given."""
        lo, hi = problem.box(t)
        self._look(problem, t)
        for attempt in (*_START_TOLERANCES, None):
            tried = np.zeros_like(lo)
            if attempt is not None:
                box = BoxQP(problem.q, lo, hi)
                tried = guess = solve_box_qp(self._gram, box, start=guess, tol=attempt, polish=False, max_iter=50).u
            if self._repair(problem.q, lo, hi, tried):
                return self._read_start(problem, t)
        reach = self._scale * float(np.max(hi - lo))
        if reach > _FAR:
            raise NoStart(
                f"the dual could not be solved at {t:.6g}: cost times squared row length reaches {reach:.2g}, and "
                "beyond about 1e9 sums of multipliers lose the digits of the scores. Lower C or the weights, scale "
                "the features, or use a rougher kernel (a larger gamma)."
            )
        raise NoStart(
            f"the dual could not be solved at {t:.6g}: rows that differ in some directions by rounding alone leave its "
            "multipliers undetermined. Scale the features, use a rougher kernel (a larger gamma) or set jitter=1e-7."
        )

    def _repair(self, q: Array, lo: Array, hi: Array, guess: Array) -> bool:
        zero = np.zeros_like(q)
        self.engine.retarget(q, zero, lo, zero, hi, zero)
        for near in _NEAR:  # those put at their bounds leave the others to balance, who may be as near to theirs
            u, state = self._snapped(lo, hi, np.clip(guess, lo, hi), near)
            free = state == FREE
            if balance(u, lo, hi, free):
                break
        else:
            return False
        h = self._product(u) + self.engine.shift * u
        b = float(np.median((q - h)[free])) if free.any() else 0.0
        residual = h + b - q
        wrong = np.where(state == LO, -residual, np.where(state == HI, residual, np.abs(residual)))
        room = (0.1 + 0.9 * self.rng.random(len(q))) * max(float(wrong.max()), 1e-9)
        residual = np.where(state == LO, np.maximum(residual, room), np.minimum(residual, -room))
        residual[free] = 0.0
        start = h + b - residual
        self.engine.retarget(start, q - start, lo, zero, hi, zero)
        status = self.engine.run(0.0, 1.0, self._tilt(state), self.max_events, record=False)
        self.n_events += self.engine.n_events
        return status == "finished"

    def _snapped(self, lo: Array, hi: Array, u: Array, near: float) -> tuple[Array, Array]:
        """Place multipliers, those ``near`` a bound (of its box) at it; returns them and the sets that came of it."""
        margin = near * np.minimum(hi - lo, 2 * float(np.abs(u).max(initial=0.0)))
        inside = (u - lo > margin) & (hi - u > margin)
        self.engine.place(np.where(u - lo <= hi - u, LO, HI).astype(np.int8), np.flatnonzero(inside), u)
        state, _ = self.engine.sets
        return np.where(state == LO, lo, np.where(state == HI, hi, u)), state

    def _read_start(self, problem: ParametricQP, t: float) -> Start:
        state, elbow = self.engine.sets
        lo, hi = problem.box(t)
        u = np.where(state == LO, lo, hi)
        if len(elbow):
            u[elbow], b = self.engine.solution(1.0)
            u = np.clip(u, lo, hi)  # what rounding put outside is not what a path returns
        else:
            limits = problem.q - self._product(u)
            b = midpoint(
                (float(limits[state == LO].max(initial=-np.inf)), float(limits[state == HI].min(initial=np.inf)))
            )
        return Start(t, state, elbow, u, b)

    def _tilt(self, state: Array) -> Array:
        """An infinitesimal change of q under which ``state`` is strictly optimal (see the engine's ties)."""
        size = 0.5 + 0.5 * self.rng.random(len(state))
        return np.where(state == LO, -size, np.where(state == HI, size, 0.0))

    # -- the runs -------------------------------------------------------------------------------------------------

    def follow(self, problem: ParametricQP, start: Start, t_end: float, *, flat_anchor: float | None = None) -> None:
        """Add the pieces from ``start`` to ``t_end``, in either direction.

        ``flat_anchor`` says what happens where h becomes constant: u shrinks linearly to zero at the anchor, or stays
        if the anchor is infinite. None: nothing special.
        """
        if self.status != "finished":  # an earlier run gave up
            return
        self._look(problem, start.t)
        for until in self._entries(problem, start.t, t_end):
            if not self._run(problem, start, until, t_end, flat_anchor):
                return
            (u,), _ = self.pieces[-1].duals(np.array([until]))
            start = self.start(problem, until, u)
            self.seams.append(until)
        self._run(problem, start, t_end, t_end, flat_anchor)

    def _entries(self, problem: ParametricQP, t: float, t_end: float) -> list[float]:
        """Where, on the way to ``t_end``, boxes that grow make one more direction seen."""
        rate, total = float(np.sum(problem.hi1 - problem.lo1)), _total(problem, t)
        if self._turned is None or rate * (t_end - t) <= 0:
            return []
        entries = [t + float(self.unseen / d**2 - total) / rate for d in self._turned[1] if d > 0]
        return sorted((at for at in entries if 0 < (at - t) / rate < (t_end - t) / rate), reverse=rate < 0)

    def _run(self, problem: ParametricQP, start: Start, until: float, t_end: float, flat_anchor: float | None) -> bool:
        """Add the pieces from ``start`` to ``until`` on the way to ``t_end``; is that where they end?"""
        direction = 1 if until >= start.t else -1
        origin = t_end if np.isfinite(t_end) and flat_anchor == t_end else 0.0
        aimed = problem.seen_from(origin, direction)
        zero = np.zeros_like(problem.q)
        for attempt in range(1 + self.max_restarts):
            state = self._place(problem, aimed, start)
            ends = direction * (start.t - origin), direction * (until - origin)
            left = self.max_events - self.n_events
            self.engine.watch_flat = flat_anchor is not None
            self.engine.flat_intercept = _FLAT_INTERCEPTS.get(flat_anchor, np.nan)
            status = self.engine.run(*ends, self._tilt(state), left)
            self.engine.watch_flat = False
            self.n_events += self.engine.n_events
            self.violation = max(self.violation, self.engine.violation if status != "stalled" else 0.0)
            if self.engine.n_segments:
                self.pieces.append(TracedPiece(aimed, origin, direction, state, self.engine.log()))
            reached = origin + direction * self.engine.t
            if status == "finished":
                return True
            if status == "capped":
                self.status = "capped"
                self.pieces.append(AffinePiece(start.u, zero, start.b, (start.t, start.t)))  # known even without a run
                return False
            if status == "flat":
                self._append_flat(reached, t_end, flat_anchor)
                return False
            if reached == until:
                return True
            if reached + 0.5 * (until - reached) == reached:  # no room to start anew
                break
            if attempt < self.max_restarts:
                start = self._restart(problem, start, reached, until, direction)
        self.status = "stalled"
        return False

    def _place(self, problem: ParametricQP, aimed: ParametricQP, start: Start) -> Array:
        """Give the engine the sets of ``start`` and the problem as it sees it; returns the sets it made of them."""
        lo, hi = problem.box(start.t)
        zero = np.zeros_like(problem.q)
        self.engine.retarget(aimed.q, zero, lo, zero, hi, zero)
        self.engine.place(np.where(start.state == FREE, LO, start.state), start.elbow, start.u.copy())
        self.engine.retarget(aimed.q, zero, aimed.lo0, aimed.lo1, aimed.hi0, aimed.hi1)
        return self.engine.sets[0]

    def _append_flat(self, t: float, t_end: float, anchor: float | None) -> None:
        if t == anchor:
            return
        (u,), (b,) = self.pieces[-1].duals(np.array([t]))
        u1 = np.zeros_like(u) if anchor is None or np.isinf(anchor) else u / (t - anchor)
        bounds = (min(t, t_end), max(t, t_end))
        self.pieces.append(AffinePiece(u - t * u1, u1, b, bounds))

    def _restart(self, problem: ParametricQP, start: Start, t: float, t_end: float, direction: int) -> Start:
        """Solve anew just beyond a stall at ``t`` and bridge the sliver."""
        u, b = start.u, start.b
        if self.engine.n_segments:
            (u,), (b,) = self.pieces[-1].duals(np.array([t]))
        ahead = abs(t_end - t) if np.isfinite(t_end) else max(1.0, abs(t))
        size = max(_SLIVER * min(max(abs(t), 1e-3), ahead), _RESOLVED * abs(t))  # costs may vanish at the end
        sliver = direction * min(size * 4.0**self.n_bridges, 0.5 * ahead)
        fresh = self.start(problem, t + sliver, u)
        u1 = (fresh.u - u) / sliver
        first, last = sorted([(t, b), (fresh.t, fresh.b)])
        slope = (last[1] - first[1]) / abs(sliver)
        self.pieces.append(AffinePiece(u - t * u1, u1, first[1], (first[0], last[0]), slope))
        self.n_bridges += 1
        return fresh


def _principal(X: Array) -> tuple[Array, Array]:
    """Features turned to their principal axes, and the largest coordinate on each, from large to small.

    Axes along which the rows differ by rounding alone (repeated columns far from zero) are none; one is left in any
    case, since products of no columns are undefined.
    """
    turned = X @ np.linalg.svd(X, full_matrices=False)[2].T
    lengths = np.abs(turned).max(axis=0, initial=0.0)
    order = np.argsort(-lengths)
    order = order[: max(1, np.count_nonzero(lengths > _ROUNDED * lengths.max(initial=0.0)))]
    return turned[:, order], lengths[order]


def _total(problem: ParametricQP, t: float) -> float:
    """The sum of the widths of the boxes at ``t``, which no multipliers exceed."""
    lo, hi = problem.box(t)
    return float(np.sum(hi - lo))
