"""A kernel fit from a score nearby that no coefficients of its own kernel make.

Where the weights of components change, coefficients ``beta`` make another score, ``K' beta``, and where ``K'`` weighs
more or costs are large that is far from the one just found: Newton's method from there takes dozens of steps, or
overflows. The score ``f = sum_j theta_j K_j beta`` is still a good one and a function of the new space, of the squared
norm ``sum_j |f_j|^2 / theta'_j``. So the first steps move functions. With slopes ``g = y w phi'`` and curvatures ``W``
at a score ``f + b``, Newton's target does not ask how that score is made,

    (ridge W^-1 + K') beta = f + b - W^-1 g - b',     1'beta = 0,       beta = -g / ridge  where  W = 0,

and on the way to it the objective is known: the inner product of ``f`` with ``K' beta`` is ``beta'f``, whatever ``f``
is. The first step that is taken whole ends at coefficients, and Newton's method goes on from these.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import DataTerm, Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.linalg import add_to_diagonal, shifted_cholesky
from softmargin.solvers.ridge.line_search import Ray, descend
from softmargin.solvers.ridge.newton import NEWTON, Iterations, Point, newton_iterations
from softmargin.solvers.ridge.newton_systems import KernelFactor, KernelSystem

__all__ = ["NearbyScore"]

Array = NDArray[np.floating[Any]]

_LONGEST = 4.0  # times the way to Newton's target
_MOST = 50  # steps of functions: a dozen is much
_NEAR = 1e-2  # of the objective, promised by a whole step: the curvatures before it serve after it
_REFINEMENTS = 5
_SETTLED = 1e-3  # of the tolerance: a gap by the coefficients that settles the matter, whatever hides that by slopes
_STALLED, _SMALL = 0.5, 1e-5  # of what the last whole step promised, and of the objective: rounding promises no less


class NearbyScore(NamedTuple):
    """Scores ``f`` of the rows, an intercept, and the squared norm of ``f`` in the space where the fit is."""

    scores: Array
    intercept: float
    square: float

    @classmethod
    def zero(cls, problem: Problem) -> NearbyScore:
        """The score that every space has."""
        return cls(np.zeros(len(problem.y)), 0.0, 0.0)

    def engine(self) -> Engine:
        """Newton's method from here."""
        return Engine(NEWTON.name, NEWTON.needs, NEWTON.accepts, self._run)

    def _run(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        system = KernelSystem(problem.expansion.outer(), problem.penalty.ridge, problem.fit_intercept)
        n_steps, point, factor = self._descended(problem, system, tol)
        if point is None:
            return NEWTON.run(problem, start, tol, max_iter, verbose)
        before = Iterations(0, [point.objective], None).solution(copy(point), tol)
        if _settled(point, tol):
            return replace(before, n_iter=n_steps)
        after = newton_iterations(point, factor, tol, max_iter, verbose).solution(point, tol)
        solution = min(after, before, key=lambda one: one.gap)  # steps of coefficients may be rounding
        return replace(solution, n_iter=n_steps + after.n_iter)

    def _descended(
        self, problem: Problem, system: KernelSystem, tol: float
    ) -> tuple[int, Point | None, KernelFactor | None]:
        """How many steps there were, the end of the last whole one, and its factor where that still serves."""
        scores, intercept, square = self._or_none(problem)
        term, found, last = problem.evaluate(problem.margins_of(scores, intercept)), None, np.inf
        for number in range(_MOST):
            coef, to, factor = _target(problem, system, term, scores + intercept)
            images = system.scores(coef)
            cross, whole = float(coef @ scores), float(coef @ images)
            if not np.isfinite(cross + whole + to):
                break
            ray = Ray(
                problem.y * ((images - scores) + (to - intercept)),
                system.ridge * (cross - square),
                system.ridge * max(square - 2 * cross + whole, 0.0),
            )
            promise = -float(term.slope @ ray.dmargins) - ray.linear
            t, _, term = descend(problem, problem.margins_of(scores, intercept), term, ray)
            if t > _LONGEST:  # a norm that is rounding
                t, term = 1.0, problem.evaluate(problem.margins_of(images, to))
            if t in (0.0, 1.0) or found is None:
                before, found = found, Point(problem, system, Solution(coef, to, None, np.inf, np.inf, 0, False))
                found.certify(factor.mass)
            near = t == 1 and promise <= _NEAR * found.scale
            if near and not found.hides:
                return number + 1, found, factor
            if near:
                found = _refined(found, factor)
            if t == 0 and before is not None and before.by_coefficients < found.by_coefficients:
                found = before  # the last step was rounding
            if t == 0 or (t == 1 and (_settled(found, tol) or _STALLED * last < promise <= _SMALL * found.scale)):
                break
            scores, intercept = scores + t * (images - scores), intercept + t * (to - intercept)
            square = max((1 - t) ** 2 * square + 2 * t * (1 - t) * cross + t * t * whole, 0.0)
            last = promise if t == 1 else np.inf
        return number + 1, found, None

    def _or_none(self, problem: Problem) -> NearbyScore:
        """This score, or that of zeros where it costs less, as it may without a component that others made up for."""
        zero = NearbyScore.zero(problem)
        costs = [
            problem.cost(problem.margins_of(one.scores, one.intercept)) + 0.5 * problem.penalty.ridge * one.square
            for one in (self, zero)
        ]
        return self if costs[0] <= costs[1] else zero


def _settled(point: Point, tol: float) -> bool:
    """Whether a fit is as near as its gap is to say.

    The gap by the coefficients bounds the distance of the functions from those of the minimum, and may be rounding long
    before the slopes at their scores hold a digit: steps for the sake of these would have no end.
    """
    return min(point.by_slopes, point.by_coefficients / _SETTLED) <= tol * point.scale


def _refined(point: Point, factor: KernelFactor) -> Point:
    """The point after steps with the curvatures before it, which cost products alone, for as long as they help.

    Newton's target is as good as its system was solved; steps from it also make up for what rounding took.
    """
    for _ in range(_REFINEMENTS):
        other = copy(point)
        if not other.advance(factor):
            break
        other.certify(factor.mass)
        if not other.by_coefficients < point.by_coefficients:
            break
        point = other
    return point


def _target(problem: Problem, system: KernelSystem, term: DataTerm, here: Array) -> tuple[Array, float, KernelFactor]:
    """The coefficients and the intercept of Newton's target from the scores ``here``, the intercept among them.

    With the factor that made them, which makes steps of coefficients as well.
    """
    g = problem.y * term.slope
    active, coef, image = np.flatnonzero(term.curvature), -g / system.ridge, np.zeros(len(g))
    root = np.sqrt(term.curvature[active])
    B = system.block(active, root)
    add_to_diagonal(B, 1.0)
    coef[active] = 0.0
    right = root * (here - system.scores(coef))[active] - g[active] / root
    cholesky = shifted_cholesky(B)
    both = root[:, None] * cholesky(np.column_stack([right, root]).astype(B.dtype, copy=False)).astype(np.float64)
    coef[active], image[active] = both.T / system.ridge
    mass, to = float(image.sum()), 0.0
    if system.fit_intercept and mass > 0:
        to = float(coef.sum()) / mass
        coef -= to * image
    whole = float(term.curvature.sum())
    return coef, to, KernelFactor(system, active, root, cholesky, whole, image if system.fit_intercept else None)
