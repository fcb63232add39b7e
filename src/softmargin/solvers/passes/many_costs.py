"""A smooth ridge problem for many costs ``C`` in shared passes.

Each cost starts from its solution on the sample and takes Newton steps with the Hessian of the sample, which is off by
``sqrt(p / rows drawn)``, contracts as fast, and learns from step to step. What a step needs of all rows is a gradient;
those of all costs come from one pass, in which the rows are read once and the products are matrix times matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import relative_gap
from softmargin.solvers.passes.sample_newton import SecantSystem, sample_problem, sample_system
from softmargin.solvers.solve import solve

__all__ = ["solve_costs"]

Array = NDArray[np.floating[Any]]

_MOST_PASSES = 12


@dataclass(frozen=True)
class SlopesOfMany:
    """The term of a pass: slopes under every coefficient vector, with their sums and the costs."""

    loss: Loss
    intercepts: Array

    def __call__(
        self, scores: Array, y: Array, weights: Array, tilt: Array | None, offset: Array | None
    ) -> tuple[Array, tuple[Any, ...]]:
        scores += self.intercepts if offset is None else self.intercepts + offset[:, None]
        scores *= y[:, None]
        value, slope, _ = self.loss.evaluate(scores.ravel())
        slope = slope.reshape(scores.shape) * (weights * y)[:, None]
        return slope, (slope.sum(axis=0), weights @ value.reshape(scores.shape))


@dataclass
class _One:
    """The state of one cost: where it is, where it goes, and whether it is done."""

    cost: float
    coef: Array
    intercept: float
    system: SecantSystem
    objective: float = np.inf
    gap: float = np.inf
    gradient: Array | None = None  # of the point, with the intercept's
    step: tuple[Array, float] | None = None
    length: float = 1.0

    @property
    def trial(self) -> tuple[Array, float]:
        if self.step is None:
            return self.coef, self.intercept
        return self.coef + self.length * self.step[0], self.intercept + self.length * self.step[1]

    def learn(self, gradient: Array) -> None:
        """Tell the system how the gradient changed along the step just taken."""
        if self.gradient is not None and self.step is not None:
            self.system.learn(self.length * np.append(*self.step), gradient - self.gradient)
        self.gradient = gradient


def solve_costs(problem: Problem, costs: Array, tol: float) -> list[Solution]:
    """Solutions for every cost, to a relative gap of ``tol``; ``problem.weights`` are those of ``C = 1``."""
    few = sample_problem(problem)
    assert few is not None
    states, start = [], None
    for cost in costs:
        start = solve(few.scaled(cost), start, tol=min(tol, 1e-4), max_iter=200)
        coef, intercept = start.coef.astype(float), float(start.intercept)
        states.append(_One(float(cost), coef, intercept, sample_system(few.scaled(cost), coef, intercept)))
    for _ in range(_MOST_PASSES):
        active = [one for one in states if one.gap > tol]
        if not active:
            break
        _visit(problem, active)
    return [Solution(s.coef, s.intercept, None, s.objective, s.gap, _MOST_PASSES, s.gap <= tol) for s in states]


def _visit(problem: Problem, active: list[_One]) -> None:
    """One pass: costs whose trial decreases the objective go there and plan the next step, others shorten theirs."""
    trials = [one.trial for one in active]
    coef = np.column_stack([beta for beta, _ in trials])
    term = SlopesOfMany(problem.loss, np.array([b for _, b in trials]))
    gradient, total, cost = problem.expansion.sweep_many(coef, term, problem.vectors).parts  # type: ignore[attr-defined]
    ridge = problem.penalty.ridge
    for k, (one, (beta, b)) in enumerate(zip(active, trials, strict=True)):
        penalty = 0.5 * ridge * float(beta @ beta)
        objective = one.cost * float(cost[k]) + penalty
        if objective > one.objective * (1 + 1e-14):
            one.length *= 0.5
            one.gap = 0.0 if one.length < 1e-6 else one.gap  # no digits left
            continue
        residual = ridge * beta + one.cost * gradient[:, k]
        pull = one.cost * float(total[k]) if problem.fit_intercept else 0.0
        left = float(residual @ residual) / (2 * ridge) + abs(pull) * (1 + abs(b))
        one.learn(np.append(residual, pull))
        one.coef, one.intercept, one.objective, one.length = beta, b, objective, 1.0
        one.gap = relative_gap(left, objective, penalty)
        one.step = one.system.solve(-residual, -pull)
