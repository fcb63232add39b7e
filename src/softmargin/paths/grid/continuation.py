"""Predictor-corrector continuation in C: the elastic-net solutions at increasing C, several at a time.

Three costs rule a path, and each is paid rarely here.

* **Measuring all columns** (``Phi'g``, one pass over the data). The next few values of C are solved ahead on a
  candidate set and verified together by one matrix product; the next attempt begins at the first value whose
  certificate fails, with the violators added. Candidates are the support and the columns whose slope ``|Phi_j'g|``,
  extrapolated linearly in log C from the last two verified values, reaches its l1 cost (the sequential strong rule
  where no extrapolation is known yet). No guess is trusted: every value ends with a certified gap.
* **Curvature** (``M' diag(phi'') M``). A stale matrix scaled by C serves while each step shrinks what is left at least
  fourfold, and is rebuilt when it does not.
* **Evaluating the loss.** Such steps need slopes only; values are computed once per C, for the certificate.

Certificate. Dual slopes must sum to zero, and the intercept is only nearly optimal; so the rows of the heavier sign are
scaled by the ``c <= 1`` that balances them, and ``L_i*(c g_i) <= c L_i*(g_i) + (1 - c) L_i*(0)`` bounds the conjugate.

Where a step does not converge (vanishing curvature, huge steps) the damped method of
:mod:`softmargin.solvers.elastic_net.proximal_newton` takes over for that value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._threads import one_blas_thread
from softmargin.problem import Problem
from softmargin.solvers import Solution, solve
from softmargin.solvers.elastic_net import Columns, Curvature, PrimalDual, certify, violations

__all__ = ["continuation"]

Array = NDArray[np.floating[Any]]

_LONGEST = 16  # values of C solved ahead
_SHRINK = 1 / 50  # a step that leaves more of the distance (a squared quantity) asks for fresh curvature
_NEAR = 0.92  # a column predicted to reach this fraction of its l1 cost is a candidate
_GOAL = 0.2  # of the tolerance, on the candidates
_STEPS = 12


@dataclass
class Point:
    """A point on the candidate set; ``slopes`` are ``y s phi'(u)``, those of the data term at C = 1."""

    coef: Array
    intercept: float
    scores: Array
    slopes: Array
    product: Array  # slopes' product with the candidate columns
    n_iter: int = 0


@dataclass
class Finish:
    """What the certificate needs of a finished point: its loss, balanced dual slopes, a bound of their conjugate."""

    loss: float
    dual: Array
    conjugate: float


class CandidateSet:
    """A stretch of the path on fixed candidate columns; the problem's weights are the sample weights (C = 1)."""

    def __init__(self, problem: Problem, index: NDArray[np.intp], cost: Array) -> None:
        self.problem, self.index, self.cost = problem, index, cost[index]
        self.columns = Columns(problem.expansion, index, problem.penalty.ridge, problem.fit_intercept)
        self.signed = problem.y * problem.weights
        self.curvature: Curvature | None = None

    def point(self, coef: Array, intercept: float, scores: Array, slopes: Array | None = None) -> Point:
        """A point with its slopes."""
        if slopes is None:
            slopes = self.signed * self.problem.loss.slope(self.problem.margins_of(scores, intercept))
        return Point(coef, intercept, scores, slopes, self.columns.transpose(slopes))

    def predict(self, C: float, seen: list[tuple[float, Point]]) -> Point:
        """Where to start at ``C``: the line through the last two solutions, in log C, or the last one."""
        now, at = seen[-1]
        if len(seen) < 2 or self.problem.penalty.positive:
            return self.point(at.coef, at.intercept, at.scores, at.slopes)
        before, earlier = seen[-2]
        ahead = np.log(C / now) / np.log(now / before)
        change = ahead * (at.coef - earlier.coef)
        left = (at.coef == 0) & (change != 0)
        if left.any():
            change[left] = 0.0
            scores = at.scores + self.columns.apply(change)
        else:
            scores = at.scores + ahead * (at.scores - earlier.scores)
        return self.point(at.coef + change, at.intercept + ahead * (at.intercept - earlier.intercept), scores)

    def _refresh(self, at: Point) -> None:
        loss, weights = self.problem.loss, self.problem.weights
        h = weights * loss.curvature(self.problem.margins_of(at.scores, at.intercept))
        bound = loss.curvature_bound
        if not np.isfinite(bound):
            bound = float(np.max(h / weights))
        self.curvature = self.columns.curvature(np.maximum(h, (1e-6 * bound) * weights))

    def _step(self, C: float, at: Point) -> Point:
        assert self.curvature is not None
        penalty, columns = self.problem.penalty, self.columns
        size = at.scores[self.index] if columns.is_kernel else at.coef
        gradient = C * at.product + penalty.ridge * size
        violation = violations(gradient, at.coef, self.cost, penalty.positive)
        model = self.curvature.model(C, C * float(at.slopes.sum()), gradient)
        target = model.minimise(at.coef, self.cost, penalty.positive, violation)
        scores = at.scores + columns.apply(target.coef - at.coef)
        return self.point(target.coef, at.intercept + target.shift, scores)

    def _left(self, C: float, at: Point, scale: float) -> float:
        """An estimate of the relative gap on the candidates, once the intercept is settled."""
        penalty = self.problem.penalty
        v, drift = C * at.product, C * float(at.slopes.sum())
        rest = 0.0
        if self.curvature is not None and self.curvature.moment is not None:
            v = v - self.curvature.moment * (drift / self.curvature.mass)
            rest = drift * (drift / (C * self.curvature.mass))
        size = at.scores[self.index] if self.columns.is_kernel else at.coef
        violation = violations(v + penalty.ridge * size, at.coef, self.cost, penalty.positive)
        if penalty.ridge > 0 and not self.columns.is_kernel:
            return (rest + float(violation @ violation) / (2 * penalty.ridge)) / scale
        return rest / scale + float(np.max(violation / np.maximum(self.cost, 1e-300), initial=0.0))

    def solve(self, C: float, at: Point, scale: float, goal: float) -> Point | None:
        """Minimise over the candidates; None where undamped steps do not converge."""
        if self.curvature is None:
            self._refresh(at)
        fresh, left = False, self._left(C, at, scale)
        for n_iter in range(1, _STEPS + 1):
            trial = self._step(C, at)
            now = self._left(C, trial, scale)
            better, slow = now < left, now > _SHRINK * left
            if better:
                at, left = trial, now
            if left <= goal:
                at.n_iter = n_iter
                return self._center(C, at)
            if slow and fresh and not better:
                return None
            if slow:
                self._refresh(at)
            fresh = slow
        return None

    def _center(self, C: float, at: Point) -> Point:
        """One Newton step of the intercept alone."""
        if self.curvature is not None and self.curvature.moment is not None:
            at.intercept -= float(at.slopes.sum()) / self.curvature.mass
        return at

    def finish(self, C: float, at: Point) -> Finish:
        """Value the loss and balance the dual slopes; leaves the point with the slopes of its final intercept."""
        loss, weights = self.problem.loss, self.problem.weights
        value, slope, _ = loss.evaluate(self.problem.margins_of(at.scores, at.intercept))
        at.slopes = self.signed * slope
        value = weights * value
        row = at.slopes * (at.scores + at.intercept) - value  # the conjugate of each row at its own slope
        conjugate, dual = float(row.sum()), at.slopes
        drift, size = float(dual.sum()), float(np.abs(dual).sum())
        if self.problem.fit_intercept and drift != 0:
            share = (size - abs(drift)) / (size + abs(drift))
            heavy = (dual > 0 if drift > 0 else dual < 0).astype(np.float64)
            dual = dual * (1.0 - (1.0 - share) * heavy)
            conjugate -= (1 - share) * (float(row @ heavy) + float(weights @ heavy) * loss.floor)
        return Finish(C * float(value.sum()), C * dual, C * conjugate)


@dataclass
class Continuation:
    """The whole path: certified solutions at increasing C."""

    problem: Problem
    Cs: Array
    tol: float
    max_iter: int

    def run(self, start: Solution) -> list[Solution]:
        """All solutions; ``start`` is the one at ``Cs[0]``."""
        expansion, penalty = self.problem.expansion, self.problem.penalty
        self.cost = penalty.thresholds(expansion.shape[1])
        self.found = [start]
        self.slope_products = [(self.Cs[0], expansion.transpose(np.asarray(start.dual)) / -self.Cs[0])]
        self.scores = expansion.apply(start.coef)
        ahead, violators = 2, np.zeros(0, dtype=np.intp)
        while len(self.found) < len(self.Cs):
            first = len(self.found)
            last = min(first + ahead, len(self.Cs))
            candidates = CandidateSet(self.problem, self._candidates(self.Cs[last - 1], violators), self.cost)
            named = self._attempt(candidates, first, last)
            # columns named in vain stay: two sets that name each other would be tried for ever
            violators = np.union1d(violators, named) if len(self.found) == first else named
            complete = len(self.found) == last
            ahead = min(2 * ahead, _LONGEST) if complete else max(2, (len(self.found) - first + ahead) // 2)
        return self.found

    def _candidates(self, C: float, violators: NDArray[np.intp]) -> NDArray[np.intp]:
        """The support, the columns expected to matter by ``C``, and those a failed certificate named."""
        now, product = self.slope_products[-1]
        measure = np.negative if self.problem.penalty.positive else np.abs
        if len(self.slope_products) == 1:
            wanted = measure(product) >= 2 * self.cost / C - self.cost / now
        else:
            before, earlier = self.slope_products[-2]
            ahead = product + (product - earlier) * (np.log(C / now) / np.log(now / before))
            wanted = measure(ahead) >= _NEAR * self.cost / C
            wanted |= measure(product) >= _NEAR * self.cost / now
        wanted |= self.found[-1].coef != 0
        wanted[violators] = True
        return np.flatnonzero(wanted)

    def _attempt(self, candidates: CandidateSet, first: int, last: int) -> NDArray[np.intp]:
        """Solve ``Cs[first:last]`` ahead, verify them together, keep those before the first failure.

        Returns the columns that spoiled the failing certificate; at least one value is always kept.
        """
        before = self.found[-1]
        start = candidates.point(before.coef[candidates.index], before.intercept, self.scores)
        seen, points = [(self.Cs[first - 1], start)], list[Point]()
        finishes: list[Finish] = []
        for C in self.Cs[first:last]:
            repeated = seen[-1][0] >= C * (1 - 1e-9)  # no line through two solutions at one C
            at = candidates.predict(C, seen[-1:] if repeated else seen[-2:])
            solved = candidates.solve(C, at, before.objective * (C / self.Cs[first - 1]), _GOAL * self.tol)
            if solved is None:
                break
            finishes.append(candidates.finish(C, solved))
            seen = [*seen[:-1], (C, solved)] if repeated else [*seen, (C, solved)]
            points.append(solved)
        if not points:
            self._rescue(first)
            return np.zeros(0, dtype=np.intp)
        V = self.problem.expansion.transpose(np.column_stack([finish.dual for finish in finishes]))
        violators_found: list[NDArray[np.intp]] = []
        for i, (point, finish) in enumerate(zip(points, finishes, strict=True)):
            v = np.ascontiguousarray(V[:, i])
            solution = self._certified(candidates, self.Cs[first + i], point, finish, v)
            if not violators_found and solution.converged:
                self._keep(solution, v / self.Cs[first + i], point.scores)
            else:
                size = point.scores if self.problem.expansion.is_kernel else solution.coef
                G = v + self.problem.penalty.ridge * size
                outside = violations(G, solution.coef, self.cost, self.problem.penalty.positive) > 0
                outside[candidates.index] = False
                violators_found.append(np.flatnonzero(outside))
        if len(self.found) == first and not any(len(some) for some in violators_found):
            self._rescue(first)  # the candidates were right, their solution was not
        return np.unique(np.concatenate(violators_found)) if violators_found else np.zeros(0, dtype=np.intp)

    def _certified(self, candidates: CandidateSet, C: float, at: Point, finish: Finish, v: Array) -> Solution:
        problem = replace(self.problem, weights=C * self.problem.weights)
        coef = np.zeros(problem.expansion.shape[1])
        coef[candidates.index] = at.coef
        norm = float(at.coef @ (at.scores[candidates.index] if problem.expansion.is_kernel else at.coef))
        penalty = 0.5 * problem.penalty.ridge * norm + float(candidates.cost @ np.abs(at.coef))
        dual = PrimalDual(finish.loss, finish.conjugate, v, coef, at.scores, self.cost)
        certificate = certify(problem, dual)
        objective = finish.loss + penalty
        gap = certificate.relative(objective, penalty)
        return Solution(coef, at.intercept, -finish.dual, objective, gap, at.n_iter, gap <= self.tol, certificate.kind)

    def _keep(self, solution: Solution, product: Array, scores: Array) -> None:
        C = self.Cs[len(self.found)]
        earlier = [
            one for one in self.slope_products if one[0] < C * (1 - 1e-9)
        ]  # a repeated C says nothing about the slope
        self.slope_products = [*earlier[-1:], (C, product)]
        self.scores = scores
        self.found.append(solution)

    def _rescue(self, k: int) -> None:
        """The damped method, for one value."""
        problem = replace(self.problem, weights=self.Cs[k] * self.problem.weights)
        solution = solve(problem, self.found[-1], tol=self.tol, max_iter=self.max_iter)
        assert solution.dual is not None
        product = problem.expansion.transpose(solution.dual) / -self.Cs[k]
        self._keep(solution, product, problem.expansion.apply(solution.coef))


def continuation(problem: Problem, Cs: Array, start: Solution, *, tol: float, max_iter: int) -> list[Solution]:
    """Solutions of ``problem`` (weights at C = 1) at the increasing values ``Cs``, given the one at ``Cs[0]``."""
    # many small products: more threads only wait for each other; what overflows has no certificate and is solved anew
    with one_blas_thread(), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return Continuation(problem, Cs, tol, max_iter).run(start)
