"""Newton's method without a Hessian of all rows: preconditioned conjugate gradients, for many landmarks of many rows.

A pass that multiplies with ``Phi`` costs ``n m`` evaluations of the kernel; the Hessian of all rows costs ``n m^2``
multiplications. So a Newton step is solved by conjugate gradients, each of whose products is one pass (the curvatures
are computed again in it from the scores, which cost nothing beside the kernel), preconditioned by the factored Hessian
of a sample of ``q m`` rows, each standing for many. In the coordinates of :mod:`softmargin.expansions.landmarks.basis`
that is the preconditioner of Falkon (Rudi, Carratino and Rosasco, 2017; for generalised self-concordant losses
Marteau-Ferey, Bach and Rudi, 2019), with ``q m`` rows in place of the ``m`` landmarks: the spectrum of the
preconditioned Hessian lies within ``(1 +- q^(-1/2))^2``, and each product reduces the residual by ``q^(-1/2)``. How
many rows pay is decided by what a pass costs beside a Hessian of the sample.

The start is the fit of the sample by the same method. Where fifteen steps are not enough (a huge ``C`` that separates
the rows), Newton's method with Hessians of all rows goes on from there. A point is certified by the duality gap of
:mod:`softmargin.solvers.passes.newton`, from cost and gradient of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem, RowTerm
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.linalg import Bordered, conjugate_gradients
from softmargin.solvers.passes.newton import MOST_COLUMNS, Visited, minimise, tell_and_keep
from softmargin.solvers.passes.resumed import keep_point, resumed
from softmargin.solvers.passes.sample_newton import GradientTerm, sample_problem, sample_system
from softmargin.solvers.ridge.newton import NEWTON
from softmargin.solvers.ridge.subsampled_start import stratified_sample

__all__ = ["CONJUGATE_NEWTON", "ConjugateNewton"]

Array = NDArray[np.floating[Any]]

_ENTRY, _PAIR = 2.0, 0.02  # nanoseconds of two cores: a similarity in a pass, a pair of columns of a row in a Hessian
_RATIOS = (2, 4, 8, 16, 32)  # rows of the sample per column that are considered
_DIGITS = 18.4  # 2 log(1e4): the residual is to fall by 1e-4, and each product takes log(q) / 2
_FEWEST = 2000  # rows of a sample
_MOST_PRODUCTS = 60  # of a step
# steps after which Hessians of all rows take over: fits of ``python -m benchmarks landmarks`` take five
_PATIENCE = 15
_STALE = 12  # products of a step from where the preconditioner is made anew
_SAMPLE_TOL = 1e-3  # of the fit to a sample, which is further than that from the fit to all rows
_COARSEST, _FINEST = 1e-2, 1e-4  # share of the gap that a step may leave
_SPARE = 0.3  # the last step aims at this fraction of the tolerance


@dataclass(frozen=True)
class HessianTerm(RowTerm):
    """The term of a product with the Hessian: scores of the point and of the direction in two columns."""

    shift: float = 0.0

    def __call__(self, scores: Array, y: Array, weights: Array, tilt: Any, offset: Array | None) -> Any:
        flow = weights * self.loss.curvature(self.margins(scores[:, 0], y, offset)) * (scores[:, 1] + self.shift)
        return flow[:, None], (float(flow.sum()),)


@dataclass(frozen=True)
class ConjugateNewton:
    """The method on a problem, with the problem on a sample of its rows, whose Hessians make the preconditioners."""

    problem: Problem
    few: Problem

    @classmethod
    def of(cls, problem: Problem) -> ConjugateNewton:
        """With as many rows as pay: all of them where they are few."""
        n, m = problem.expansion.shape
        prices = [_ENTRY * n * m * _DIGITS / np.log(q) + 3 * _PAIR * q * float(m) ** 3 for q in _RATIOS]
        wanted = max(_RATIOS[int(np.argmin(prices))] * m, _FEWEST)
        few = problem if isinstance(problem.y, np.ndarray) else sample_problem(problem)
        assert few is not None
        share = wanted / len(few.y)
        return cls(problem, few if share >= 1 else few.take(*stratified_sample(few.y, share)))

    def start(self) -> tuple[Array, float]:
        """The fit of the sample, by way of smoother losses where it is nearly kinked."""
        losses = list(self.problem.loss.relaxations())
        if self.few is not self.problem:
            losses.append(self.problem.loss)
        coef: Array = np.zeros(self.problem.expansion.shape[1])
        intercept = 0.0
        for loss in losses:
            few = self.few.with_loss(loss)
            found = ConjugateNewton(few, few).solve((coef, intercept), _SAMPLE_TOL, 100)
            coef, intercept = found.coef, found.intercept
        return coef, intercept

    def solve(self, point: tuple[Array, float], tol: float, max_iter: int, verbose: int = 0) -> Solution:
        """From a point to one with a relative gap of ``tol``; by Hessians of all rows where products are slow."""
        here, history = self.minimise(point, tol, min(max_iter, _PATIENCE), verbose)
        problem, left = self.problem, max_iter - len(history) + 1
        if here.gap > tol and left > 0:
            if problem.expansion.is_resident:
                start = Solution(here.coef, here.intercept, None, here.objective, here.gap, 0, False)
                found = NEWTON.run(problem, start, tol, left, verbose)
                return replace(found, n_iter=found.n_iter + len(history) - 1, history=history + found.history)
            if problem.expansion.shape[1] <= MOST_COLUMNS:
                whole = Visited.at(problem, partial(RowTerm, problem.loss, second=True), here.coef, here.intercept)
                here, more = minimise(whole, lambda there: there.gap <= tol, left, verbose)
                history += more[1:]
        dual = _dual(here) if problem.expansion.is_resident else None
        return Solution(
            here.coef, here.intercept, dual, here.objective, here.gap, len(history) - 1, True, history=history
        )

    def minimise(
        self, point: tuple[Array, float], tol: float, max_iter: int, verbose: int = 0
    ) -> tuple[Visited, list[float]]:
        """As near a relative gap of ``tol`` as so many steps lead, with the objectives on the way."""
        here = Visited.at(self.problem, partial(GradientTerm, self.problem.loss, second=True), *point)
        system, history = None, [here.objective]
        while tell_and_keep(here, verbose) and here.gap > tol and len(history) <= max_iter:
            system = sample_system(self.few, here.coef, here.intercept).system if system is None else system
            found = _newton_step(here, system, tol)
            there = None if found is None else here.along(found[0][:-1], float(found[0][-1]))
            if found is None or there is None or (there.gap >= here.gap and there.objective >= here.objective):
                break  # no digits left
            here, system = there, None if found[1] > _STALE else system
            history.append(here.objective)
        return here, history


def _newton_step(here: Visited, system: Bordered, tol: float) -> tuple[Array, int] | None:
    """The Newton step, as accurate as it is worth, and how many products it took; None where a sample has no word.

    That is where no row of the sample has curvature, so that it says nothing of the intercept.
    """
    problem, gap, n_products = here.problem, here.gap, 0
    target = max(_SPARE * tol, float(np.clip(gap, _FINEST, _COARSEST)) * gap) * here.scale
    ridge, reach = problem.penalty.ridge, 1 + abs(here.intercept)

    def product(direction: Array) -> tuple[Array, float]:
        nonlocal n_products
        n_products += 1
        both = np.column_stack([here.coef, direction[:-1]])
        term = HessianTerm(problem.loss, here.intercept, shift=float(direction[-1]))
        pulled, flow = problem.expansion.sweep_many(both, term, problem.vectors).parts  # type: ignore[attr-defined]
        image = pulled[:, 0] + ridge * direction[:-1]
        return np.append(image, flow if problem.fit_intercept else 0.0), 0.0

    def enough(residual: Array, _: float) -> bool:
        left = float(residual[:-1] @ residual[:-1]) / (2 * ridge) + abs(float(residual[-1])) * reach
        return left <= target

    found = conjugate_gradients(product, system, -np.append(here.residual, here.total), enough, _MOST_PRODUCTS)
    return None if found is None else (found[0], n_products)


def _accepts(problem: Problem) -> bool:
    loss, penalty, expansion = problem.loss, problem.penalty, problem.expansion
    ridge = penalty.convex and penalty.ridge > 0 and penalty.l1_ratio == 0 and not penalty.positive
    return expansion.is_landmark and ridge and loss.convex and loss.smooth and loss.parts == (loss,)


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    method = ConjugateNewton.of(problem)
    coef, intercept = method.start() if start is None else (np.array(start.coef, dtype=float), float(start.intercept))
    keep_point(problem, coef, intercept)
    return method.solve((coef, intercept), tol, max_iter, verbose)


def _dual(here: Visited) -> Array:
    """The slopes at a point, as a point of the dual."""
    problem = here.problem
    margins = problem.margins(here.coef, here.intercept)
    return -problem.y * problem.evaluate(margins).slope


CONJUGATE_NEWTON = Engine(
    "conjugate_newton",
    "a smooth convex loss, l1_ratio=0 and many landmarks of a kernel",
    _accepts,
    resumed(_run),
    by_passes=True,
)
