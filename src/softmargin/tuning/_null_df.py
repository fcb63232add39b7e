"""Degrees of freedom from labels that mean nothing (Park and Hastie 2007; section 2.6 of Park's thesis).

On labels permuted at random a fit can only overfit, so what it gains on the best constant measures how much it can:

    df(C) = 1 + mean over draws of [deviance of the constant - deviance of the fit at C],

the 1 for the constant itself. It needs no curvature and no trace, so it serves every loss; it costs ``n_draws`` paths.
A fit that is worse than the constant (a strong penalty on a nonconvex loss) has spent nothing: its gain counts as zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.tuning._left_out_scores import Solve, solution_path

__all__ = ["null_criterion", "null_df"]

Array = NDArray[np.floating[Any]]

_CONSTANTS = np.linspace(-12, 12, 4801)  # scores among which the best constant is found: its deviance is flat there


def null_df(
    problem: Problem, costs: Iterable[float], solve: Solve, *, n_draws: int = 25, random_state: Any = None
) -> Array:
    """The degrees of freedom of the fits of a path; ``problem.weights`` are those of ``C = 1``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin import losses, penalties
    >>> from softmargin.expansions import expand
    >>> from softmargin.problem import Problem
    >>> from softmargin.solvers import solve
    >>> X, y = np.random.default_rng(0).normal(size=(100, 2)), np.tile([-1.0, 1.0], 50)
    >>> problem = Problem(losses.Logistic(), expand(X), y, np.ones(100), penalties.ElasticNet(0.0))
    >>> df = null_df(problem, [0.01, 100.0], solve, random_state=0)
    >>> bool(1 <= df[0] < 2 < df[1] < 5)
    True
    """
    rng, costs = np.random.default_rng(random_state), list(costs)
    gains = np.zeros((n_draws, len(costs)))
    for draw in range(n_draws):
        order = rng.permutation(len(problem.y))
        shuffled = replace(problem, y=problem.y[order])
        best = min(_deviance(shuffled, np.full(len(order), score)) for score in _best_constants(shuffled))
        for k, (_, _, solution) in enumerate(solution_path(shuffled, costs, solve)):
            scores = shuffled.expansion.apply(solution.coef) + solution.intercept
            gains[draw, k] = best - _deviance(shuffled, scores)
    return 1 + np.maximum(gains, 0.0).mean(axis=0)


def null_criterion(name: str, problem: Problem, costs: Array, solve: Solve, df: Array) -> Array:
    """``deviance + price * df`` along a path, with the price of "aic" (2) or "bic" (``log n``)."""
    price = 2.0 if name == "aic" else float(np.log(problem.weights.sum()))
    deviances = [
        _deviance(problem, problem.expansion.apply(solution.coef) + solution.intercept)
        for _, _, solution in solution_path(problem, costs, solve)
    ]
    return np.array(deviances) + price * df


def _deviance(problem: Problem, scores: Array) -> float:
    """Twice the sum of losses: minus twice a log likelihood, up to the unit of the loss."""
    return 2 * float(problem.weights @ problem.loss.value(problem.y * scores))


def _best_constants(problem: Problem) -> Array:
    """The best constant score, among a fine grid; losses are functions of the margin, so two sums tell."""
    upper = float(problem.weights @ (problem.y > 0))
    lower = float(problem.weights.sum()) - upper
    part = problem.loss.parts[0]
    cost = upper * np.asarray(part.value(_CONSTANTS)) + lower * np.asarray(part.value(-_CONSTANTS))
    return _CONSTANTS[[int(np.argmin(cost))]]
