"""Proximal Newton's method for smooth convex losses with l1 costs or sign constraints.

A full pass over the data measures every coefficient's optimality condition and certifies the point. Between passes only
a working set moves: the support and the worst violators. On it each step minimises the second-order model exactly
(:mod:`softmargin.solvers.elastic_net.quadratic_model`), backtracks on the true objective until

    F(b + t db) <= F(b) + 1e-4 t D,    D = g'd + Omega(b + db) - Omega(b),

goes on towards the minimum along the line where it had to be cut, so that the next model sees the row that bent, and
makes the intercept optimal. Curvatures are kept above a small multiple of the loss's curvature bound, so rows on
flat pieces (Huberised and squared hinge, tiny temperatures) never make the model degenerate; the multiple grows where
no step leads down and shrinks again where whole steps do. Nearly kinked losses first solve smoother relatives,
``loss.relaxations()``, each from the solution of the one before.

Where costs are tiny beside the slopes (columns of 1e8, a large C, heavy rows) and rows lie on flat pieces, every model
is wrong about the rows that bend next, and steps crawl. Such a descent is broken off and begun again by continuation:
under the loss with its flat pieces softened, less and less (``loss.smoothings()``), or else at zero under costs so
large that few coefficients move, which then fall tenfold at a time. Each minimiser is a good start for the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.losses import Loss
from softmargin.problem import DataTerm, Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.certificate import Certificate, PrimalDual, certify, violations
from softmargin.solvers.elastic_net.quadratic_model import Columns
from softmargin.solvers.elastic_net.separation import is_unbounded
from softmargin.solvers.elastic_net.working_set import WorkingSet
from softmargin.solvers.engine import Engine
from softmargin.solvers.linalg import Step, backtrack
from softmargin.solvers.ridge.line_search import center

__all__ = ["PROXIMAL_NEWTON", "Iterate", "approach"]

Array = NDArray[np.floating[Any]]

_FLOOR = 1e-6  # least curvature, in units of the loss's bound,
_LEAST = 1e-14  # and after so many full steps in a row: a flat row far out would hold its columns back
_FULL_STEPS = 10
_ROUGH = 1e-2  # relative gap at which a relaxation has served its purpose
_NEARLY = 10  # times the tolerance: gaps worth a sharper look
_ENOUGH = 0.1  # a working set is left when its violations are this fraction of what sent us there
_ROUNDING = 1e-14
_FARTHEST = 1e75  # margins beyond are as good as that, whose square is still a number
_PATIENCE = 3  # steps without progress beyond rounding before we give up
# Steps that a descent from a fair start takes at most (squared hinges, 100 rows, 50 columns of size 1 to 1e8: 90 by way
# of large costs, and no end in a thousand without); beyond that it is no fair start.
_DIRECT, _DIRECT_KERNEL = 50, 100  # kernel columns come a few at a time
_SETTLED = 4  # times that, from where a continuation has ended
_FALL, _FOLLOWED = 10.0, 1e-4  # costs fall by that; minimisers are followed to this gap: 1e-2 loses some of those above
_LARGEST_PULL = 1e20  # beside the cost; larger ones are those of columns that rows of 1e20 beside 1 could not feel
_SEARCHED, _FLAT = 30, 0.1  # halvings of the last interval of a line, and the share of the slope at which they end
# of what the last step gained, which the next one will hardly: where another bound gains more, this one has served
_OUTDONE = 0.1
_STALLED = 200  # steps in which the gap has not halved: no end is in sight


@dataclass
class Iterate:
    """The present point, with what is known about it."""

    problem: Problem
    coef: Array
    intercept: float
    scores: Array
    level: float = _FLOOR
    n_full: int = 0
    history: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.cost = self.problem.penalty.thresholds(len(self.coef))
        self.margins = self.problem.margins_of(self.scores, self.intercept)
        self.settle(self.problem.evaluate(self.margins))

    @classmethod
    def at(cls, problem: Problem, start: Solution | None) -> Iterate:
        """The starting point: all zero, or a solution of a nearby problem."""
        n, p = problem.expansion.shape
        if start is None:
            return cls(problem, np.zeros(p), 0.0, np.zeros(n))
        coef = np.array(start.coef, dtype=np.float64)
        if problem.penalty.positive:
            np.maximum(coef, 0.0, out=coef)
        warm = cls(problem, coef, float(start.intercept), problem.expansion.apply(coef))
        cold = cls(problem, np.zeros(p), 0.0, np.zeros(n))
        # a start that costs more than nothing at all may lie so far out that no row there has a curvature
        return warm if warm.term.cost + warm.penalty() <= cold.term.cost else cold

    def settle(self, term: DataTerm) -> None:
        """Accept a data term at ``margins`` and make the intercept optimal."""
        shift, self.margins, self.term = center(self.problem, self.margins, term)
        self.intercept += shift
        self.g = self.problem.y * self.term.slope

    def penalty(self) -> float:
        """``Omega`` at the present point."""
        return 0.5 * self.problem.penalty.ridge * self.square(self.coef, self.scores) + float(
            self.cost @ np.abs(self.coef)
        )

    def square(self, coef: Array, scores: Array) -> float:
        """``|coef|^2``, or ``coef'K coef`` given ``scores = K coef``, which rounding alone makes negative."""
        return max(float(coef @ (scores if self.problem.expansion.is_kernel else coef)), 0.0)

    def certify(self, v: Array, sharp: bool = False) -> Certificate:
        """How far the point is from optimal, given ``v = Phi'g``; ``sharp`` asks the loss for its conjugate."""
        sharp = sharp and self.problem.loss.has_conjugate
        conjugate = float(self.g @ self.scores) - self.term.cost
        at = PrimalDual(
            self.term.cost, conjugate, v, self.coef, self.scores, self.cost, self._conjugate if sharp else None
        )
        return certify(self.problem, at)

    def _conjugate(self, c: float) -> float:
        """The conjugate of the data term at ``c`` times the present slopes, infinite where they are not its own."""
        weights, slope = self.problem.weights, self.term.slope
        used = weights > 0  # a row given up has neither weight nor slope
        if np.any(slope[~used]):
            return np.inf
        total = float(weights[used] @ self.problem.loss.conjugate(c * slope[used] / weights[used]))
        return total - self.problem.constant

    def curvatures(self) -> Array:
        """The curvature of each row, kept above the floor."""
        weights, bound = self.problem.weights, self.problem.loss.curvature_bound
        if not np.isfinite(bound):
            used = weights > 0
            bound = float(np.max(self.term.curvature[used] / weights[used], initial=0.0))
        # a row of margin u must move by about u to bend again: one far out must not hold its columns back
        far = np.minimum(np.abs(self.margins), _FARTHEST)
        return np.maximum(self.term.curvature, (self.level * bound) * weights / (1 + np.square(far)))

    def step(self, columns: Columns, violation: Array) -> bool:
        """One damped proximal Newton step on the working set; did the objective decrease by more than rounding?

        The line search forgives rounding: near the optimum the conditions still improve when the objective cannot.
        """
        index, penalty = columns.index, self.problem.penalty
        old, cost = self.coef[index], self.cost[index]
        model = columns.model(self.g, self.curvatures(), self.coef, self.scores)
        target = model.minimise(old, cost, penalty.positive, violation)
        step = target.coef - old
        scores = columns.apply(step)
        dmargins = self.problem.y * (scores + target.shift)
        size = self.scores[index] if columns.is_kernel else old
        linear = penalty.ridge * float(size @ step)
        square = 0.5 * penalty.ridge * self.square(step, scores[index] if columns.is_kernel else step)
        before = float(cost @ np.abs(old))
        slope = float(self.g @ (scores + target.shift))
        descent = slope + linear + square + float(cost @ np.abs(target.coef)) - before
        noise = _ROUNDING * (abs(self.term.cost) + before)

        def at(t: float) -> tuple[float, DataTerm]:
            term = self.problem.evaluate(self.margins + t * dmargins)
            change = term.cost - self.term.cost + t * linear + t * t * square
            return change + float(cost @ np.abs(old + t * step)) - before, term

        def rise(t: float, term: DataTerm) -> float:
            along = linear + 2 * t * square + float(cost @ (np.sign(old + t * step) * step))
            return float(term.slope @ dmargins) + along

        found = backtrack(at, 0.0, min(descent, 0.0), noise=noise)
        if found is None:
            self._adapt(whole=False)
            return False
        t, change, term = found if found.length == 1 else _further(at, rise, found)
        if t == 1:
            self._adapt(whole=True)
        self.coef[index] = target.coef if t == 1 else old + t * step
        self.scores = self.scores + t * scores
        self.margins = self.margins + t * dmargins
        self.intercept += t * target.shift
        self.settle(term)
        return change < -noise

    def _adapt(self, *, whole: bool) -> None:
        """Lower the least curvature after whole steps, raise it where no step leads down.

        One that was cut needs no more: the next model knows the row that bent.
        """
        self.n_full = self.n_full + 1 if whole else 0
        if whole:
            floor = _FLOOR if self.n_full < _FULL_STEPS else _LEAST
            self.level = max(self.level / 10, floor)
        else:
            self.level = min(30 * self.level, 1.0)


def _accepts(problem: Problem) -> bool:
    loss, penalty = problem.loss, problem.penalty
    convex = loss.convex and penalty.convex
    return convex and loss.smooth and (penalty.l1_ratio > 0 or penalty.positive)


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    n_iter = 0
    relaxations: tuple[Loss, ...] = getattr(problem.loss, "relaxations", tuple)() if start is None else ()
    for loss in relaxations:
        start = _descend(problem.with_loss(loss), start, max(tol, _ROUGH), max_iter, verbose)
        n_iter += start.n_iter
    direct, ways = _DIRECT, [_by_smoother_losses, _by_large_costs]
    if problem.expansion.is_kernel:  # whose columns depend on one another, and large costs take few of them
        direct, ways = _DIRECT_KERNEL, ways[::-1]
    solution = _descend(problem, start, tol, min(max_iter, direct), verbose)
    for way in ways:
        if solution.n_iter < max_iter and solution.gap > tol and solution.status == "ok":  # it crawls, or stands still
            solution = way(problem, solution, tol, max_iter, verbose)
    solution.n_iter += n_iter
    return solution


def approach(bound: Problem, start: Solution, truth: Problem, tol: float, max_iter: int, verbose: int) -> Solution:
    """Down a convex ``bound`` of the nonconvex problem ``truth``, for as long as that pays.

    Near the minimum of a bound another one, made there, gains more than its last digits. The result is said to have
    converged where the steps ended for that reason; its gap is the true one of the bound.
    """
    found = _descend(bound, start, tol, min(max_iter, _DIRECT), verbose, truth)
    if found.converged or found.status != "ok":
        return found
    again = _run(bound, start, tol, max(max_iter - found.n_iter, 0), verbose)
    again.n_iter += found.n_iter
    return again


def _by_smoother_losses(problem: Problem, direct: Solution, tol: float, max_iter: int, verbose: int) -> Solution:
    """The minimiser by way of those under smoother losses; ``direct`` is what came of going there at once."""
    n_iter, found = direct.n_iter, None
    for loss in problem.loss.smoothings():
        steps = min(max(max_iter - n_iter, 0), _DIRECT)
        found = _descend(problem.with_loss(loss), found, max(tol, _ROUGH), steps, verbose)
        n_iter += found.n_iter
        if found.gap > max(tol, _ROUGH):  # it is not the flat pieces that hold it up
            found = None
            break
    if found is None:
        direct.n_iter = n_iter
        return direct
    steps = min(max(max_iter - n_iter, 0), _SETTLED * _DIRECT)
    found = _descend(problem, found, tol, steps, verbose)
    n_iter += found.n_iter
    if found.objective > direct.objective and found.gap > tol:  # a round of a majoriser may not rise
        found = direct
    found.n_iter = n_iter
    return found


def _by_large_costs(problem: Problem, direct: Solution, tol: float, max_iter: int, verbose: int) -> Solution:
    """The minimiser by way of those under larger costs; ``direct`` is what came of going there at once."""
    found, n_iter = direct, direct.n_iter
    for number, share in enumerate(_shares(problem)):
        start = None if number == 0 else found
        last = share == 1.0
        steps = max(max_iter - n_iter, 0)
        found = _descend(
            problem.scaled(share),
            start,
            tol if last else max(tol, _FOLLOWED),
            steps if last else min(steps, _DIRECT),
            verbose,
        )
        n_iter += found.n_iter
    if found.objective > direct.objective:  # a round of a majoriser may not rise
        found = direct
    found.n_iter = n_iter
    return found


def _shares(problem: Problem) -> list[float]:
    """The weights of the data, beside those given, from where costs let the first coefficients move up to all of it."""
    at = Iterate.at(problem, None)
    with np.errstate(divide="ignore"):
        pulls = np.abs(problem.expansion.transpose(at.g)) / at.cost
    largest = min(float(pulls[np.isfinite(pulls)].max(initial=1.0)), _LARGEST_PULL)
    return [*(_FALL**power / largest for power in range(1, math.ceil(math.log(largest, _FALL)))), 1.0]


def _descend(
    problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int, truth: Problem | None = None
) -> Solution:
    at, n_iter, outdone = Iterate.at(problem, start), 0, False
    touching = 0.0 if truth is None or start is None else _apart(problem, truth, start.coef)
    patience, least, status = _PATIENCE, np.inf, "ok"
    halved, working_set = _Halving(), WorkingSet(problem)
    ridge, positive = problem.penalty.ridge, problem.penalty.positive
    while True:
        v = problem.expansion.transpose(at.g)
        G = v + ridge * (at.scores if problem.expansion.is_kernel else at.coef)
        penalty = at.penalty()
        objective = at.term.cost + penalty
        certificate = at.certify(v)
        gap = certificate.relative(objective, penalty)
        last = n_iter >= max_iter or patience < _PATIENCE  # steps bring nothing more: what is left may be the bound's
        if gap > tol and (last or gap <= _NEARLY * tol):
            certificate = at.certify(v, sharp=True)
            gap = certificate.relative(objective, penalty)
        at.history.append(objective)
        if is_heard(verbose):
            message = f"objective {objective:.12g}, relative {certificate.kind} {gap:.3g}"
            report("proximal newton step", message, verbose)
        if is_unbounded(problem, at.coef, at.cost, at.margins):
            status = "unbounded"
        if truth is not None and n_iter > 0:
            above = at.term.cost - truth.cost(at.margins) + (_apart(problem, truth, at.coef) - touching)
            outdone = above > _OUTDONE * (at.history[-2] - at.history[-1])
        if (
            outdone
            or gap <= tol
            or n_iter >= max_iter
            or patience == 0
            or status != "ok"
            or halved.since(gap, n_iter) > _STALLED
        ):
            break
        violation = violations(G, at.coef, at.cost, positive)
        columns = working_set.columns(at.coef, violation)
        goal = _ENOUGH * float(violation.max(initial=0.0))
        here = violation[columns.index]
        if not here.max(initial=0.0) > goal:  # nothing to move: the gap that is left is rounding
            break
        while n_iter < max_iter and here.max(initial=0.0) > goal and patience > 0:
            decreased = at.step(columns, here)
            n_iter += 1
            if columns.measures or truth is not None:
                patience = _PATIENCE if decreased else patience - 1
                break
            gradient = columns.gradient(at.g, at.coef, at.scores)
            here = violations(gradient, at.coef[columns.index], at.cost[columns.index], positive)
            worst = float(here.max(initial=0.0))
            patience = _PATIENCE if decreased or worst < 0.9 * least else patience - 1
            least = min(least, worst)
    found = outdone or gap <= tol
    return Solution(
        at.coef, at.intercept, -at.g, objective, gap, n_iter, found, certificate.kind, at.history, status=status
    )


def _apart(bound: Problem, truth: Problem, coef: Array) -> float:
    """How far the tangent of a concave penalty lies above it, up to a constant."""
    return bound.penalty.value(coef, 0.0) - truth.penalty.value(coef, 0.0)


def _further(
    at: Callable[[float], tuple[float, DataTerm]], rise: Callable[[float, DataTerm], float], found: Step[DataTerm]
) -> Step[DataTerm]:
    """Near the minimum along the line, which lies between a step that was short enough and twice that.

    A step that ends before the row that cut it bends makes a model that knows nothing of it, and is cut again.
    """
    low, high, best = found.length, 2 * found.length, found
    first = slope = rise(low, found.there)
    for _ in range(_SEARCHED):
        if slope >= _FLAT * first:  # both are negative where there is more to gain
            break
        middle = 0.5 * (low + high)
        value, term = at(middle)
        ahead = rise(middle, term)
        if value <= best.value:
            best = Step(middle, value, term)
        if ahead < 0:
            low, slope = middle, ahead
        else:
            high = middle
            if ahead <= -_FLAT * first:
                break
    return best


class _Halving:
    """When a number was last halved."""

    def __init__(self) -> None:
        self.least, self.at = np.inf, 0

    def since(self, value: float, step: int) -> int:
        """The steps since ``value`` was last seen at half of what it had been."""
        if value < 0.5 * self.least:
            self.least, self.at = value, step
        return step - self.at


PROXIMAL_NEWTON = Engine(
    "proximal_newton", "a smooth convex loss with l1_ratio > 0 or a sign constraint", _accepts, _run
)
