"""Damped Newton's method for smooth convex losses with a ridge penalty.

Each step solves a second-order model exactly, searches along it exactly, then makes the intercept optimal, which
certifies the point by its duality gap. The factor of the Hessian is kept for as long as its steps shrink the gap fast.
Losses with flat or quadratic pieces (squared hinge, Huber) need nothing special: rows without curvature drop out of
the model, and the search keeps the method where the model is good.

Starts. Losses that are nearly kinked (small temperatures) first solve smoother relatives of themselves,
``loss.relaxations()``, each from the solution of the one before; kernel problems with a huge ``C`` raise it by decades
in the same way. Features of many rows first solve a small random part of them: its solution is within sampling
error of theirs, so few steps see all rows (:mod:`softmargin.solvers.ridge.subsampled_start`). A kernel has a
coefficient for each row, most of which a part says nothing about, so it starts from zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import DataTerm, Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.ridge.conjugate_gradient import ConjugateGeometry
from softmargin.solvers.ridge.line_search import Ray, center, descend
from softmargin.solvers.ridge.newton_systems import FeatureGeometry, Geometry, KernelGeometry, Step
from softmargin.solvers.ridge.quasi_newton import Secant, Sweep
from softmargin.solvers.ridge.subsampled_start import certified, glide

__all__ = ["NEWTON", "Point", "geometry_of", "march", "newton", "sample", "thin"]

Array = NDArray[np.floating[Any]]

_ROUGH = 1e-2  # relative gap at which a relaxation or a sample has served its purpose
_SMALL, _SMALL_SPARSE = 3000, 100  # rows or columns up to which a dense factor beats products with the data
_GAIN, _ROUNDING, _IDLE = 0.9, 1e-13, 20  # steps without a smaller gap or objective before rounding is all that is left
_HARD = 1e4  # weight of a row times its squared norm, in units of the ridge, from where weights are raised by decades


def _accepts(problem: Problem) -> bool:
    penalty = problem.penalty
    return problem.loss.convex and problem.loss.smooth and penalty.l1_ratio == 0 and not penalty.positive


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    geometry = geometry_of(problem)
    solution = newton(problem, geometry, start, tol, max_iter, verbose)
    if isinstance(geometry, KernelGeometry) and not problem.expansion.is_kernel:
        solution.coef = problem.expansion.transpose(solution.coef)
    return solution


def geometry_of(problem: Problem) -> Geometry:
    """Factor the smaller of the two systems while it is small; multiply only, beyond."""
    expansion, ridge, fit_intercept = problem.expansion, problem.penalty.ridge, problem.fit_intercept
    n, p = expansion.shape
    small = _SMALL_SPARSE if expansion.is_sparse else _SMALL
    if expansion.is_kernel or (p > n and n <= small):
        return KernelGeometry(expansion.outer(), ridge, fit_intercept)
    if p <= small:
        return FeatureGeometry(expansion, ridge, fit_intercept)
    return ConjugateGeometry(expansion, ridge, fit_intercept)


def newton(
    problem: Problem, geometry: Geometry, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    """Newton's method on all rows, from the same on a part of them where there are many."""
    if start is None and isinstance(geometry, FeatureGeometry) and len(problem.y) >= geometry.many:
        rows, times = sample(problem.y, 1 / geometry.share)
        small = problem.take(rows, times)
        part = geometry.of(small.expansion)
        start = newton(small, part, None, max(tol, _ROUGH), max_iter, verbose)
        part.factor(small.evaluate(small.margins_of(part.scores(start.coef), start.intercept)).curvature)
        geometry.adopt(part)
        if geometry.total:
            here = Sweep(problem, np.append(start.coef, start.intercept))
            model, target = Secant(geometry.inverse), tol * abs(start.objective)
            found, here = glide(here, model, geometry.total, target, lambda place: certified(place, tol))
            if found is not None:
                return found
            start = replace(start, coef=here.coef, intercept=here.intercept)
    return _relaxed(problem, geometry, start, tol, max_iter, verbose)


def sample(y: Array, share: float) -> tuple[NDArray[np.intp], Array]:
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


def _relaxed(
    problem: Problem, geometry: Geometry, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    """Newton's method on easier problems, each from the solution of the one before, then on the problem itself."""
    n_iter = 0
    for easier in _easier(problem, geometry) if start is None else ():
        start = _at(easier, geometry, start, max(tol, _ROUGH), max_iter, verbose)
        n_iter += start.n_iter
        geometry.total = None
    solution = _at(problem, geometry, start, tol, max_iter, verbose)
    solution.n_iter += n_iter
    return solution


def _easier(problem: Problem, geometry: Geometry) -> Iterator[Problem]:
    relaxations = list(problem.loss.relaxations())
    yield from (problem.with_loss(loss) for loss in relaxations)
    hardness = float(problem.weights.max()) * geometry.reach
    if not relaxations and hardness > _HARD:
        yield from (problem.scaled(10.0**-k) for k in range(int(np.log10(hardness)) - 2, 0, -1))


def _at(
    problem: Problem, geometry: Geometry, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    # a start that comes with a factor is a good one: it may need no step
    point = Point(problem, geometry, start, certify=start is not None and geometry.total is not None)
    n_iter, history = march(point, tol, max_iter, verbose)
    return point.solution(n_iter, tol, history)


def march(point: Point, tol: float, max_iter: int, verbose: int) -> tuple[int, list[float]]:
    """Newton steps from a point until its gap is ``tol``; their number and the objectives on the way."""
    geometry = point.geometry
    history: list[float] = []
    last_gap = least = np.inf
    lowest, idle = point.objective, 0
    for n_iter in range(max_iter + 1):
        point.measure()
        idle = 0 if point.gap < _GAIN * least or point.objective < lowest - _ROUNDING * abs(lowest) else idle + 1
        least, lowest = min(least, point.gap), min(lowest, point.objective)
        last = n_iter == max_iter or idle == _IDLE
        if point.gap <= tol * point.scale or geometry.total is None or last:
            point.certify()
            history.append(point.objective)
            if point.gap <= tol * point.scale or last:
                break
        if verbose:
            print(f"newton step {n_iter}: objective {point.objective:.12g}, duality gap {point.gap:.3g}")
        if geometry.total is None or point.gap > geometry.patience * last_gap:
            geometry.factor(point.term.curvature)
            history.append(point.value())
        last_gap = point.gap
        if not point.advance():
            point.certify()
            break
    return n_iter, history


class Point:
    """Where the method stands: coefficients, intercept, scores, margins and the data term there.

    ``objective`` is the last value computed, an upper bound of the present one: slopes decide every step, so the
    objective itself is only wanted in units of the gap.
    """

    def __init__(self, problem: Problem, geometry: Geometry, start: Solution | None, certify: bool = False) -> None:
        self.problem, self.geometry, self.ridge = problem, geometry, problem.penalty.ridge
        n = len(problem.y)
        self.coef = np.zeros(geometry.size) if start is None else geometry.coef_of(start)
        self.intercept = 0.0 if start is None else float(start.intercept)
        self.scores = np.zeros(n) if start is None else geometry.scores(self.coef)
        self.margins = problem.margins_of(self.scores, self.intercept)
        self.term = DataTerm(problem, self.margins)
        if certify:
            self.certify()
        else:
            self.value()

    def under(self, problem: Problem, objective: float) -> Point:
        """The same place under another loss, other weights or tilts, where the objective is known."""
        other = copy(self)
        other.problem, other.term, other.objective = problem, DataTerm(problem, self.margins), objective
        return other

    def shifted(self, step: Step) -> Point:
        """The place a whole step away."""
        other = copy(self)
        other.coef, other.intercept = self.coef + step.coef, self.intercept + step.intercept
        other.scores = self.scores + step.scores
        other.margins = self.problem.margins_of(other.scores, other.intercept)
        other.term = DataTerm(self.problem, other.margins)
        other.value()
        return other

    @property
    def penalty(self) -> float:
        return 0.5 * self.ridge * self.geometry.inner(self.coef, self.coef, self.scores)

    @property
    def scale(self) -> float:
        """The unit of relative gaps; a tilt can cancel the objective, never its penalty part as well."""
        return max(abs(self.objective), self.penalty)

    def value(self) -> float:
        """The objective, computed here."""
        self.objective = self.term.cost + self.penalty
        return self.objective

    def measure(self) -> None:
        """The duality gap, with what an intercept that is not yet optimal still has to give."""
        if self.geometry.seen is self.term:
            return
        self.geometry.seen = self.term
        self.g = self.problem.y * self.term.slope
        self.gap = self.geometry.gap(self.coef, self.scores, self.g)
        if self.problem.fit_intercept and self.geometry.total:
            self.gap += float(self.g.sum()) ** 2 / (2 * self.geometry.total)

    def certify(self) -> None:
        """Make the intercept optimal, which makes the gap a certificate, and compute the objective."""
        shift, self.margins, self.term = center(self.problem, self.margins, self.term, self.geometry.total)
        self.intercept += shift
        self.measure()
        self.value()

    def advance(self) -> bool:
        """Take a step; False where rounding leaves no direction of descent."""
        geometry, y = self.geometry, self.problem.y
        step = geometry.step(self.coef, self.g, self.gap / self.scale if self.scale > 0 else 1.0)
        ray = Ray(
            y * (step.scores + step.intercept),
            self.ridge * geometry.inner(step.coef, self.coef, self.scores),
            self.ridge * geometry.inner(step.coef, step.coef, step.scores),
        )
        t, self.margins, self.term = descend(self.problem, self.margins, self.term, ray)
        self.coef = self.coef + t * step.coef
        self.intercept += t * step.intercept
        self.scores = self.scores + t * step.scores
        return t > 0

    def solution(self, n_iter: int, tol: float, history: list[float]) -> Solution:
        gap = self.gap / self.scale if self.scale > 0 else self.gap
        return Solution(self.coef, self.intercept, -self.g, self.objective, gap, n_iter, gap <= tol, history=history)


NEWTON = Engine("newton", "a smooth convex loss and l1_ratio=0 without sign constraints", _accepts, _run)
