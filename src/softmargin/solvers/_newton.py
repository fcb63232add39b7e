"""Damped Newton's method for smooth convex losses with a ridge penalty.

Each step solves a second-order model exactly, searches along it exactly, then makes the intercept optimal, which
certifies the point by its duality gap. The factor of the Hessian is kept for as long as its steps shrink the gap fast.
Losses with flat or quadratic pieces (squared hinge, Huber) need nothing special: rows without curvature drop out of
the model, and the search keeps the method where the model is good.

Starts. Losses that are nearly kinked (small temperatures) first solve smoother relatives of themselves,
``loss.relaxations()``, each from the solution of the one before; kernel problems with a huge ``C`` raise it by decades
in the same way. Problems with many rows first solve a small random
part of them: its solution is within sampling error of theirs, so few steps see all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import DataTerm, Problem
from softmargin.solvers._engine import Engine, relative_gap
from softmargin.solvers._geometry import FeatureGeometry, Geometry, KernelGeometry
from softmargin.solvers._line import Ray, center, descend
from softmargin.solvers._solution import Solution

__all__ = ["NEWTON"]

Array = NDArray[np.floating[Any]]

_ROUGH = 1e-2  # relative gap at which a relaxation or a sample has served its purpose
_HARD = 1e4  # weight of a row times its squared norm, in units of the ridge, from where weights are raised by decades
_MANY_ROWS = 20_000  # features: a sample of one row in twenty pays from here
_MANY_KERNEL_ROWS = 800  # kernels: a sample of one row in four, at 1/64 of the cost of a step


def _accepts(problem: Problem) -> bool:
    penalty = problem.penalty
    return problem.loss.convex and problem.loss.smooth and penalty.l1_ratio == 0 and not penalty.positive


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    expansion, ridge = problem.expansion, problem.penalty.ridge
    n, p = expansion.shape
    wide = p > n and not expansion.is_kernel
    geometry: Geometry
    if expansion.is_kernel or wide:
        geometry = KernelGeometry(expansion.outer(), ridge, problem.fit_intercept)
        share = 4 if n >= _MANY_KERNEL_ROWS else 1
    else:
        geometry = FeatureGeometry(expansion, ridge, problem.fit_intercept)
        share = 20 if n >= max(_MANY_ROWS, 100 * p) else 1
    if start is None and share > 1:
        start = _from_sample(problem, geometry, share, tol, max_iter, verbose)
    solution = _relaxed(problem, geometry, start, tol, max_iter, verbose)
    if wide:
        solution.coef = expansion.transpose(solution.coef)
    return solution


def _from_sample(problem: Problem, geometry: Geometry, share: int, tol: float, max_iter: int, verbose: int) -> Solution:
    """A start for all rows from a fit on one row in ``share`` of each class."""
    rng = np.random.default_rng(0)
    rows, times = [], []
    for label in (-1, 1):
        members = np.flatnonzero(problem.y == label)
        count = min(len(members), max(-(-len(members) // share), 100))
        rows.append(rng.choice(members, count, replace=False))
        times.append(np.full(count, len(members) / max(count, 1)))
    chosen = np.concatenate(rows)
    order = np.argsort(chosen)
    chosen = chosen[order]
    part, small = geometry.take(chosen), problem.take(chosen, np.concatenate(times)[order])
    solution = _relaxed(small, part, None, max(tol, _ROUGH), max_iter, verbose)
    solution.coef = geometry.lift(part, solution.coef, chosen)
    return solution


def _relaxed(
    problem: Problem, geometry: Geometry, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    """Newton's method on easier problems, each from the solution of the one before, then on the problem itself."""
    n_iter = 0
    for easier in _easier(problem, geometry) if start is None else ():
        start = _newton(easier, geometry, start, max(tol, _ROUGH), max_iter, verbose)
        n_iter += start.n_iter
    solution = _newton(problem, geometry, start, tol, max_iter, verbose)
    solution.n_iter += n_iter
    return solution


def _easier(problem: Problem, geometry: Geometry) -> Iterator[Problem]:
    relaxations = list(problem.loss.relaxations())
    yield from (problem.with_loss(loss) for loss in relaxations)
    hardness = float(problem.weights.max()) * geometry.reach
    if not relaxations and hardness > _HARD:
        yield from (problem.scaled(10.0**-k) for k in range(int(np.log10(hardness)) - 2, 0, -1))


def _newton(
    problem: Problem, geometry: Geometry, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    ridge, y = problem.penalty.ridge, problem.y
    coef = np.zeros(geometry.size) if start is None else geometry.coef_of(start)
    intercept = 0.0 if start is None else start.intercept
    scores = np.zeros(len(y)) if start is None else geometry.scores(coef)
    margins = problem.margins_of(scores, intercept)
    term = DataTerm(problem, margins)
    stale, last_gap, bend, history = False, np.inf, None, []
    for n_iter in range(max_iter + 1):
        shift, margins, term = center(problem, margins, term, bend)
        intercept += shift
        g = y * term.slope
        penalty = 0.5 * ridge * geometry.inner(coef, coef, scores)
        gap = relative_gap(geometry.gap(coef, scores, g), term.cost + penalty, penalty)
        history.append(term.cost + penalty)
        if verbose:
            print(f"newton step {n_iter}: objective {history[-1]:.12g}, relative duality gap {gap:.3g}")
        if gap <= tol or n_iter == max_iter:
            break
        if not stale or gap > geometry.patience * last_gap:
            geometry.factor(term.curvature)
            bend = float(term.curvature.sum())
        stale, last_gap = True, gap
        step = geometry.step(coef, g, gap)
        ray = Ray(
            y * (step.scores + step.intercept),
            ridge * geometry.inner(step.coef, coef, scores),
            ridge * geometry.inner(step.coef, step.coef, step.scores),
        )
        t, margins, term = descend(problem, margins, term, ray)
        if t == 0:
            break
        coef += t * step.coef
        intercept += t * step.intercept
        scores = scores + t * step.scores
    return Solution(coef, intercept, -g, history[-1], gap, n_iter, gap <= tol, history=history)


NEWTON = Engine("newton", "a smooth convex loss and l1_ratio=0 without sign constraints", _accepts, _run)
