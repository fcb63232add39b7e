"""Steps that read many rows once: from the solution of a sample of rows to the certified solution of all.

Where rows abound, a Newton step costs what reading the data costs, not what solving a ``p x p`` system costs. The
Hessian of a sample of ``m`` rows is that of all rows up to ``sqrt(p / m)``, so its inverse turns the residual of all
rows into a step that leaves a few per cent of the error, and :class:`Secant` learns what the sample did not know. A
whole step is right unless the slope along it says otherwise; then, or when the gap falls slowly, the method of
:mod:`softmargin.solvers.ridge.newton` takes over.

Certificate. The slopes at any margins ``v`` with ``1'g(v) = 0`` are a point of the dual, ``duality gap =
|ridge beta + Phi'g(v)|^2 / (2 ridge) + sum_i D_i`` with ``D = phi(u) - phi(v) - phi'(v) (u - v)``, weighted, never
negative. The intercept being nearly right, shifting the margins of a few rows makes the sum vanish, and the data are
not read again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import DataTerm, Problem
from softmargin.solution import Solution
from softmargin.solvers.ridge.line_search import center
from softmargin.solvers.ridge.quasi_newton import Secant, Sweep

__all__ = [
    "balance",
    "balanced_gap",
    "certified",
    "quasi_newton_iterations",
    "spread_rows",
    "stratified_sample",
    "thin",
]

Array = NDArray[np.floating[Any]]
T = TypeVar("T")

_MOST_STEPS = 8
_FLAT = 0.3  # a whole step is kept where the slope at its end is at most this fraction of the slope at its start
_SLOW = 0.2  # a gap that is not brought below this fraction by a step asks for a new Hessian
_FEW = 4096  # rows that make up for an intercept that is nearly right


def quasi_newton_iterations(
    here: Sweep, model: Secant, mass: float, target: float, judge: Callable[[Sweep], T | None]
) -> tuple[T | None, Sweep]:
    """From a point near the solution, with a nearly right Hessian of total curvature ``mass``, to the solution.

    Whether a point whose gap is nearly ``target`` is the solution, and what to make of it, is for ``judge`` to say.
    None is returned, with a better start, where steps disappoint.
    """
    gap = _gap(here, mass)
    for _ in range(_MOST_STEPS):
        found = judge(here) if gap <= target else None
        if found is not None:
            return found, here
        step = -model(here.residual)
        there = here.moved(step)
        slope, last_gap, gap = float(step @ here.residual), gap, _gap(there, mass)
        if not (gap <= _SLOW * last_gap and abs(float(step @ there.residual)) <= -_FLAT * slope):
            break
        model.learn(here, there)
        here = there
    return None, here


def _gap(here: Sweep, mass: float) -> float:
    """Nearly the duality gap."""
    residual = here.residual[:-1]
    push = float(here.residual[-1])
    return float(residual @ residual) / (2 * here.problem.penalty.ridge) + push * push / (2 * mass)


def certified(here: Sweep, tol: float) -> Solution | None:
    """A point as a solution with its duality gap, if that is small."""
    objective = here.objective
    gap, g = balanced_gap(here)
    gap /= max(abs(objective), here.penalty)
    if gap > tol:
        return None
    return Solution(here.coef, here.intercept, -g, objective, gap, here.number, True, history=[objective])


def balanced_gap(here: Sweep) -> tuple[float, Array]:
    """Make the responses sum to zero by moving the margins of a few rows; the duality gap and the responses then."""
    problem, g = here.problem, here.g
    if not problem.fit_intercept:
        residual = here.residual[:-1]
        return float(residual @ residual) / (2 * problem.penalty.ridge), g
    rows = spread_rows(len(g))
    gap, change = balance(problem.take(rows, np.ones(len(rows))), here.margins[rows], here.residual)
    g = g.copy()
    g[rows] += change
    return gap, g


def spread_rows(n: int) -> NDArray[np.intp]:
    """A few rows, spread over all."""
    return np.linspace(0, n - 1, min(_FEW, n)).astype(np.intp)


def balance(few: Problem, u: Array, residual: Array) -> tuple[float, Array]:
    """The duality gap once the responses of all rows sum to zero, by moving the margins ``u`` of a few of them.

    ``residual`` is that of all rows; what the responses of the few change by is returned as well.
    """
    g = few.y * DataTerm(few, u).slope
    # what the other rows sum to, as a tilt of these: balancing them balances all
    rest = (float(residual[-1]) - float(g.sum())) / len(g)
    few = replace(few, tilt=few.y * rest + (0.0 if few.tilt is None else few.tilt))
    _, v, term = center(few, u, DataTerm(few, u))
    change = few.y * term.slope - rest - g
    left = residual[:-1] + few.expansion.transpose(change)
    apart = max(few.cost(u) - term.cost - float(term.slope @ (u - v)), 0.0)
    return float(left @ left) / (2 * few.penalty.ridge) + apart, change


def stratified_sample(y: Array, share: float) -> tuple[NDArray[np.intp], Array]:
    """A share of the rows of each class, but a hundred at least, and how many rows each stands for."""
    parts = [np.flatnonzero(y == label) for label in (-1, 1)]
    drawn = [thin(rows, max(int(np.ceil(share * len(rows))), 100)) for rows in parts]
    times = [np.full(len(few), len(rows) / max(len(few), 1)) for rows, few in zip(parts, drawn, strict=True)]
    order = np.argsort(np.concatenate(drawn))
    return np.concatenate(drawn)[order], np.concatenate(times)[order]


def thin(rows: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """At most ``count`` of the rows, one at random from each of as many stretches."""
    if len(rows) <= count:
        return rows
    edges = np.linspace(0, len(rows), count + 1)
    inside = edges[:-1] + np.random.default_rng(0).random(count) * np.diff(edges)
    return rows[inside.astype(np.intp)]
