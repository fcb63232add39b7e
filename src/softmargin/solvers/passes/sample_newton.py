"""Newton's method with the Hessian of a sample: every pass over all rows brings a gradient only.

A sample of ``m`` rows, each standing for many, has the Hessian of all rows up to ``sqrt(p / m)``, and a step with it
leaves about that share of the error: with fifty columns and 65536 rows three per cent, so the gap, which is quadratic
in the error, falls a thousandfold. Adding up a Hessian costs ``p`` times what a gradient costs. Where the gap falls
too slowly for that, Newton's method with all rows goes on.

Two passes also tell how the gradient of all rows changed along the step between them. :class:`SecantSystem` corrects
the system of the sample by what it saw (the BFGS formula), so that each step contracts more than the one before.

Where a pass costs much more than its products (``thorough``), passes after the first bring the Hessian of all rows, so
that fewer are needed; all but the one that is expected to be the last, as Newton's method contracts the error at least
as much as the step before did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Response
from softmargin.problem import Problem, RowTerm
from softmargin.solvers.linalg import Bordered, add_to_diagonal, shifted_cholesky
from softmargin.solvers.passes.newton import Visited, tell_and_keep

__all__ = ["GradientTerm", "SecantSystem", "minimise_with_sample", "sample_problem", "sample_system"]

Array = NDArray[np.floating[Any]]

_ROWS_PER_COLUMN = 20  # of the sample, below which its Hessian says too little
_SLOW = 0.1  # share of the gap that a step may leave


class GradientTerm(RowTerm):
    """A row term without curvatures."""

    def __call__(self, *arguments: Any) -> Response:
        return super().__call__(*arguments)._replace(curvature=None)


class SecantSystem:
    """A Newton system of the sample that learns from steps and the changes of the gradient along them."""

    def __init__(self, system: Bordered) -> None:
        self.system = system
        self.pairs: list[tuple[Array, Array]] = []

    def learn(self, step: Array, change: Array) -> None:
        """Take the change of the gradient (coefficients, then the intercept) along a step into account."""
        if float(step @ change) > 0:
            self.pairs.append((step, change))

    def solve(self, r: Array, total: float) -> tuple[Array, float]:
        """The step for a gradient of ``-r`` and ``-total``, by the two loops of BFGS."""
        q = np.append(r, total)
        shares = []
        for step, change in reversed(self.pairs):
            shares.append(float(step @ q) / float(step @ change))
            q -= shares[-1] * change
        found = self.system(q)
        for (step, change), share in zip(self.pairs, reversed(shares), strict=True):
            found += (share - float(change @ found) / float(step @ change)) * step
        return found[:-1], float(found[-1])


def sample_problem(problem: Problem) -> Problem | None:
    """The problem on some rows in memory, each standing for many; None where all rows are there."""
    sample = problem.expansion.sample(problem.vectors)
    if sample is None:
        return None
    y, weights, tilt, offset = sample.vectors
    return replace(
        problem,
        expansion=sample.expansion,
        y=y,
        weights=weights * sample.times,
        tilt=None if tilt is None else tilt * sample.times,
        offset=offset,
    )


def sample_system(few: Problem, coef: Array, intercept: float) -> SecantSystem:
    """The Newton system of the problem on the sample."""
    curvature = few.weights * few.loss.evaluate(few.margins(coef, intercept))[2]
    hessian, border = few.expansion.moments(curvature)
    hessian = np.array(hessian, dtype=float, order="F")
    add_to_diagonal(hessian, few.penalty.ridge)
    edge = np.asarray(border, dtype=float) if few.fit_intercept else None
    return SecantSystem(Bordered(shifted_cholesky(hessian), edge, float(curvature.sum())))


def minimise_with_sample(
    problem: Problem, few: Problem, point: tuple[Array, float], tol: float, thorough: bool = False, verbose: int = 0
) -> tuple[Visited | None, list[float]]:
    """As near the minimiser as steps of the sample lead, with the objectives on the way; None where it is too small."""
    if few.expansion.shape[0] < _ROWS_PER_COLUMN * few.expansion.shape[1]:
        return None, []

    def light(b: float) -> GradientTerm:
        return GradientTerm(problem.loss, b, second=True)

    def full(b: float) -> RowTerm:
        return RowTerm(problem.loss, b, second=True)

    here = Visited.at(problem, light, *point)
    system, history, left = sample_system(few, *point), [here.objective], 1.0
    while tell_and_keep(here, verbose) and here.gap > tol:
        step, shift = system.solve(-here.residual, -here.total)
        is_last = left**2 * here.gap <= tol
        there = Visited.at(
            problem, full if thorough and not is_last else light, here.coef + step, here.intercept + shift
        )
        system.learn(np.append(step, shift), _gradient(there) - _gradient(here))
        if there.gap >= here.gap:
            break
        left, here = there.gap / here.gap, there
        history.append(here.objective)
        if left > _SLOW:
            break
        if here.totals.hessian is not None:
            system = SecantSystem(here.system())
    return here, history


def _gradient(here: Visited) -> Array:
    return np.append(here.residual, here.total)
