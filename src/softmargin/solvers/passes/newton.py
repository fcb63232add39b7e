"""Newton's method, with or without an l1 part, that asks for nothing but passes over the rows.

One pass at ``(beta, b)`` returns cost, gradient and Hessian of the data term, summed over the rows wherever they are:
in memory, in files, on other machines. Margins, labels and weights stay with their rows. The step minimises

    G'd + 1/2 d'Hd + Omega(beta + d)       with   H = Phi'W Phi,  h = Phi'W 1,  m = 1'W 1  for (beta, b) together

exactly: a bordered linear system for a ridge, coordinate descent on the Hessian for an elastic net. A whole step is
tried first, so a trial that succeeds is also the next step's pass; one that does not decrease the objective is cut. For
rows in memory :mod:`softmargin.solvers.ridge.newton` is faster, because it keeps the margins and searches lines without
reading the data.

Certificate. With ``v = Phi'g`` and ``1'g = 0`` the duality gap is ``L + Omega(beta) + L*(g) + Omega*(-v)`` whatever the
loss, ``L*(g) = g'f - L`` plus what a rounded corner adds (``slack``):
``|ridge beta + v|^2 / (2 ridge)`` for a ridge. What is left of ``1'g`` adds at most ``|1'g| (1 + |b|)`` for intercepts
up to ``1 + 2 |b|`` in size.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.expansions import Response, Totals
from softmargin.problem import Problem
from softmargin.solvers.elastic_net.certificate import PrimalDual, certify, violations
from softmargin.solvers.elastic_net.quadratic_model import Curvature
from softmargin.solvers.engine import relative_gap
from softmargin.solvers.linalg import Bordered, add_to_diagonal, backtrack, definite_cholesky, shifted_cholesky
from softmargin.solvers.passes.resumed import keep_point

__all__ = ["MOST_COLUMNS", "Visited", "minimise", "tell_and_keep"]

Array = NDArray[np.floating[Any]]
MakeTerm = Callable[[float], Callable[..., Response]]  # from an intercept to the term of a pass

MOST_COLUMNS = 5000  # the Hessian then takes 200 MB
_ROUNDING = 1e-14  # of the objective: below, sums over the rows do not tell two points apart
_SHORTEST = 1e-12
_LONGER = 4.0  # than the last step: where corners are narrow, steps stay short for a while, and each trial is a pass


@dataclass(frozen=True)
class Visited:
    """A point whose pass is done."""

    problem: Problem
    term: MakeTerm
    coef: Array
    intercept: float
    totals: Totals
    definite: MakeTerm | None = None  # a term whose Hessian is definite, where that of ``term`` may not be
    seconds: float = 0.0  # that the pass took
    length: float = 1.0  # of the step that led here

    @classmethod
    def at(
        cls, problem: Problem, term: MakeTerm, coef: Array, intercept: float, definite: MakeTerm | None = None
    ) -> Visited:
        """Make the pass at a point."""
        began = time.perf_counter()
        totals = problem.expansion.sweep(coef, term(intercept), problem.vectors)
        return cls(problem, term, coef, intercept, totals, definite, time.perf_counter() - began)

    @cached_property
    def cost(self) -> Array:
        """The l1 cost of each coefficient."""
        return self.problem.penalty.thresholds(len(self.coef))

    @property
    def penalty(self) -> float:
        return self._penalty(self.coef)

    @property
    def objective(self) -> float:
        return self.totals.cost + self.penalty

    @property
    def scale(self) -> float:
        """The unit of relative gaps."""
        return max(abs(self.objective), self.penalty)

    @property
    def residual(self) -> Array:
        """The gradient of the smooth part."""
        return self.problem.penalty.ridge * self.coef + self.totals.gradient

    @property
    def total(self) -> float:
        return self.totals.total if self.problem.fit_intercept else 0.0

    @property
    def gap(self) -> float:
        """The certified gap in units of the objective."""
        return self.residual_gap + self.slack

    @property
    def slack(self) -> float:
        """The part of the gap that rounded corners leave, in the same units."""
        return relative_gap(self.totals.slack, self.objective, self.penalty)

    @cached_property
    def residual_gap(self) -> float:
        """The part of the gap that steps can close."""
        left = abs(self.total) * (1 + abs(self.intercept))
        if not np.any(self.cost) and not self.problem.penalty.positive:
            square = float(self.residual @ self.residual) / (2 * self.problem.penalty.ridge)
            return relative_gap(square + left, self.objective, self.penalty)
        v, cost = self.totals.gradient, self.totals.cost
        conjugate = float(v @ self.coef) - cost
        found = certify(self.problem, PrimalDual(cost, conjugate, v, self.coef, self.coef, self.cost))
        return found._replace(gap=found.gap + left).relative(self.objective, self.penalty)

    def next(self) -> Visited | None:
        """The first point along the step that decreases the objective enough; None where none does."""
        found = self.along(*self._step())
        return self.convexified().next() if found is None and self.definite is not None else found

    def convexified(self) -> Visited:
        """The same point with the Hessian of a convex bound."""
        assert self.definite is not None
        there = Visited.at(self.problem, self.definite, self.coef, self.intercept)
        return replace(there, term=self.definite)

    def _step(self) -> tuple[Array, float]:
        if np.any(self.cost):
            return self._proximal_step()
        return self._linear_step()

    def along(self, step: Array, shift: float) -> Visited | None:
        """The first point along a step that decreases the objective enough; None where none does."""
        if not self.problem.fit_intercept:
            shift = 0.0
        slope = float(self.totals.gradient @ step) + self.total * shift
        slope += self._penalty(self.coef + step) - self.penalty

        def at(length: float) -> tuple[float, Visited]:
            here = self.coef + length * step, self.intercept + length * shift
            trial = Visited.at(self.problem, self.term, *here, self.definite)
            return trial.objective, trial

        noise, longest = _ROUNDING * abs(self.objective), min(1.0, _LONGER * self.length)
        found = backtrack(at, self.objective, min(slope, 0.0), noise=noise, shortest=_SHORTEST, longest=longest)
        return None if found is None else replace(found.there, length=found.length)

    def _linear_step(self) -> tuple[Array, float]:
        if self.definite is not None:
            hessian, border = self._hessian()
            add_to_diagonal(hessian, self.problem.penalty.ridge)
            factor = definite_cholesky(hessian)
            system = None if factor is None else Bordered(factor, border, self.totals.mass)
            if system is None or (border is not None and system.pivot <= 0):
                return self.convexified()._linear_step()
            return system.solve(-self.residual, -self.total)
        return self.system().solve(-self.residual, -self.total)

    def system(self) -> Bordered:
        """The Newton system of a ridge at this point."""
        hessian, border = self._hessian()
        add_to_diagonal(hessian, self.problem.penalty.ridge)
        return Bordered(shifted_cholesky(hessian), border, self.totals.mass)

    def _proximal_step(self) -> tuple[Array, float]:
        hessian, border = self._hessian()
        penalty, mass = self.problem.penalty, self.totals.mass
        if border is not None and mass > 0:
            hessian -= np.outer(border, border / mass)
        add_to_diagonal(hessian, 1e-12 * float(hessian.diagonal().max(initial=1.0)))
        curvature = Curvature(hessian, penalty.ridge, border if mass > 0 else None, mass)
        violation = violations(self.residual, self.coef, self.cost, penalty.positive)
        target = curvature.model(1.0, self.total, self.residual).minimise(
            self.coef, self.cost, penalty.positive, violation
        )
        return target.coef - self.coef, target.shift

    def _hessian(self) -> tuple[Array, Array | None]:
        hessian, border = self.totals.hessian, self.totals.border
        assert hessian is not None
        return hessian.copy(), border if self.problem.fit_intercept else None

    def _penalty(self, coef: Array) -> float:
        return 0.5 * self.problem.penalty.ridge * float(coef @ coef) + float(self.cost @ np.abs(coef))


def tell_and_keep(here: Visited, verbose: int) -> bool:
    """Report the pass that led here, and remember the point; always true, so that loops can begin with it."""
    keep_point(here.problem, here.coef, here.intercept)
    if is_heard(verbose):
        speed = here.problem.expansion.shape[0] / max(here.seconds, 1e-9)
        said = f"objective {here.objective:.12g}, relative gap {here.gap:.3g}, {here.seconds:.2g} s, {speed:.2g} rows/s"
        report("pass", said, verbose)
    return True


def minimise(
    here: Visited, enough: Callable[[Visited], bool], max_iter: int, verbose: int = 0
) -> tuple[Visited, list[float]]:
    """Newton steps until a point is good enough, with the objectives on the way."""
    history = [here.objective]
    while tell_and_keep(here, verbose) and not enough(here) and len(history) <= max_iter:
        there = here.next()
        if there is None or (there.residual_gap >= here.residual_gap and there.objective >= here.objective):
            break  # no digits left
        here = there
        history.append(here.objective)
    return here, history
