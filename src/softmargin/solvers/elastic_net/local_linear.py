"""Local linear approximation: a concave penalty as a sequence of elastic nets, each touching it from above.

The objective decreases with every round because each elastic net lies above the penalty and equals it at the present
point. Rounds that move neither support nor signs come nearer by the same factor each; Newton's steps
(:mod:`.concave_step`) go between them. The certificate is the violation of the concave problem's own first-order
conditions, ``G_j = -p'(|b_j|) sign(b_j)`` and ``|G_j| <= p'(0)`` where ``b_j = 0``, in units of the l1 cost: a
certified stationary point, which for a concave penalty is all one can ask. The adaptive lasso is one round from its
pilot, a convex problem whose duality gap is certified as usual.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softmargin._progress import is_heard, report
from softmargin.expansions import Expansion, KernelColumns
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.certificate import violations
from softmargin.solvers.elastic_net.concave_step import concave_step
from softmargin.solvers.elastic_net.proximal_newton import PROXIMAL_NEWTON
from softmargin.solvers.engine import Engine
from softmargin.solvers.nonconvex.majorize_minimise import ROUNDING, majorize_minimise
from softmargin.solvers.ridge.newton import NEWTON

__all__ = ["LOCAL_LINEAR", "stationarity"]

_ROUGH = 1e-2  # largest relative gap of an elastic net
_IDLE = 5  # rounds that lower neither the objective beyond rounding nor the violation to half: no digits are left
_SHORT = 5  # rounds whose net was not minimised, by more than they gained: none will certify the fit


def _accepts(problem: Problem) -> bool:
    return problem.loss.convex and problem.loss.smooth and not problem.penalty.convex


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    penalty = problem.penalty
    first = replace(problem, penalty=penalty.pilot)
    pilot = NEWTON if NEWTON.accepts(first) else PROXIMAL_NEWTON
    cold = start is None or penalty.rounds == 1
    at = pilot.run(first, None, min(tol, _ROUGH), max_iter, verbose) if cold or start is None else start
    rounds, history = _Rounds(problem, at, tol, max_iter, verbose), list[float]()
    rounds.n_iter = at.n_iter if cold else 0
    if penalty.rounds == 1:
        return rounds.solve()
    majorize_minimise(rounds, history, penalty.rounds)
    gap = rounds.violation
    return replace(
        rounds.at, gap=gap, converged=gap <= tol, certificate="KKT violation", history=history, n_iter=rounds.n_iter
    )


class _Rounds:
    """The elastic net that touches the penalty at the last solution, warm-started."""

    def __init__(self, problem: Problem, at: Solution, tol: float, max_iter: int, verbose: int) -> None:
        self.problem, self.at, self.last = problem, at, at
        self.tol, self.max_iter, self.verbose = tol, max_iter, verbose
        self.inner, self.n_iter = min(tol, _ROUGH), 0
        self.value = problem.objective(at.coef, at.intercept)
        self.violation = self.least = np.inf
        self.idle = self.short = 0
        self.settling = False  # the last round has moved sizes only, neither support nor signs

    def objective(self) -> float:
        return self.value

    def solve(self) -> Solution:
        """The elastic net of this round."""
        convex = replace(self.problem, penalty=self.problem.penalty.linearize(self.at.coef))
        start = None if _depends(self.at, self.problem.expansion) else self.at
        found = PROXIMAL_NEWTON.run(convex, start, self.inner, self.max_iter, self.verbose)
        self.n_iter += found.n_iter
        return replace(found, n_iter=self.n_iter)

    def next_round(self) -> bool:
        before, value = self.n_iter, self.value
        ahead = concave_step(self.problem, self.at, value) if self.settling else None
        self.last, self.at = self.at, self.at if ahead is None else ahead
        self.at = self.solve()
        self.value = self.at.objective = self.problem.objective(self.at.coef, self.at.intercept)
        self.violation = stationarity(self.problem, self.at)
        if is_heard(self.verbose):
            message = f"objective {self.value:.12g}, violation {self.violation:.3g}"
            report("local linear approximation", message, self.verbose)
        if self.n_iter == before:  # the duality gap can be of second order in the violations
            self.inner *= 1e-2
        self.settling = np.array_equal(np.sign(self.at.coef), np.sign(self.last.coef))
        gained = value - self.value > ROUNDING * abs(value) or self.violation < 0.5 * self.least
        self.idle = 0 if gained else self.idle + 1
        self.least = self.violation if gained else self.least
        lacks = self.at.gap > max(self.tol, self.inner) and value - self.value <= self.at.gap * abs(value)
        self.short = self.short + 1 if lacks else 0
        spent = self.n_iter - before >= self.max_iter  # a net that did not come to an end: nor will the next
        ends = self.idle >= _IDLE or self.short >= _SHORT or spent
        return self.violation <= self.tol or self.at.status != "ok" or ends

    def undo(self) -> None:
        self.at = self.last
        self.violation = stationarity(self.problem, self.at)


def _depends(ridge: Solution, expansion: Expansion) -> bool:
    """Whether all rows have coefficients where a kernel has few dimensions: no step can tell one from another."""
    return isinstance(expansion, KernelColumns) and expansion.rank + 1 < np.count_nonzero(ridge.coef) == len(ridge.coef)


def stationarity(problem: Problem, at: Solution) -> float:
    """The largest violation of the concave problem's conditions, in units of the l1 cost."""
    penalty, expansion = problem.penalty, problem.expansion
    assert at.dual is not None
    size = expansion.apply(at.coef) if expansion.is_kernel else at.coef
    G = penalty.ridge * size - expansion.transpose(at.dual)
    cost = penalty.linearize(at.coef).thresholds(len(at.coef))
    return float(np.max(violations(G, at.coef, cost, penalty.positive), initial=0.0)) / penalty.l1_ratio


LOCAL_LINEAR = Engine(
    "local_linear", "a smooth convex loss with a concave penalty (SCAD, MCP, adaptive l1)", _accepts, _run
)
