"""Damped Newton's method for smooth convex losses with a ridge penalty.

Each step solves the second-order model exactly, searches along it exactly, then makes the intercept optimal, which
certifies the point by its duality gap. Losses with flat or quadratic pieces (squared hinge, Huber) need nothing
special: rows without curvature drop out of the model, and the search stops the method from leaving the region where
the model is good. Losses that are nearly kinked (small temperatures) first solve smoother relatives of themselves,
``loss.relaxations()``, each from the solution of the one before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solvers._engine import Engine, relative_gap
from softmargin.solvers._geometry import FeatureGeometry, Geometry, KernelGeometry
from softmargin.solvers._line import Ray, center, descend
from softmargin.solvers._solution import Solution

__all__ = ["NEWTON"]

Array = NDArray[np.floating[Any]]

_ROUGH = 1e-2  # relative gap at which a relaxation has served its purpose


def _accepts(problem: Problem) -> bool:
    penalty = problem.penalty
    return problem.loss.convex and problem.loss.smooth and penalty.l1_ratio == 0 and not penalty.positive


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    expansion, ridge = problem.expansion, problem.penalty.ridge
    n, p = expansion.shape
    if not expansion.is_kernel and p <= n:
        geometry: Geometry = FeatureGeometry(expansion, ridge, problem.fit_intercept)
        return _relaxed(problem, geometry, start, tol, max_iter, verbose)
    geometry = KernelGeometry(expansion.outer(), ridge, problem.fit_intercept)
    if expansion.is_kernel:
        return _relaxed(problem, geometry, start, tol, max_iter, verbose)
    wide = _relaxed(problem, geometry, None, tol, max_iter, verbose)
    wide.coef = expansion.transpose(wide.coef)
    return wide


def _relaxed(
    problem: Problem, geometry: Geometry, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    """Newton's method on the relaxations of the loss, then on the loss itself."""
    n_iter = 0
    for loss in problem.loss.relaxations() if start is None else ():
        start = _newton(problem.with_loss(loss), geometry, start, max(tol, _ROUGH), max_iter, verbose)
        n_iter += start.n_iter
    solution = _newton(problem, geometry, start, tol, max_iter, verbose)
    solution.n_iter += n_iter
    return solution


def _newton(
    problem: Problem, geometry: Geometry, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    n, p = problem.expansion.shape
    ridge, y = problem.penalty.ridge, problem.y
    if isinstance(geometry, KernelGeometry):
        p = n
    coef: Array = np.zeros(p)
    scores: Array = np.zeros(n)
    intercept = 0.0
    if start is not None:
        coef, intercept = np.array(start.coef, dtype=np.float64), start.intercept
        scores = problem.expansion.apply(coef)
    margins = problem.margins_of(scores, intercept)
    term = problem.evaluate(margins)
    history: list[float] = []
    for n_iter in range(max_iter + 1):
        shift, term = center(problem, margins, term)
        intercept += shift
        margins = margins + shift * y
        g = y * term.slope
        penalty = 0.5 * ridge * geometry.quadratic(coef, coef, scores)
        objective = term.cost + penalty
        gap = relative_gap(geometry.gap(coef, scores, g), objective, penalty)
        history.append(objective)
        if verbose:
            print(f"newton step {n_iter}: objective {objective:.12g}, relative duality gap {gap:.3g}")
        if gap <= tol or n_iter == max_iter:
            break
        step = geometry.step(coef, scores, intercept, g, term.curvature)
        ray = Ray(
            y * (step.scores + step.intercept),
            ridge * geometry.quadratic(step.coef, coef, scores),
            ridge * geometry.quadratic(step.coef, step.coef, step.scores),
        )
        t, term = descend(problem, margins, term, ray)
        if t == 0:
            break
        coef += t * step.coef
        intercept += t * step.intercept
        scores = scores + t * step.scores
        margins = margins + t * ray.dmargins
    return Solution(coef, intercept, -g, objective, gap, n_iter, gap <= tol, history=history)


NEWTON = Engine("newton", "a smooth convex loss and l1_ratio=0 without sign constraints", _accepts, _run)
