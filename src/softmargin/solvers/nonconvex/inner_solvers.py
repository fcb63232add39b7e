"""Moving from one convex problem to the next: the place of a majorise-minimise method, and how it travels.

Smooth problems with a ridge keep one geometry and its factors through all rounds, and can take Newton steps of the
nonconvex problem itself; all others go through whichever engine accepts them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.local_linear import LOCAL_LINEAR
from softmargin.solvers.elastic_net.proximal_newton import PROXIMAL_NEWTON
from softmargin.solvers.engine import Engine
from softmargin.solvers.nonconvex.growing_samples import cascade
from softmargin.solvers.ridge.conjugate_gradient import ConjugateGeometry
from softmargin.solvers.ridge.indefinite_step import signed_step
from softmargin.solvers.ridge.newton import NEWTON, Point, geometry_of, march, newton
from softmargin.solvers.ridge.newton_systems import FeatureGeometry, KernelGeometry
from softmargin.solvers.svm.one_corner import BOX_QP

__all__ = ["CONVEX_ENGINES", "FEW_ROWS", "ROUNDING", "Walk", "walk_of"]

Array = NDArray[np.floating[Any]]

CONVEX_ENGINES: tuple[Engine, ...] = (NEWTON, PROXIMAL_NEWTON, LOCAL_LINEAR, BOX_QP)
ROUNDING = 1e-12  # relative rise of an objective that is none

_LEAP = 0.5  # a Newton step may not move scores further than this, relative to the largest
# Up to so many rows scores are settled to tol, and a Newton step is taken whole or not at all: it decides which minimum
# is found. Beyond, steps may be shortened, and a round that gains less than tol of the objective is the last.
FEW_ROWS = 1000
_HALVINGS = 5
_FINEST = 1e-10  # engines that measure gaps by differences of objectives reach no further


class Walk(Protocol):
    """A place that moves from one convex problem to the next."""

    @property
    def margins(self) -> Array: ...

    @property
    def coef(self) -> Array: ...

    @property
    def penalty(self) -> float: ...

    def leap(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        """Go near a local minimum of a nonconvex problem by way of samples of its rows, where they are many.

        The result is a minimum if it says that it has converged, else a start.
        """
        ...

    def begin(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        """Go to the minimiser of a problem, from nowhere or from a solution of a nearby one."""
        ...

    def reset(self, problem: Problem) -> None:
        """Go to zero."""
        ...

    def minimise(self, problem: Problem, objective: float, tol: float, max_iter: int, verbose: int) -> Solution:
        """Go to the minimiser of a problem from here, where its objective is known."""
        ...

    def value(self, problem: Problem) -> float:
        """The objective of a problem here."""
        ...

    def newton(self, problem: Problem, objective: float) -> bool:
        """Take a Newton step of a nonconvex problem if that is a step down, and say whether it was."""
        ...

    def back(self) -> None:
        """Undo the last move."""
        ...


def walk_of(problem: Problem) -> Walk:
    for engine in CONVEX_ENGINES:
        if engine.accepts(problem):
            return _NewtonWalk(problem) if engine is NEWTON else _EngineWalk(problem, engine)
    wants = "; ".join(f"{engine.name} needs {engine.needs}" for engine in CONVEX_ENGINES)
    raise ValueError(f"No solver accepts the bound {problem.loss!r} with {problem.penalty!r}: {wants}.")


class _NewtonWalk:
    """Smooth bounds with a ridge: one geometry serves every round, factors are kept while they serve."""

    def __init__(self, problem: Problem) -> None:
        self.geometry = geometry_of(problem)
        self.wide = isinstance(self.geometry, KernelGeometry) and not problem.expansion.is_kernel
        self.expansion = problem.expansion

    @property
    def margins(self) -> Array:
        return self.point.margins

    @property
    def penalty(self) -> float:
        return self.point.penalty

    @property
    def coef(self) -> Array:
        return self.expansion.transpose(self.point.coef) if self.wide else self.point.coef

    def leap(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        if not isinstance(self.geometry, FeatureGeometry) or isinstance(self.geometry, ConjugateGeometry):
            return None  # a sample says nothing about most coefficients of a kernel; many columns have no Hessian
        found = cascade(problem, self.geometry, tol, max_iter, verbose)
        if found is not None and not found.converged:
            self.geometry.total = None
            self.point = self.last = Point(problem, self.geometry, found)
        return found

    def begin(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        self.geometry.total = None
        solution = newton(problem, self.geometry, start, tol, max_iter, verbose)
        self.point = self.last = Point(problem, self.geometry, solution)
        return replace(solution, coef=self.coef)

    def reset(self, problem: Problem) -> None:
        self.geometry.total = None
        self.point = self.last = Point(problem, self.geometry, None)

    def value(self, problem: Problem) -> float:
        return self.point.objective if self.point.problem is problem else problem.cost(self.margins) + self.penalty

    def minimise(self, problem: Problem, objective: float, tol: float, max_iter: int, verbose: int) -> Solution:
        self.last, self.point = self.point, self.point.under(problem, objective)
        n_iter, history = march(self.point, tol, max_iter, max(verbose - 1, 0))
        return self.point.solution(n_iter, tol, history)

    def newton(self, problem: Problem, objective: float) -> bool:
        here = self.point.under(problem, objective)
        curvature = here.term.curvature
        here.measure()
        step = signed_step(self.geometry, curvature, here.coef, here.g, here.gap / max(here.scale, _FINEST))
        if step is None:
            return False
        reach = float(np.abs(step.scores + step.intercept).max()) / (1 + float(np.abs(here.margins).max()))
        many = len(here.margins) > FEW_ROWS
        if reach > _LEAP and not many:
            return False
        step = step.scaled(_LEAP / max(reach, _LEAP))
        for _ in range(_HALVINGS if many else 1):
            there = here.shifted(step)
            if there.objective <= objective + ROUNDING * (1 + abs(objective)):
                self.last, self.point = self.point, there
                return True
            step = step.scaled(0.5)
        return False

    def back(self) -> None:
        self.point = self.last


class _EngineWalk:
    """Bounds with corners, l1 costs or concave penalties: whichever engine takes them."""

    def __init__(self, problem: Problem, engine: Engine) -> None:
        self.engine = engine
        self.reset(problem)

    @property
    def margins(self) -> Array:
        return self.place[1]

    @property
    def coef(self) -> Array:
        return self.place[0].coef

    @property
    def penalty(self) -> float:
        return self.place[2]

    def leap(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        return None

    def begin(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        return self._go(problem, start, tol, max_iter, verbose)

    def reset(self, problem: Problem) -> None:
        n, p = problem.expansion.shape
        nothing = Solution(np.zeros(p), 0.0, np.zeros(n), np.inf, np.inf, 0, False)
        self.place = self.last = (nothing, problem.margins_of(np.zeros(n), 0.0), 0.0)

    def value(self, problem: Problem) -> float:
        return problem.cost(self.margins) + self.penalty

    def minimise(self, problem: Problem, objective: float, tol: float, max_iter: int, verbose: int) -> Solution:
        return self._go(problem, self.place[0], tol, max_iter, max(verbose - 1, 0))

    def _go(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        found = self.engine.run(problem, start, max(tol, _FINEST), max_iter, verbose)
        penalty = problem.penalty.value(found.coef, problem.expansion.quadratic(found.coef))
        self.last, self.place = self.place, (found, problem.margins(found.coef, found.intercept), penalty)
        return found

    def newton(self, problem: Problem, objective: float) -> bool:
        return False

    def back(self) -> None:
        self.place = self.last
