"""Minimising one convex bound after the other, each from where the last one ended.

Smooth problems with a ridge keep one Newton system and its factors through all rounds; all others go through whichever
engine accepts them. Both can take Newton steps of the nonconvex problem itself, under l1 costs those of
:mod:`.support_step`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.local_linear import LOCAL_LINEAR, stationarity
from softmargin.solvers.elastic_net.proximal_newton import PROXIMAL_NEWTON, approach
from softmargin.solvers.engine import Engine
from softmargin.solvers.nonconvex.dual_bounds import DualSolver, accepts_dual
from softmargin.solvers.nonconvex.growing_samples import growing_samples
from softmargin.solvers.nonconvex.majorize_minimise import ROUNDING
from softmargin.solvers.nonconvex.support_step import support_step, upward_step
from softmargin.solvers.ridge.conjugate_gradient import ConjugateSystem
from softmargin.solvers.ridge.indefinite_step import indefinite_step
from softmargin.solvers.ridge.newton import NEWTON, Point, newton, newton_iterations, newton_system
from softmargin.solvers.ridge.newton_systems import Factor, FeatureSystem, KernelSystem, Step
from softmargin.solvers.thresholds import FEW_ROWS

__all__ = ["InnerSolver", "inner_solver"]

Array = NDArray[np.floating[Any]]

_FURTHEST = 0.5  # a Newton step may not move scores further than this, relative to the largest
# the same under l1 costs, where scores are near zero and few columns hold them: longer steps leave the basin that the
# bounds lead to, as far as that of the constant classifier
_NEARBY = 0.1
_FLAT = 0.3  # a step under a capped loss ends where the slope is this fraction of its first value
_LONGEST, _SHORTENINGS = 64.0, 5
_FINEST = 1e-10  # engines that measure gaps by differences of objectives reach no further


class InnerSolver(Protocol):
    """A point that moves from the minimiser of one convex problem to that of the next.

    ``has_newton_steps`` says whether Newton steps of a nonconvex problem are cheap. ``work`` counts the multiplications
    of steps whose price grows with the support, where there are such.
    """

    has_newton_steps: bool
    work: float

    @property
    def margins(self) -> Array: ...

    @property
    def coef(self) -> Array: ...

    @property
    def penalty(self) -> float: ...

    def subsampled_start(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        """Go near a local minimum of a nonconvex problem by way of growing samples of its rows, where they are many.

        The result is a minimum if it says that it has converged, else a start.
        """
        ...

    def warm_start(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        """Go to the minimiser of a problem, from zero or from a solution of a nearby one."""
        ...

    def reset(self, problem: Problem) -> None:
        """Go to zero."""
        ...

    def minimise(
        self,
        problem: Problem,
        objective: float,
        tol: float,
        max_iter: int,
        verbose: int,
        truth: Problem | None = None,
    ) -> Solution:
        """Go to the minimiser of a problem from here, where its objective is known.

        If it bounds a nonconvex ``truth``, it may be left where another bound would gain more.
        """
        ...

    def objective(self, problem: Problem) -> float:
        """The objective of a problem here."""
        ...

    def newton_step(self, problem: Problem, objective: float) -> bool:
        """Take a Newton step of a nonconvex problem if that is a step down, and say whether it was."""
        ...

    def upward_step(self, problem: Problem, objective: float) -> bool:
        """The same with the model of those rows alone that bend upwards, where it is offered."""
        ...

    def undo(self) -> None:
        """Undo the last move."""
        ...


def inner_solver(problem: Problem, engines: Sequence[Engine], tol: float) -> InnerSolver | None:
    """The solver for bounds like ``problem``: working sets for large kernels, else the first engine that accepts."""
    if accepts_dual(problem):
        return DualSolver(problem, tol)
    for engine in engines:
        if engine.accepts(problem):
            return _NewtonSolver(problem) if engine is NEWTON else _EngineSolver(problem, engine)
    return None


class _NewtonSolver:
    """Smooth bounds with a ridge: one Newton system for every round, factors are kept while they serve."""

    def __init__(self, problem: Problem) -> None:
        self.system = newton_system(problem)
        self.wide = isinstance(self.system, KernelSystem) and not problem.expansion.is_kernel
        self.has_newton_steps = isinstance(self.system, FeatureSystem)
        self.expansion = problem.expansion
        self.factor: Factor | None = None
        self.work = 0.0

    @property
    def margins(self) -> Array:
        return self.point.margins

    @property
    def penalty(self) -> float:
        return self.point.penalty

    @property
    def coef(self) -> Array:
        return self.expansion.transpose(self.point.coef) if self.wide else self.point.coef

    def subsampled_start(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        if not isinstance(self.system, FeatureSystem) or isinstance(self.system, ConjugateSystem):
            return None  # a sample says nothing about most coefficients of a kernel; many columns have no Hessian
        found = growing_samples(problem, self.system, tol, max_iter, verbose)
        if found is not None and not found.converged:
            self._stand(Point(problem, self.system, found))
        return found

    def warm_start(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        solution = newton(problem, self.system, start, tol, max_iter, verbose)
        self._stand(Point(problem, self.system, solution))
        return replace(solution, coef=self.coef)

    def reset(self, problem: Problem) -> None:
        self._stand(Point(problem, self.system, None))

    def _stand(self, point: Point) -> None:
        self.factor = None
        self.point = self.last = point

    def objective(self, problem: Problem) -> float:
        return self.point.objective if self.point.problem is problem else problem.cost(self.margins) + self.penalty

    def minimise(
        self,
        problem: Problem,
        objective: float,
        tol: float,
        max_iter: int,
        verbose: int,
        truth: Problem | None = None,
    ) -> Solution:
        self.last, self.point = self.point, self.point.under(problem, objective)
        done = newton_iterations(self.point, self.factor, tol, max_iter, max(verbose - 1, 0))
        self.factor = done.factor
        return done.solution(self.point, tol)

    def newton_step(self, problem: Problem, objective: float) -> bool:
        here = self.point.under(problem, objective)
        _ = here.term.curvature  # brings slopes and cost as well
        here.measure()
        many = len(here.margins) > FEW_ROWS
        step = indefinite_step(here, damped=many)
        if step is None:
            return False
        there = _near_enough(here, step, many) if problem.loss.smooth else _far_enough(here, step)
        if there is None:
            return False
        self.last, self.point = self.point, there
        return True

    def upward_step(self, problem: Problem, objective: float) -> bool:
        return False

    def undo(self) -> None:
        self.point = self.last


def _reach(step: Step, margins: Array) -> float:
    """How far a step moves scores, relative to the largest."""
    return float(np.abs(step.scores + step.intercept).max()) / (1 + float(np.abs(margins).max()))


def _near_enough(here: Point, step: Step, many: bool) -> Point | None:
    """Where a whole step leads, unless that is far or up; of many rows, where a shorter one leads."""
    reach = _reach(step, here.margins)
    if reach > _FURTHEST and not many:
        return None
    step = step.scaled(_FURTHEST / max(reach, _FURTHEST))
    for _ in range(_SHORTENINGS if many else 1):
        there = here.shifted(step)
        if there.objective <= here.objective + ROUNDING * (1 + abs(here.objective)):
            return there
        step = step.scaled(0.5)
    return None


def _far_enough(here: Point, step: Step) -> Point | None:
    """Down a direction for as long as the slope says so: rows that a cap gives up on the way make steps short."""
    slope = float(step.coef @ here.residual.vector) + step.intercept * float(here.g.sum())
    if not slope < 0:
        return None  # nothing to gain in this direction
    length, there = 1.0, here.shifted(step)
    if there.objective < here.objective:
        last, end = (0.0, slope), there.slope_along(step)
        while end < _FLAT * slope and length < _LONGEST:
            root = length + (length - last[0]) * end / (last[1] - end) if end > last[1] else np.inf
            last, length = (length, end), min(max(root, 1.5 * length), 4 * length)
            further = here.shifted(step.scaled(length))
            if not further.objective < there.objective:
                break
            there, end = further, further.slope_along(step)
        return there
    for _ in range(_SHORTENINGS):
        root = -0.5 * slope * length**2 / (there.objective - here.objective - slope * length)
        length = min(max(root, 0.1 * length), 0.5 * length)
        there = here.shifted(step.scaled(length))
        if there.objective <= here.objective + ROUNDING * (1 + abs(here.objective)):
            return there
    return None


class _EngineSolver:
    """Bounds with corners, l1 costs or concave penalties: whichever engine takes them."""

    has_newton_steps = False

    def __init__(self, problem: Problem, engine: Engine) -> None:
        self.engine = engine
        self.work = 0.0
        self._at = self._last = _at_zero(problem)

    @property
    def margins(self) -> Array:
        return self._at[1]

    @property
    def coef(self) -> Array:
        return self._at[0].coef

    @property
    def penalty(self) -> float:
        return self._at[2]

    def subsampled_start(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        return None

    def warm_start(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        return self._go(problem, self.engine.run(problem, start, max(tol, _FINEST), max_iter, verbose))

    def _count(self, problem: Problem, steps: int) -> None:
        """Steps under l1 costs make a Gram matrix of the support, unless columns are sparse."""
        if problem.penalty.l1_ratio > 0 and not problem.expansion.is_sparse:
            self.work += float(steps) * len(problem.y) * np.count_nonzero(self.coef) ** 2

    def _go(self, problem: Problem, found: Solution) -> Solution:
        penalty = problem.penalty.value(found.coef, problem.expansion.quadratic(found.coef))
        self._last, self._at = self._at, (found, problem.margins(found.coef, found.intercept), penalty)
        self._count(problem, found.n_iter)
        return found

    def reset(self, problem: Problem) -> None:
        self._at = self._last = _at_zero(problem)

    def objective(self, problem: Problem) -> float:
        return problem.cost(self.margins) + self.penalty

    def minimise(
        self,
        problem: Problem,
        objective: float,
        tol: float,
        max_iter: int,
        verbose: int,
        truth: Problem | None = None,
    ) -> Solution:
        here, tol, verbose = self._at[0], max(tol, _FINEST), max(verbose - 1, 0)
        if truth is not None and self.engine is PROXIMAL_NEWTON:
            return self._go(problem, approach(problem, here, truth, tol, max_iter, verbose))
        if truth is None or not self._bounds_both(truth):
            return self.warm_start(problem, here, tol, max_iter, verbose)
        convex = replace(problem, penalty=problem.penalty.linearize(here.coef))
        found = approach(convex, here, truth, tol, max_iter, verbose)
        return self._go(problem, replace(found, gap=stationarity(problem, found), certificate="KKT violation"))

    def _bounds_both(self, truth: Problem) -> bool:
        """Whether a round is one elastic net that touches loss and penalty, and not all those under one bound.

        Minima are then as good for capped losses. Where a loss bends down they are higher (1 to 2% for ``welsch`` on
        1300 rows of g241d), as short rounds do not leave the first basin.
        """
        return self.engine is LOCAL_LINEAR and not truth.loss.smooth and len(truth.y) > FEW_ROWS

    def newton_step(self, problem: Problem, objective: float) -> bool:
        self._count(problem, 1)
        step = support_step(problem, self.coef, self.margins) if problem.penalty.l1_ratio > 0 else None
        if step is None or _reach(step, self.margins) > _NEARBY:
            return False
        return self._descends(problem, step, objective)

    def upward_step(self, problem: Problem, objective: float) -> bool:
        self._count(problem, 1)
        step = upward_step(problem, self.coef, self.margins) if self.engine is PROXIMAL_NEWTON else None
        if step is None:
            return False
        step = step.scaled(_NEARBY / max(_reach(step, self.margins), _NEARBY))
        return any(self._descends(problem, step.scaled(0.5**k), objective) for k in range(_SHORTENINGS))

    def _descends(self, problem: Problem, step: Step, objective: float) -> bool:
        """Take a step unless it leads up."""
        here = self._at[0]
        coef, intercept = here.coef + step.coef, here.intercept + step.intercept
        margins = self.margins + problem.y * (step.scores + step.intercept)
        penalty = problem.penalty.value(coef, problem.expansion.quadratic(coef))
        if not problem.cost(margins) + penalty <= objective + ROUNDING * (1 + abs(objective)):
            return False
        self._last, self._at = self._at, (replace(here, coef=coef, intercept=intercept), margins, penalty)
        return True

    def undo(self) -> None:
        self._at = self._last


def _at_zero(problem: Problem) -> tuple[Solution, Array, float]:
    """The zero point, its margins and its penalty."""
    n, p = problem.expansion.shape
    nothing = Solution(np.zeros(p), 0.0, np.zeros(n), np.inf, np.inf, 0, False)
    return nothing, problem.margins_of(np.zeros(n), 0.0), 0.0
