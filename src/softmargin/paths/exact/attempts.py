"""From a posed path to the best tracing of it: as little jitter as goes through, restarts where nothing else does.

A ridge (jitter) on the Gram matrix of a smooth kernel keeps the elbow's equations solvable, at the price of a gap; so
does bridging a sliver after a restart. Attempts are made in the order of what they cost, each is measured by its
duality gap, and the first that is exact counts, or the most accurate of all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin._threads import one_blas_thread
from softmargin.paths.exact.path import EXACT, Path, PosedPath, TraceReport
from softmargin.paths.exact.pieces import ParametricQP
from softmargin.paths.exact.tracer import NoStart, Tracer
from softmargin.paths.exact.training_rows import TrainingRows

__all__ = ["TraceOptions", "trace_path"]

Array = np.ndarray
_REACH = 1e30  # bounds in units of the scores; beyond 1e9 or so accuracy suffers already
# No ridge first: it goes through exactly on smooth kernels too (moons, breast cancer, lattices, gamma .001 to 1/p),
# where a path with 1e-8 has a gap of 1e-11 to 1e-5 and costs as much.
_JITTERS = (0.0, 1e-8, 1e-7)
_RIDGE_WORK = 6e8  # multiplications that a ridge on features is worth: some seconds
_MOST_EVENTS = 2**31 - 1  # what every C long holds
_RESTARTS = 20  # of a run whose sets fail their own check
# Scores that directions left out of linear features may move: they cost a gap of half as much of the objective.
_UNSEEN = (1e-8, 1e-7, 1e-6, 1e-9)


class Attempt(NamedTuple):
    """A ridge, what directions of linear features left out may move of the scores, and a number of restarts."""

    jitter: float
    unseen: float
    restarts: int


@dataclass
class TraceOptions:
    """What the caller asked of the tracing: a jitter, or None for as little as goes through, and a cap on events."""

    jitter: float | None = None
    max_events: int | None = None
    _found: list[Attempt] | None = None

    def attempts(self, rows: TrainingRows) -> list[Attempt]:
        """What to try one after the other; found once for all paths over one Gram matrix."""
        if self._found is None:
            if not rows.linear:
                _check_gram(rows.matrix, rows.rounding)
            jitters = _JITTERS if self.jitter is None else (float(self.jitter),)
            exact = [(jitters[0], unseen) for unseen in _UNSEEN] if rows.linear else []
            levels = [*exact, *((jitter, _UNSEEN[0]) for jitter in jitters[len(exact) > 0 :])]
            found = [Attempt(*level, restarts) for restarts in (0, _RESTARTS) for level in levels]
            # of features few rows are free at a time, with a ridge all may be: it comes last
            self._found = sorted(found, key=lambda one: one.jitter) if rows.linear else found
        return self._found


def trace_path(
    name: str,
    posed: PosedPath,
    trace: Callable[[Tracer], tuple[float, ...]],
    options: TraceOptions,
) -> Path:
    """Trace with as little jitter as goes through exactly; if none does, the most accurate attempt counts."""
    _check_reach(posed.qp)
    with one_blas_thread(len(posed.rows.y), len(posed.rows.y)):
        best = _best_attempt(name, posed, trace, options)
    if not best.complete:
        warnings.warn(
            f"the path stopped after {best.n_events} events; it is exact for {name} in "
            f"[{best.range[0]:.6g}, {best.range[1]:.6g}]. Raise max_events, or set jitter=1e-7.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return best


def _best_attempt(
    name: str, posed: PosedPath, trace: Callable[[Tracer], tuple[float, ...]], options: TraceOptions
) -> Path:
    best: Path | None = None
    max_events = min(options.max_events or 1000 + 50 * len(posed.rows.y), _MOST_EVENTS)
    whole, stalled = False, set[tuple[float, float]]()  # levels at which a run stopped on the way
    for attempt in options.attempts(posed.rows):
        if (whole and attempt.unseen != _UNSEEN[0]) or (attempt.restarts and attempt[:2] not in stalled):
            continue
        if attempt.jitter and options.jitter is None and posed.rows.linear and best is not None and best.complete:
            continue  # a ridge frees all rows at a time, for a gap that is no smaller
        events = max_events
        if attempt.jitter and posed.rows.linear:  # all rows may be free, and an event then costs their square
            events = min(max_events, int(_RIDGE_WORK / len(posed.rows.y) ** 2))
        tracer = Tracer(posed.rows, attempt.jitter, events, attempt.restarts, attempt.unseen)
        try:
            seams = trace(tracer)
        except NoStart as error:
            failure = error
            continue
        finally:
            whole = not tracer.leaves_out
        if tracer.status == "stalled":
            stalled.add(attempt[:2])
        if not tracer.pieces:
            continue
        report = TraceReport(
            (*seams, *tracer.seams),
            tracer.n_events,
            tracer.n_bridges,
            tracer.violation,
            tracer.status == "finished",
            tracer.jitter,
        )
        path = Path(name, posed, tracer.pieces, report)
        if best is None or _quality(path) > _quality(best):
            best = path
        exact = path.gap <= EXACT and (path.n_bridges == 0 or posed.rows.linear)
        if tracer.status == "capped" or (path.complete and exact):
            break
    if best is None:
        raise failure
    return best


def _quality(path: Path) -> tuple[bool, float, float]:
    """Which of two attempts is better: complete first, then accurate inside the range, then at its ends too."""
    low, high = path.breakpoints[[0, -1]]
    inside = path.gaps(np.linspace(low, high, 11)[1:-1])
    return path.complete, -max(EXACT, float(inside.max())), -path.gap


def _check_reach(qp: ParametricQP) -> None:
    """Refuse bounds whose products with anything leave no digits: the tracing would end in overflow."""
    reach = max(float(np.abs(part).max()) for part in (qp.lo0, qp.lo1, qp.hi0, qp.hi1))
    if not reach < _REACH:
        raise ValueError(
            f"cost times squared row length reaches {reach:.2g}, far beyond double precision. Lower C or the weights, "
            "or scale the features."
        )


def _check_gram(K: Array, rounding: float) -> None:
    """Refuse matrices that cannot be a kernel: asymmetric ones, and those a sample of rows shows to be indefinite."""
    if np.linalg.norm(K - K.T) > 1e-6 * np.linalg.norm(K):
        raise ValueError("the kernel matrix is not symmetric; a path needs a symmetric positive semidefinite kernel.")
    at = _sample(len(K))
    values = np.linalg.eigvalsh(K[np.ix_(at, at)])
    if values[0] < -max(1e-7 * np.abs(values).max(), 10 * len(K) * rounding):
        raise ValueError(
            f"the kernel matrix is not positive semidefinite (eigenvalue {values[0]:.3g}); use a kernel that is."
        )


def _sample(n: int) -> Array:
    return np.linspace(0, n - 1, min(n, 100)).astype(int)
