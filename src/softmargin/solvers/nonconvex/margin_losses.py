"""Nonconvex margin losses: each round minimises a convex loss that touches at the present margins.

``loss.majorize(u)`` returns weights and tilts of a convex loss. Redescending losses are bounded by weighted squared
hinges, capped likelihoods by the likelihood of the retained rows, capped hinges and flipped-label likelihoods by a
tilted hinge or logistic loss. Each bound is an ordinary convex problem for the engines at hand, warm-started. Once
rounds hardly move, Newton steps on the loss itself (under l1 costs on the support) finish the work; they are taken only
where the objective does not rise. For capped losses of many rows of features they do all of it, from a rough convex
fit, and are searched along. A bound that repeats itself ends the search exactly, which capped losses do after few
rounds.

Starts. The first bound trusts every row (the loss's convex relative: squared hinge, logistic, hinge), so a fit is a
function of its problem alone: a given start only speeds up that first convex fit. The gap reported is the certified
one of the bound made at the solution: no convex majoriser that touches there can fall further than that.

A capped loss may give up a whole class. Its bound then has no finite minimum; the constant classifier of the majority
is returned with status "degenerate".
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from softmargin._progress import is_heard, report
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.separation import is_unbounded
from softmargin.solvers.engine import Engine
from softmargin.solvers.nonconvex.convex_bounds import (
    bound_at,
    certain_margins,
    check_majorizer,
    constant_solution,
    is_degenerate,
    is_same_bound,
)
from softmargin.solvers.nonconvex.inner_solvers import InnerSolver, inner_solver
from softmargin.solvers.nonconvex.majorize_minimise import ROUNDING, majorize_minimise
from softmargin.solvers.refusal import refusal
from softmargin.solvers.thresholds import FEW_ROWS

__all__ = ["INITS", "MarginLossFit", "OnRound", "Starts"]

Array = NDArray[np.floating[Any]]
OnRound = Callable[[Array, Array], None]

INITS = ("base", "zero", "anneal")

_NEAR = 0.05  # a round that moves scores by less than this hands over to Newton steps on the loss itself
_LONGEST_WAIT = 8  # rounds between looks for such a step in vain, which cost three rounds (1000 rows of adult, rbf)
_EXACT, _HASTY = 1e-2, 0.1  # a bound is minimised to this fraction of what the last round gained; of many rows
_FIRST = 1e-4  # what the first round is expected to gain, in units of the objective
_ROUGH = 1e-2  # gap to which many rows' convex relative is fitted: it is where Newton steps begin, no more
_TINY = 1e-300
_EQUAL = 1e-6  # scores that differ by less, beside 1 and the largest, are one score
# Multiplications of steps beyond which no other start is made, nor carried on: a second or two, fifty steps on 1000
# rows of a kernel that all have coefficients; or, where that is more, what the first start took for each of them.
_OTHER_STARTS, _AS_THE_FIRST = 5e10, 1.0
_ANNEAL = (8.0, 4.0, 2.0)  # multiples of sigma, from gentle to the one asked for
_AWAY = 0.1  # of the way to the score at which a constant classifier's costs are those at infinity
_INNER = 10  # steps of the inner solver that a round may take on average
_IDLE = 3  # rounds in a row that move the scores and not the objective: along a flat valley they would go on for ever
_SHORT = 3  # bounds in a row whose minimisation ends short of the tolerance, and no nearer to it than the last one


@dataclass(frozen=True)
class Starts:
    """Where descents begin: the first at ``init``, or at a user's ``scores`` of the rows, the others at random.

    Those are convex fits to random halves of the rows. The lowest objective wins, but never a constant classifier
    against one that tells the classes apart: with a bounded loss the constant is often the cheapest and never the
    better model.
    """

    init: str = "base"
    n_init: int = 1
    random_state: Any = None
    scores: Array | None = None


@dataclass(frozen=True)
class MarginLossFit:
    """How a nonconvex margin loss is fitted: the engines for its bounds, the starts, the accuracy, an onlooker."""

    engines: Sequence[Engine]
    starts: Starts = Starts()
    tol: float = 1e-6
    max_iter: int = 1000
    verbose: int = 0
    on_round: OnRound | None = None

    def solve(self, problem: Problem, start: Solution | None) -> Solution:
        """A stationary point of a problem whose loss may be nonconvex."""
        for part in problem.loss.parts:
            check_majorizer(part)
        problem = self._with_fixed_costs(problem)
        trusted = bound_at(problem, certain_margins(problem))
        inner = inner_solver(trusted, self.engines, self.tol)
        if inner is None:
            raise ValueError(refusal(problem, self._accepts))
        at_base = self.starts.init == "base" and self.starts.scores is None
        whole = problem.loss.parts == (problem.loss,) and self.on_round is None
        ahead = inner.subsampled_start(problem, *self._how) if at_base and whole else None
        base: Solution | None = None
        if ahead is None:
            given = start.base or start if start is not None else None
            many = len(problem.y) > FEW_ROWS
            anew = many and problem.penalty.l1_ratio == 0  # a ridge fit of many rows is cheap, and as good from zero
            tol = self._rough(problem) if many else self.tol
            base = inner.warm_start(trusted, None if anew else given, tol, *self._how[1:])
        best: Solution | None = None
        inner.work, made, most = 0.0, 0, np.inf
        for _ in self._starts(problem, trusted, inner):
            found: Solution | None
            if best is None and ahead is not None and ahead.converged:
                found = ahead
            else:
                first = at_base and best is None and base is not None
                found = self._descend(problem, inner, trusted if first else None, most)
            if found is None:
                break
            made += 1
            if best is None:
                share = _AS_THE_FIRST * (self.starts.n_init - 1)
                most = inner.work + max(_OTHER_STARTS, share * inner.work)
            if best is None or (_is_constant(found), found.objective) < (_is_constant(best), best.objective):
                best = found
            if inner.work >= most:
                break
        if made < self.starts.n_init:
            _warn_of_starts(made, self.starts.n_init)
        assert best is not None
        best.base = base
        return best

    def _accepts(self, problem: Problem) -> bool:
        """Whether a problem, or the bound of one that is not convex, is one for the engines."""
        bound = problem if problem.loss.convex else bound_at(problem, certain_margins(problem))
        return any(engine.accepts(bound) for engine in self.engines)

    @property
    def _how(self) -> tuple[float, int, int]:
        return self.tol, self.max_iter, self.verbose

    def _rough(self, problem: Problem) -> float:
        """The tolerance of a start; concave penalties are measured by slopes, whose squares are what is gained.

        Minima of losses that bend down depend more on where a descent begins.
        """
        return max(self.tol, _ROUGH if problem.penalty.convex or problem.loss.smooth else math.sqrt(_ROUGH))

    @staticmethod
    def _is_eager(problem: Problem, inner: InnerSolver) -> bool:
        """Whether Newton steps on the loss itself do all the work.

        Where a loss bends down (redescending ones, which are smooth) they lead from a convex fit to higher minima than
        the bounds do, up to one that gives a class up; capped losses, which have a corner, nowhere bend down.
        """
        return inner.has_newton_steps and not problem.loss.smooth and len(problem.y) > FEW_ROWS

    def _with_fixed_costs(self, problem: Problem) -> Problem:
        """The problem itself, or with the elastic net that a pilot fit makes of a one-round penalty (adaptive l1)."""
        penalty = problem.penalty
        if penalty.rounds > 1 or penalty.convex:
            return problem
        pilot = self.solve(replace(problem, penalty=penalty.pilot), None)
        return replace(problem, penalty=penalty.linearize(pilot.coef))

    def _starts(self, problem: Problem, trusted: Problem, inner: InnerSolver) -> Iterator[None]:
        """Put the inner solver at each start in turn."""
        starts = self.starts
        if starts.scores is not None:
            inner.warm_start(_bound_at_scores(problem, starts.scores), None, *self._how)
        elif starts.init == "zero":
            inner.reset(trusted)
        elif starts.init == "anneal" and "sigma" in {field.name for field in fields(problem.loss)}:  # type: ignore[arg-type]
            gently = replace(self, tol=1e-2, max_iter=3, on_round=None)
            for factor in _ANNEAL:
                sigma = factor * problem.loss.sigma  # type: ignore[attr-defined]
                gently._descend(problem.with_loss(replace(problem.loss, sigma=sigma)), inner, None)  # type: ignore[type-var]
        yield
        rng = np.random.default_rng(starts.random_state)
        for _ in range(starts.n_init - 1):
            chosen = rng.random(len(problem.y)) < 0.5
            for label in (-1, 1):
                chosen[rng.choice(np.flatnonzero(problem.y == label))] = True
            weights = np.where(chosen, trusted.weights, 0.0)
            tilt = None if trusted.tilt is None else np.where(chosen, trusted.tilt, 0.0)
            tol = self._rough(problem) if len(problem.y) > FEW_ROWS else self.tol
            inner.warm_start(replace(trusted, weights=weights, tilt=tilt), None, tol, *self._how[1:])
            yield

    def _descend(
        self, problem: Problem, inner: InnerSolver, bound: Problem | None, most: float = np.inf
    ) -> Solution | None:
        """Down from where the inner solver stands, the minimiser of ``bound`` if one is given, to a certified point.

        None where the inner solver has done more than ``most`` work on the way.
        """
        history = [inner.objective(problem)]
        n_rounds, eager, enough = 0, bound is not None and self._is_eager(problem, inner), self.tol
        while True:
            rounds = _Rounds(self, problem, inner, bound, eager, _Enough(enough, most))
            done, settled = majorize_minimise(rounds, history, self.max_iter - n_rounds)
            n_rounds, bound = n_rounds + done, None
            if inner.work > most:
                return None
            found = self._certified(problem, inner, history, n_rounds)
            gained = len(history) > 1 and history[-2] - history[-1] > self.tol * abs(history[-1])
            if rounds.unbounded:
                return replace(found, status="unbounded", converged=False)
            finest = enough <= _EXACT * self.tol or not rounds.many
            if found.converged or not settled or n_rounds >= self.max_iter or not (gained or not finest):
                return found
            # small steps in a valley: the bound knows that there is more to gain
            enough *= 0.1

    def _certified(self, problem: Problem, inner: InnerSolver, history: list[float], n_iter: int) -> Solution:
        """The gap of the bound made here: what its minimiser gains, and what that minimiser may still lack."""
        bound = bound_at(problem, inner.margins)
        if is_degenerate(bound):
            return _degenerate(problem, history, n_iter)
        above = inner.objective(problem)
        found = inner.minimise(bound, above, self.tol, self.max_iter, 0)
        objective = inner.objective(problem)
        scale = max(abs(objective), abs(inner.penalty), _TINY)
        gap = found.gap + max(above - inner.objective(bound), 0.0) / scale
        constant = _says_nothing(inner.margins * problem.y)
        if constant and _runs_away(problem, found.intercept, objective):
            return _degenerate(problem, history, n_iter)
        history.append(objective)
        return replace(
            found,
            coef=inner.coef,
            objective=objective,
            gap=gap,
            n_iter=n_iter,
            history=history,
            converged=gap <= self.tol,
            margins=inner.margins,
            status="constant" if constant else found.status,
        )


class _Enough(NamedTuple):
    """What ends a descent: rounds of many rows that gain less than this share, and more work than this."""

    gain: float
    work: float


class _Rounds:
    """One round after the other from where the inner solver stands: bounds, then Newton steps of the loss itself.

    ``eager`` rounds are such steps from the first. ``enough`` says where they end.
    """

    def __init__(
        self,
        fit: MarginLossFit,
        problem: Problem,
        inner: InnerSolver,
        bound: Problem | None,
        eager: bool,
        enough: _Enough,
    ) -> None:
        self.fit, self.problem, self.inner, self.bound = fit, problem, inner, bound
        self.value = inner.objective(problem)
        self.many = len(problem.y) > FEW_ROWS
        self.drop, self.accuracy, self.near = _FIRST * abs(self.value), fit.tol, eager
        self.eager, self.enough = eager, enough
        self.steps_left = _INNER * fit.max_iter
        self.short, self.lack, self.unbounded = 0, np.inf, False
        self.idle = 0
        self.rest, self.wait = 0, 1  # rounds without a look at Newton's step, and how many after the next vain one

    def objective(self) -> float:
        return self.value

    def undo(self) -> None:
        self.inner.undo()

    def next_round(self) -> bool | None:
        inner, tol, before = self.inner, self.fit.tol, self.inner.margins
        if inner.work > self.enough.work:
            return None
        stepped = self._newton_step()
        if not stepped:
            last, self.bound = self.bound, bound_at(self.problem, inner.margins)
            if is_degenerate(self.bound) or self.steps_left <= 0:
                return None
            repeats = last is not None and is_same_bound(self.bound, last)
            if repeats and self.accuracy <= tol:
                return True
            share = (_HASTY if self.many else _EXACT) * self.drop / max(abs(self.value), _TINY)
            # concave penalties are measured by slopes, whose squares are what is gained
            finest = min(tol, 1.0) ** (2 if self.problem.penalty.convex else 1)
            self.accuracy = finest if repeats else max(finest, share)
            truth = None if repeats else self.problem  # a bound that repeats itself is to be minimised
            how = self.accuracy, self.fit.max_iter, self.fit.verbose
            found = inner.minimise(self.bound, self.value, *how, truth)
            if truth is not None and found.gap > self.accuracy:
                self.accuracy = found.gap
            self.steps_left -= found.n_iter
            if found.status == "unbounded" or self._ends_short(found):
                return None
        value = inner.objective(self.problem)
        self.drop, self.value = self.value - value, value
        self.idle = 0 if self.drop > np.finfo(np.float64).eps * abs(value) else self.idle + 1
        moved = float(np.abs(inner.margins - before).max(initial=0.0)) / (1 + float(np.abs(before).max(initial=0.0)))
        if is_heard(self.fit.verbose):
            report("majoriser", f"objective {value:.12g}, scores moved by {moved:.3g}", self.fit.verbose)
        if self.fit.on_round is not None:
            self.fit.on_round(inner.margins, inner.coef)
        self.near = self.eager or stepped or (self.problem.loss.smooth and moved <= _NEAR)
        self.unbounded = self._falls_for_ever()
        settled = moved <= tol or self.idle >= _IDLE or (self.many and self.drop <= self.enough.gain * abs(value))
        return self.unbounded or settled

    def _newton_step(self) -> bool:
        """Newton's step, where it is near and one has not just been looked for in vain."""
        if not self.near:
            return False
        if self.rest > 0:
            self.rest -= 1
        elif self.inner.newton_step(self.problem, self.value):
            self.wait = 1
            return True
        elif not self.eager:
            self.rest, self.wait = self.wait, min(2 * self.wait, _LONGEST_WAIT)
        return self.many and self.inner.upward_step(self.problem, self.value)

    def _falls_for_ever(self) -> bool:
        """Whether coefficients on the flat part of a concave penalty separate the rows that still count."""
        problem, coef = self.problem, self.inner.coef
        if problem.penalty.convex or problem.penalty.ridge > 0:
            return False
        cost = problem.penalty.linearize(coef).thresholds(len(coef))
        return is_unbounded(problem, coef, cost, self.inner.margins)

    def _ends_short(self, found: Solution) -> bool:
        """Whether one bound after the other was not minimised to the tolerance, so that none will certify the fit.

        Rounds that bring more than what is lacking are worth making all the same.
        """
        nearer = found.converged or found.gap <= max(self.fit.tol, self.accuracy) or found.gap < 0.5 * self.lack
        nearer = nearer or self.drop > found.gap * abs(self.value)
        self.short, self.lack = 0 if nearer else self.short + 1, found.gap
        return self.short >= _SHORT


def _bound_at_scores(problem: Problem, scores: Array) -> Problem:
    bound = bound_at(problem, problem.y * scores)
    if is_degenerate(bound):
        raise ValueError(
            f"start gives up every row of one class under {problem.loss!r}, so no machine can be fitted from there; "
            "give scores that are right on some rows of both classes, or start=None."
        )
    return bound


def _is_constant(solution: Solution) -> bool:
    return not np.any(solution.coef)


def _says_nothing(scores: Array) -> bool:
    """Whether scores do not depend on the row beyond rounding."""
    return bool(np.ptp(scores) <= _EQUAL * (1 + float(np.abs(scores).max())))


def _runs_away(problem: Problem, intercept: float, objective: float) -> bool:
    """Whether an intercept is on its way to infinity, where the constant classifier costs no more than here."""
    end = constant_solution(problem, [], 0)
    return abs(intercept) > _AWAY * abs(end.intercept) and end.objective <= objective + ROUNDING * abs(objective)


def _warn_of_starts(made: int, asked: int) -> None:
    warnings.warn(
        f"n_init={asked}: only {made} of the starts came to an end, as steps on so many columns cost too much for the "
        "others. Raise l1_ratio for fewer columns, or lower n_init.",
        ConvergenceWarning,
        stacklevel=2,
    )


def _degenerate(problem: Problem, history: list[float], n_iter: int) -> Solution:
    warnings.warn(
        f"{problem.loss!r} gives up every row of one class: the cheapest fit is the constant classifier of the "
        "majority. Raise the level or scale of the loss (sigma), or raise C.",
        UserWarning,
        stacklevel=2,
    )
    return constant_solution(problem, history, n_iter)
