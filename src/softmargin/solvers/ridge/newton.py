"""Damped Newton's method for smooth convex losses with a ridge penalty.

Each step solves a second-order model exactly, searches along it exactly, then makes the intercept optimal, which
certifies the point by its duality gap. The factor of the Hessian is kept for as long as its steps shrink the gap fast.
Losses with flat or quadratic pieces (squared hinge, Huber) need nothing special: rows without curvature drop out of
the model, and the search keeps the method where the model is good.

Starts. Losses that are nearly kinked (small temperatures) first solve smoother relatives of themselves,
``loss.relaxations()``, each from the solution of the one before; kernel problems with a huge ``C`` raise it by decades
in the same way (continuation). Features of many rows first solve a small random part of them: its solution is within
sampling error of theirs, so few steps see all rows (:mod:`softmargin.solvers.ridge.subsampled_start`). A kernel has a
coefficient for each row, most of which a part says nothing about, so it starts from zero.

Why a loop of its own. This one keeps margins, and searches lines on them without reading the data;
:mod:`softmargin.solvers.passes.newton` may not, because its rows are elsewhere;
:mod:`softmargin.solvers.elastic_net.proximal_newton` minimises a model that is not smooth, on a working set.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.expansions import fits
from softmargin.problem import DataTerm, Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.ridge.conjugate_gradient import ConjugateSystem, TrialSystem
from softmargin.solvers.ridge.kernel_certificate import coefficients_as_dual
from softmargin.solvers.ridge.line_search import Ray, center, descend
from softmargin.solvers.ridge.newton_systems import Factor, FeatureSystem, KernelSystem, NewtonSystem, Step
from softmargin.solvers.ridge.quasi_newton import Secant, Sweep
from softmargin.solvers.ridge.subsampled_start import certified, quasi_newton_iterations, stratified_sample
from softmargin.solvers.thresholds import prefers_factor, prefers_rows

__all__ = ["HARD", "NEWTON", "Iterations", "Point", "newton", "newton_iterations", "newton_system"]

Array = NDArray[np.floating[Any]]

_ROUGH = 1e-2  # relative gap at which a relaxation or a sample has served its purpose
# steps without a smaller gap or objective after which rounding is all that is left
_GAIN, _ROUNDING, _IDLE = 0.9, 1e-13, 20
_WORSE = 10.0  # times the gap before: a step after which the objective is looked at
_FINEST, _COARSEST = 1e-8, 0.1  # reductions of squared residuals that steps without a factor are asked for
_SPARE = 0.3  # the last step aims at this fraction of the tolerance
# Steps without a factor after which one of all rows is made, however many products it costs, if they are no more than
# that: where few rows are told apart at large costs, each step takes hundreds of products, and there are hundreds.
_TRIED, _MOST_ROWS, _COPIES = 25, 6000, 3
HARD = 1e4  # weight of a row times its squared norm, in units of the ridge, from where weights are raised by decades
_FINER = 1e-6  # of the tolerance, to which the gap by the coefficients is brought where that by the slopes is hidden


def _accepts(problem: Problem) -> bool:
    penalty = problem.penalty
    return problem.loss.convex and problem.loss.smooth and penalty.l1_ratio == 0 and not penalty.positive


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    system = newton_system(problem)
    if type(system) in (FeatureSystem, ConjugateSystem) and TrialSystem.suits(problem):
        system = TrialSystem(problem.expansion, problem.penalty.ridge, problem.fit_intercept)
    n, p = problem.expansion.shape
    tried = type(system) is ConjugateSystem and n < p and n <= _MOST_ROWS and fits(_COPIES * 8 * n * n)
    solution = newton(problem, system, start, tol, min(max_iter, _TRIED) if tried else max_iter, verbose)
    if tried and solution.gap > tol and max_iter > _TRIED:  # slopes far out are no start for coefficients of rows
        other = newton(problem, _factored_system(problem), None, tol, max_iter - _TRIED, verbose)
        other = replace(other, coef=problem.expansion.transpose(other.coef), n_iter=solution.n_iter + other.n_iter)
        return min(solution, other, key=lambda one: one.gap)
    if isinstance(system, KernelSystem) and not problem.expansion.is_kernel:
        solution.coef = problem.expansion.transpose(solution.coef)
    return solution


def newton_system(problem: Problem) -> NewtonSystem:
    """Factor the smaller of the two systems while that is cheap; multiply only, beyond."""
    expansion = problem.expansion
    narrow = expansion.shape[1] <= expansion.shape[0]
    if expansion.is_kernel or prefers_rows(expansion) or (narrow and prefers_factor(expansion)):
        return _factored_system(problem)
    return ConjugateSystem(expansion, problem.penalty.ridge, problem.fit_intercept)


def _factored_system(problem: Problem) -> NewtonSystem:
    expansion, ridge, fit_intercept = problem.expansion, problem.penalty.ridge, problem.fit_intercept
    if expansion.is_kernel or expansion.shape[1] > expansion.shape[0]:
        return KernelSystem(expansion.outer(), ridge, fit_intercept)
    return FeatureSystem(expansion, ridge, fit_intercept)


def newton(
    problem: Problem, system: NewtonSystem, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    """Newton's method on all rows, from the same on a part of them where there are many."""
    factor = None
    if start is None and isinstance(system, FeatureSystem) and len(problem.y) >= system.many:
        small = problem.take(*stratified_sample(problem.y, system.share))
        part = system.of(small.expansion)
        start = newton(small, part, None, max(tol, _ROUGH), max_iter, verbose)
        curvature = small.evaluate(small.margins_of(part.scores(start.coef), start.intercept)).curvature
        factor = system.adopt(part.factor(curvature)) if isinstance(system, FeatureSystem) else None
        if factor is not None:
            here = Sweep(problem, np.append(start.coef, start.intercept))
            model, target = Secant(factor.bordered), tol * abs(start.objective)
            found, here = quasi_newton_iterations(here, model, factor.mass, target, lambda at: certified(at, tol))
            if found is not None:
                return found
            start = replace(start, coef=here.coef, intercept=here.intercept)
    return _relaxed(problem, system, start, factor, (tol, max_iter, verbose))


def _relaxed(
    problem: Problem, system: NewtonSystem, start: Solution | None, factor: Factor | None, how: tuple[float, int, int]
) -> Solution:
    """Newton's method on easier problems, each from the solution of the one before, then on the problem itself."""
    n_iter, (tol, max_iter, verbose) = 0, how
    for easier in _easier(problem, system) if start is None else ():
        point = Point(easier, system, start)
        start = newton_iterations(point, None, max(tol, _ROUGH), max_iter, verbose).solution(point, tol)
        n_iter += start.n_iter
    # a start that comes with a factor is a good one: it may need no step
    point = Point(problem, system, start)
    if factor is not None:
        point.certify(factor.mass)
    solution = newton_iterations(point, factor, tol, max_iter, verbose).solution(point, tol)
    solution.n_iter += n_iter
    return solution


def _easier(problem: Problem, system: NewtonSystem) -> Iterator[Problem]:
    relaxations = list(problem.loss.relaxations())
    yield from (problem.with_loss(loss) for loss in relaxations)
    hardness = float(problem.weights.max()) * system.reach
    if not relaxations and hardness > HARD:
        yield from (problem.scaled(10.0**-k) for k in range(int(np.log10(hardness)) - 2, 0, -1))


class Iterations(NamedTuple):
    """How many steps were taken, the objectives on the way, and the factor that made the last step."""

    number: int
    history: list[float]
    factor: Factor | None

    def solution(self, point: Point, tol: float) -> Solution:
        """The point they ended at as a solution."""
        gap = point.gap / point.scale if point.scale > 0 else point.gap
        where = (point.coef, point.intercept, point.dual, point.objective)
        return Solution(*where, gap, self.number, gap <= tol, history=self.history)


def newton_iterations(point: Point, factor: Factor | None, tol: float, max_iter: int, verbose: int) -> Iterations:
    """Newton steps from a point (which moves) until its gap is ``tol``; ``factor`` makes the first if it is given."""
    history: list[float] = []
    last_gap = least = np.inf
    lowest, idle, before = point.objective, 0, copy(point)
    for n_iter in range(max_iter + 1):
        mass = None if factor is None else factor.mass
        point.measure(mass)
        if point.gap > _WORSE * last_gap and point.value() > before.value():  # a step that was rounding
            vars(point).update(vars(before))
            point.certify(mass)
            break
        idle = 0 if point.gap < _GAIN * least or point.objective < lowest - _ROUNDING * abs(lowest) else idle + 1
        least, lowest = min(least, point.gap), min(lowest, point.objective)
        last = n_iter == max_iter or idle == _IDLE
        if point.is_within(tol) or factor is None or last:
            point.certify(mass)
            history.append(point.objective)
            if point.is_within(tol) or last:
                break
        if is_heard(verbose):
            report("newton step", f"objective {point.objective:.12g}, duality gap {point.gap:.3g}", verbose)
        if factor is None or point.gap > factor.patience * last_gap:
            factor = point.system.factor(point.term.curvature)
            history.append(point.value())
        last_gap, before = point.gap, copy(point)
        if not point.advance(factor, _SPARE * tol * point.scale / point.gap if point.gap > 0 else 0.0):
            point.certify(factor.mass)
            break
    return Iterations(n_iter, history, factor)


class Point:
    """Where the method stands: coefficients, intercept, scores, margins and the data term there.

    ``objective`` is the last value computed, an upper bound of the present one: slopes decide every step, so the
    objective itself is only wanted in units of the gap.
    """

    def __init__(self, problem: Problem, system: NewtonSystem, start: Solution | None) -> None:
        self.problem, self.system, self.ridge = problem, system, problem.penalty.ridge
        n = len(problem.y)
        # rounding of scores may hide what slopes certify
        self.hides = isinstance(system, KernelSystem) and float(problem.weights.max()) * system.reach > HARD
        self.coef = np.zeros(system.size) if start is None else system.coef_of(start)
        self.intercept = 0.0 if start is None else float(start.intercept)
        self.scores = np.zeros(n) if start is None else system.scores(self.coef)
        self.margins = problem.margins_of(self.scores, self.intercept)
        self.term = DataTerm(problem, self.margins)
        self._measured: DataTerm | None = None
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
        other.term = self.problem.evaluate(other.margins)
        other.value()
        return other

    def slope_along(self, step: Step) -> float:
        """The derivative of the objective along a direction."""
        change = self.problem.y * (step.scores + step.intercept)
        return float(self.term.slope @ change) + self.ridge * self.system.inner(self.coef, step.coef, step.scores)

    @property
    def penalty(self) -> float:
        return max(0.5 * self.ridge * self.system.inner(self.coef, self.coef, self.scores), 0.0)

    @property
    def scale(self) -> float:
        """The unit of relative gaps; a tilt can cancel the objective, never its penalty part as well."""
        return max(abs(self.objective), self.penalty)

    @property
    def forcing(self) -> float:
        """The reduction of squared residuals worth asking of a step: Newton's own error is of the order of the gap."""
        scale = self.scale
        return min(max(self.gap / scale, _FINEST), _COARSEST) if scale > 0 else _COARSEST

    def is_within(self, tol: float) -> bool:
        """Whether the relative gap is ``tol``, but for what rounding adds to it whatever steps follow.

        That of the coefficients knows no similarities and is small long before the scores have their digits.
        """
        return min(self.by_slopes, self.by_coefficients / _FINER) <= tol * self.scale

    def value(self) -> float:
        """The objective, computed here."""
        self.objective = self.term.cost + self.penalty
        return self.objective

    def measure(self, mass: float | None = None) -> None:
        """The residual and the duality gap, with what an intercept that is not yet optimal still has to give.

        ``mass`` is the second derivative along the intercept, if it is known.
        """
        if self._measured is not self.term:
            self._measured = self.term
            self.g = self.problem.y * self.term.slope
            self.residual = self.system.residual(self.coef, self.scores, self.g)
        self.dual: Array = -self.g
        self.gap = self.residual.gap
        if self.problem.fit_intercept and mass:
            push = float(self.g.sum())
            self.gap += push * push / (2 * mass)  # a power would raise where a product is infinite
        self.by_slopes, self.by_coefficients = self.gap, np.inf
        if self.hides:
            assert isinstance(self.system, KernelSystem)
            found = coefficients_as_dual(self.problem, self.system, self.coef, self.margins)
            if found.gap < self.gap:
                self.dual, self.gap = found.dual, min(self.gap, found.gap + found.rounding)
                self.by_coefficients = found.gap

    def certify(self, mass: float | None = None) -> None:
        """Make the intercept optimal, which makes the gap a certificate, and compute the objective."""
        if self.hides:  # scores that steps have added up hold the rounding of the largest
            self.scores = self.system.scores(self.coef)
            self.margins = self.problem.margins_of(self.scores, self.intercept)
            self.term = DataTerm(self.problem, self.margins)
        shift, self.margins, self.term = center(self.problem, self.margins, self.term, mass)
        self.intercept += shift
        self.measure(mass)
        self.value()

    def advance(self, factor: Factor, least: float = 0.0) -> bool:
        """Take a step that need not reduce the gap below ``least`` times; False where rounding leaves no descent."""
        system, y = self.system, self.problem.y
        step = factor.step(self.residual, self.coef, self.g, max(self.forcing, least))
        ray = Ray(
            y * (step.scores + step.intercept),
            self.ridge * system.inner(step.coef, self.coef, self.scores),
            max(self.ridge * system.inner(step.coef, step.coef, step.scores), 0.0),  # rounding alone makes it negative
        )
        t, self.margins, self.term = descend(self.problem, self.margins, self.term, ray)
        self.coef = self.coef + t * step.coef
        self.intercept += t * step.intercept
        self.scores = self.scores + t * step.scores
        return t > 0


NEWTON = Engine(
    "newton", "a smooth convex loss and l1_ratio=0 without sign constraints", _accepts, _run, takes_features=True
)
