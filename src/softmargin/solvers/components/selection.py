"""Component selection (COSSO; Lin and Zhang 2006): a sum of functions ``f = b + sum_j f_j``, many of them zero,

    minimise  sum_i w_i phi(y_i f(x_i)) + sum_j |f_j|        with the norm |f_j| of the kernel K_j.              (S)

A norm is the least of ``|f_j|^2 / (2 theta_j) + theta_j / 2`` over ``theta_j >= 0``, so (S) is the search for weights,

    minimise over theta >= 0:  g(theta) + sum_j theta_j / 2,     g(theta) = min_{beta, b} sum w phi + beta'K beta / 2,

with ``K = sum_j theta_j K_j``: an ordinary kernel fit inside. ``g`` is convex for a convex loss. With
``G = (K_1 beta, ...)``, curvatures ``h = w phi''`` and ``M = (K + diag(1/h))^-1`` bordered by the intercept,

    dg/dtheta_j = -q_j / 2,   q_j = beta'K_j beta,        d2g/dtheta2 = G'MG.

Lin and Zhang alternate a kernel fit and a nonnegative garrote (``beta`` fixed). That is a bound of ``g`` that touches
it, and it converges linearly, by a factor of 0.8 to 0.97 a round on simulated rows. So does the plainer bound with
``f`` fixed, which is least at ``theta_j = |f_j| = theta_j q_j^(1/2)``; its first rounds find the scale of every weight.
From there Newton's method with the sign constraint (a nonnegative least-squares problem a step) takes over. ``g`` falls
like ``1 / theta``, which parabolas follow by halves at best: along one weight ``q^(-1/2)`` is nearly linear, and the
step that makes it one is Newton's for the slope ``q (1 - q^(1/2))`` in place of ``(1 - q) / 2``. The two agree where
``q = 1``. A few kernel fits bring six digits. Of very many components a working set moves, those in use and the others
of largest ``q_j``; where it has converged all components are asked, which makes the next working set or the
certificate.

*Certificate.* The dual of (S) has the constraints ``q_j <= 1``. ``s beta`` with ``s = min(1, 1 / max_j q_j^(1/2))``
keeps them, and the dual objective is concave, so it is at least ``s D(beta) + (1 - s) D(0)``: the value of (S) less
that is a duality gap, measured without the conjugate of the loss.

A nonconvex loss is bounded by a convex one at the present margins, (S) is solved for the bound, and so on, by the
driver of all nonconvex fits (:mod:`softmargin.solvers.nonconvex.majorize_minimise`).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from softmargin._progress import is_heard, report
from softmargin.expansions import AdditiveColumns
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.components.weighted_fit import WeightedFit
from softmargin.solvers.distinct_rows import DistinctRows
from softmargin.solvers.linalg import Step, backtrack
from softmargin.solvers.nonconvex.convex_bounds import (
    bound_at,
    certain_margins,
    check_majorizer,
    constant_fit,
    is_degenerate,
)
from softmargin.solvers.nonconvex.majorize_minimise import majorize_minimise
from softmargin.solvers.ridge.newton import NEWTON
from softmargin.solvers.ridge.subsampled_start import stratified_sample

__all__ = ["ComponentFit", "select_components"]

Array = NDArray[np.floating[Any]]

_TINY = 1e-300
_DIGITS = 1e-2  # of the gap asked for, to which gradients in theta are computed
_FINEST, _COARSEST = 1e-20, 1e-12  # relative gaps of last kernel fits: what Newton's last step reaches, and takes
_EARLY = 1e-4  # that of the first kernel fit
_ROUNDS = 100  # bounds of a nonconvex loss
_STEPS = 1  # of the weights under each but the last ones: the next bound brings more than the second step does
_MOST = 500  # components that all move: the Hessian of more, and its least-squares problem, take seconds
_SCALINGS, _WORTH = 20, 1e-2  # kernel fits that look for the scale of the weights, and what each has to gain
# a start from a part of the rows pays from so many rows, of all and for each component, and to this relative gap
_MANY_ROWS, _ROWS_PER_COMPONENT, _PART, _ROUGH = 800, 80, 0.25, 1e-2
_SHARE = 1e-2  # of the last gap of all components: a working set is not solved further before they are asked again


class ComponentFit(NamedTuple):
    """The minimiser of (S): the kernel fit at the weights found, and ``|f_j|`` of every component."""

    solution: Solution
    weights: Array
    norms: Array


def select_components(
    problem: Problem, columns: AdditiveColumns, *, tol: float, max_iter: int, verbose: int
) -> ComponentFit:
    """Minimise (S) to a relative gap of ``tol``; the expansion of ``problem`` is replaced by sums of ``columns``."""
    distinct = DistinctRows.by_features(problem, columns.X)
    if distinct is None:
        return _select(problem, _Search(columns, tol, max_iter, verbose))
    fit = _select(distinct.reduced, _Search(columns.take(distinct.first), tol, max_iter, verbose))
    return fit._replace(solution=distinct.back(fit.solution))


def _select(problem: Problem, search: _Search) -> ComponentFit:
    columns = search.columns
    weights = _first_weights(columns)
    problem = replace(problem, expansion=columns.weighted(weights))
    trusted = problem if problem.loss.convex else bound_at(problem, certain_margins(problem))
    if not NEWTON.fits(trusted):
        raise ValueError(
            f"Component selection needs a loss with curvature, or with a majoriser that has it; got {problem.loss!r}. "
            "Use 'logistic', 'squared_hinge', 'coherence' (a smooth hinge) or a robust loss made from them."
        )
    if problem.loss.convex:
        return search.result(*search.convex(problem, weights))
    return _Rounds(problem, search, trusted).run()


def _first_weights(columns: AdditiveColumns) -> Array:
    """All components alike, or none of very many."""
    k = len(columns.components)
    return np.ones(k) if k <= _MOST else np.zeros(k)


def _moving(weights: Array) -> NDArray[np.intp]:
    """All components, or those in use of very many."""
    return np.arange(len(weights)) if len(weights) <= _MOST else np.flatnonzero(weights)


@dataclass(frozen=True)
class _Search:
    """Newton's method in the weights, for convex losses."""

    columns: AdditiveColumns
    tol: float
    max_iter: int
    verbose: int

    @property
    def inner_tol(self) -> float:
        """The gap of kernel fits: gradients in theta are of first order in beta, which the root of a gap measures."""
        return float(np.clip((_DIGITS * min(self.tol, 1.0)) ** 2, _FINEST, _COARSEST))

    def inner_tol_after(self, point: WeightedFit) -> float:
        """That of kernel fits one step from a point, which are not better than the weights are by then."""
        gap = point.gap_of_moving()
        return max(self.inner_tol, min((_DIGITS * gap * gap) ** 2, _EARLY))

    def convex(self, problem: Problem, weights: Array) -> tuple[WeightedFit, list[float]]:
        """The last point and the objectives on the way."""
        return self._from(*self._first(problem, weights))

    def onward(self, problem: Problem, last: WeightedFit) -> tuple[WeightedFit, list[float]]:
        """The same from the weights and the functions of a fit under another bound of the same loss."""
        return self._from(last.rebounded(problem, _moving(last.weights), self.inner_tol), False)

    def _from(self, point: WeightedFit, scaled: bool) -> tuple[WeightedFit, list[float]]:
        history = [point.objective]
        for _ in range(self.max_iter):
            further = self._further(point, scaled and len(history) == 1)
            if further is None:
                break
            point = further
            history.append(point.objective)
            if is_heard(self.verbose):
                used = np.count_nonzero(point.weights)
                report("component selection", f"objective {point.objective:.12g}, {used} components", self.verbose)
        return point, history

    def _first(self, problem: Problem, weights: Array) -> tuple[WeightedFit, bool]:
        """A first point, and whether its weights were scaled, which leaves small those without a use.

        Where a small part of the rows holds many for each component it is fitted first: its functions are within
        sampling error of theirs.
        """
        near = None
        if len(problem.y) >= max(_MANY_ROWS, _ROWS_PER_COMPONENT * len(weights)):
            rows, times = stratified_sample(problem.y, _PART)
            search = replace(self, columns=self.columns.take(rows), tol=max(self.tol, _ROUGH), verbose=0)
            part = search.convex(problem.take(rows, times), weights)[0]
            weights, near = part.weights, part.seen_from(self.columns)
        point = WeightedFit.at(weights, problem, self.columns, _moving(weights), near, _EARLY)
        return (self._scaled(point), True) if near is None and np.any(weights) else (point, False)

    def _scaled(self, point: WeightedFit) -> WeightedFit:
        """The weights replaced by the norms for as long as that brings more than a Newton step has to."""
        for _ in range(_SCALINGS):
            further = self._at(point.norms, point)
            if not further.smoothed < point.smoothed:
                break
            gain, point = point.smoothed - further.smoothed, further
            if gain <= _WORTH * abs(point.smoothed):
                break
        return point

    def _at(self, weights: Array, near: WeightedFit) -> WeightedFit:
        """The fit at other weights of what moves, from one nearby."""
        return near.reweighted(weights, self.inner_tol_after(near))

    def _further(self, point: WeightedFit, scaled: bool) -> WeightedFit | None:
        """A step of the working set or, where that has none to make, of the next one; None at the end.

        Weights that were ``scaled`` take one in any case: those of components without a use are small, not zero.
        """
        everything = len(point.moving) == len(point.weights)
        enough = self.tol if everything else max(self.tol, _SHARE * point.known_gap)
        further = self._step(point) if scaled or point.gap_of_moving() > enough else None
        if further is not None or everything or point.gap() <= self.tol:
            return further
        return self._step(point.with_next_working_set())

    def _step(self, point: WeightedFit) -> WeightedFit | None:
        whole = point.newton_weights()
        step = self._along(point, whole, 0.5)
        if step is None or _stalls(point, step.there):
            # far from where that model is good, or where the objective is told no further: the plain one or the plainer
            # bound, whichever is lower
            norms = self._at(point.norms, point)
            found = step, self._along(point, point.newton_weights(plain=True), 1e-6), Step(1.0, norms.smoothed, norms)
            ways = [way for way in found if way is not None]
            step = min(ways, key=lambda way: way.value)
            if not step.value < point.smoothed - point.noise:  # what the objective no longer tells the gap may
                ways += [way for way in (self._along(point, whole, 1e-6),) if way is not None]
                step = min(ways, key=lambda way: way.there.gap_of_moving())
        return None if _stalls(point, step.there) else step.there

    def _along(self, point: WeightedFit, weights: Array, shortest: float) -> Step[WeightedFit] | None:
        """The first decrease on the way to other weights, in steps of at least a share of it."""
        change = weights - point.weights
        slope = 0.5 * float((1 - point.squares) @ change[point.moving])

        def at(length: float) -> tuple[float, WeightedFit]:
            there = self._at(point.weights + length * change, point)
            return there.smoothed, there

        return backtrack(at, point.smoothed, min(slope, 0.0), noise=point.noise, shortest=shortest)

    def result(self, point: WeightedFit, history: list[float], more: float = 0.0) -> ComponentFit:
        """The fit with its certificate; ``more`` is what the gap of a bound leaves out."""
        gap = point.gap() + more
        if gap > self.tol:
            warnings.warn(
                f"Component selection stopped after {len(history)} steps at a relative duality gap of {gap:.2g}, above "
                f"tol={self.tol:g}. Raise max_iter or tol, or lower C.",
                ConvergenceWarning,
                stacklevel=5,
            )
        status = "ok" if np.any(point.norms > 0) else "constant"
        solution = replace(
            point.solution,
            objective=point.objective,
            gap=gap,
            n_iter=len(history),
            converged=gap <= self.tol,
            certificate="duality gap",
            history=history,
            margins=point.margins,
            status=status,
        )
        return ComponentFit(solution, point.weights, point.norms)


def _stalls(point: WeightedFit, there: WeightedFit) -> bool:
    """Whether a step lowers neither the objective beyond its noise nor the gap."""
    return there.smoothed >= point.smoothed - point.noise and there.gap_of_moving() >= point.gap_of_moving()


class _Rounds:
    """Bounds of a nonconvex loss, each with its own search for weights from those of the last."""

    def __init__(self, problem: Problem, search: _Search, trusted: Problem) -> None:
        for part in problem.loss.parts:
            check_majorizer(part)
        self.problem, self.search = problem, search
        self.inner = replace(search, tol=0.5 * search.tol)  # what a round may still gain has the other half
        self.point = self.last = self.inner.convex(trusted, _first_weights(search.columns))[0]
        self.fallen = False  # a class was given up
        self.whole = False  # whether bounds are minimised, or the weights only move on

    def objective(self) -> float:
        """That of weights and functions, which rounds lower even where one step leaves the weights behind the norms."""
        point = self.point
        return self.problem.cost(point.margins) + point.smoothed - point.problem.cost(point.margins)

    def next_round(self) -> bool | None:
        bound = bound_at(self.problem, self.point.margins)
        self.fallen = is_degenerate(bound)
        if self.fallen:
            return None
        before, self.last = self.objective(), self.point
        search = self.inner if self.whole else replace(self.inner, max_iter=min(_STEPS, self.inner.max_iter))
        self.point, _ = search.onward(bound, self.point)
        slow = before - self.objective() <= 0.1 * self.search.tol * abs(before)
        settled, self.whole = slow and self.whole, slow or self.whole
        return settled

    def undo(self) -> None:
        self.point = self.last

    def run(self) -> ComponentFit:
        history = [self.objective()]
        majorize_minimise(self, history, _ROUNDS)
        if self.fallen:
            return self._constant()
        gained = (history[-2] - history[-1]) / max(abs(history[-1]), _TINY) if len(history) > 1 else 0.0
        history[-1] = self.problem.cost(self.point.margins) + float(self.point.norms.sum())  # that of (S), not above
        fit = self.search.result(self.point, history, max(gained, 0.0))
        return fit._replace(solution=replace(fit.solution, objective=history[-1]))

    def _constant(self) -> ComponentFit:
        """The constant classifier, where the cap of the loss leaves no row of one class."""
        constant, n = constant_fit(self.problem), len(self.problem.y)
        zero = np.zeros(len(self.search.columns.components))
        solution = replace(
            self.point.solution,
            coef=np.zeros(n),
            intercept=constant.intercept,
            dual=np.zeros(n),
            objective=constant.objective,
            gap=0.0,
            status="degenerate",
            margins=self.problem.y * constant.intercept,
        )
        return ComponentFit(solution, zero, zero)
