"""Newton's method for a ridge penalty that asks for nothing but passes over the rows.

One pass at ``(beta, b)`` returns cost, gradient and Hessian of the data term, summed over the rows wherever they are:
in memory, in files, on other machines. Margins, labels and weights stay with their rows. The step solves

    [H + ridge I, h; h', m] (dbeta, db) = -(ridge beta + Phi'g, 1'g),     H = Phi'W Phi,  h = Phi'W 1,  m = 1'W 1

and a whole step is tried first, so a trial that succeeds is also the next step's pass; one that does not decrease the
objective is cut. For rows in memory :mod:`softmargin.solvers.ridge.newton` is faster, because it keeps the margins and
searches lines without reading the data.

Certificate. If ``1'g = 0`` the duality gap is ``|ridge beta + Phi'g|^2 / (2 ridge)`` whatever the loss. What is left of
``1'g`` adds at most ``|1'g| (1 + |b|)`` for intercepts up to ``1 + 2 |b|`` in size.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Totals
from softmargin.problem import Problem, RowTerm
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine, relative_gap
from softmargin.solvers.linalg import Bordered, backtrack, shifted_cholesky

__all__ = ["NEWTON_BY_PASSES"]

Array = NDArray[np.floating[Any]]

_MOST_COLUMNS = 5000  # the Hessian then takes 200 MB
_ROUGH = 1e-2  # relative gap at which a relaxation has served its purpose
_ROUNDING = 1e-14  # of the objective: below, sums over the rows do not tell two points apart
_SHORTEST = 1e-12


class _Visited(NamedTuple):
    """A point whose pass is done."""

    problem: Problem
    coef: Array
    intercept: float
    totals: Totals

    @classmethod
    def at(cls, problem: Problem, coef: Array, intercept: float) -> _Visited:
        term = RowTerm(problem.loss, intercept, second=True)
        return cls(problem, coef, intercept, problem.expansion.sweep(coef, term, problem.vectors))

    @property
    def penalty(self) -> float:
        return 0.5 * self.problem.penalty.ridge * float(self.coef @ self.coef)

    @property
    def objective(self) -> float:
        return self.totals.cost + self.penalty

    @property
    def residual(self) -> Array:
        return self.problem.penalty.ridge * self.coef + self.totals.gradient

    @property
    def total(self) -> float:
        return self.totals.total if self.problem.fit_intercept else 0.0

    @property
    def gap(self) -> float:
        square = float(self.residual @ self.residual) / (2 * self.problem.penalty.ridge)
        return relative_gap(square + abs(self.total) * (1 + abs(self.intercept)), self.objective, self.penalty)

    def newton_step(self) -> tuple[Array, float]:
        """The minimiser of the second-order model, relative to this point."""
        totals = self.totals
        assert totals.hessian is not None
        assert totals.border is not None
        hessian = totals.hessian.copy()
        hessian[np.diag_indices_from(hessian)] += self.problem.penalty.ridge
        border = totals.border if self.problem.fit_intercept else None
        return Bordered(shifted_cholesky(hessian), border, totals.mass).solve(-self.residual, -self.total)

    def next(self) -> _Visited | None:
        """The first point along the Newton step that decreases the objective enough; None where none does."""
        step, shift = self.newton_step()
        slope = float(self.residual @ step) + self.total * shift

        def at(length: float) -> tuple[float, _Visited]:
            trial = _Visited.at(self.problem, self.coef + length * step, self.intercept + length * shift)
            return trial.objective, trial

        noise = _ROUNDING * abs(self.objective)
        found = backtrack(at, self.objective, slope, noise=noise, shortest=_SHORTEST)
        return None if found is None else found.there


def _accepts(problem: Problem) -> bool:
    penalty, expansion = problem.penalty, problem.expansion
    ridge = penalty.ridge > 0 and penalty.l1_ratio == 0 and not penalty.positive
    small = not expansion.is_kernel and expansion.shape[1] <= _MOST_COLUMNS
    return problem.loss.convex and problem.loss.smooth and ridge and small


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    n_iter, intercept = 0, 0.0
    coef: Array = np.zeros(problem.expansion.shape[1])
    if start is not None:
        coef, intercept = np.array(start.coef, dtype=np.float64), float(start.intercept)
    for loss in problem.loss.relaxations() if start is None else ():
        here, history = _minimise(_Visited.at(problem.with_loss(loss), coef, intercept), max(tol, _ROUGH), max_iter)
        n_iter, coef, intercept = n_iter + len(history) - 1, here.coef, here.intercept
    here, history = _minimise(_Visited.at(problem, coef, intercept), tol, max_iter)
    n_iter += len(history) - 1
    gap = here.gap
    return Solution(here.coef, here.intercept, None, here.objective, gap, n_iter, gap <= tol, history=history)


def _minimise(here: _Visited, tol: float, max_iter: int) -> tuple[_Visited, list[float]]:
    """Newton steps to a relative gap of ``tol``, with the objectives on the way."""
    history = [here.objective]
    while here.gap > tol and len(history) <= max_iter:
        there = here.next()
        if there is None or (there.gap >= here.gap and there.objective >= here.objective):  # no digits left
            break
        here = there
        history.append(here.objective)
    return here, history


NEWTON_BY_PASSES = Engine(
    "newton_by_passes",
    f"a smooth convex loss, l1_ratio=0, no sign constraints, no kernel and at most {_MOST_COLUMNS} coefficients",
    _accepts,
    _run,
    by_passes=True,
)
