"""Capped losses of k scores by dropping rows: ``min(L, level)`` is concave in ``L``, so

    min(L, level) <= L for rows kept (L <= level),   min(L, level) <= level for rows dropped,

with equality where the sets were chosen. Each fit on the kept rows therefore decreases the capped objective, there are
finitely many sets, and the iteration stops when the set repeats: a certificate that the point is stationary.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softmargin.losses.multiclass import Capped
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.multiclass.newton import solve_smooth

__all__ = ["drop_and_refit"]


def drop_and_refit(problem: MulticlassProblem, start: Solution | None, tol: float, max_iter: int) -> Solution:
    """Minimise ``sum_i w_i min(L_i, level) + 1/2 |theta|^2`` from the fit to all rows, or from ``start``.

    A class that would lose every row keeps them all: without members its intercept has no finite minimiser.
    """
    loss, codes, cost = problem.loss, problem.codes, problem.weights
    assert isinstance(loss, Capped)
    convex = replace(problem, loss=loss.base)
    kept, solution = np.ones(len(codes), dtype=bool), start
    protected = np.zeros(problem.n_classes, dtype=bool)
    history: list[float] = []
    steps, repeated = 0, False
    for _ in range(max_iter):
        if solution is None or history:
            solution = solve_smooth(replace(convex, weights=np.where(kept, cost, 0.0)), solution, tol, max_iter)
            steps += solution.n_iter
        losses = loss.base.value(problem.scores(solution.coef) + solution.intercept, codes)
        inside = loss.kept(losses, codes, protected)
        if solution is not start:
            penalty = solution.objective - float(cost[kept] @ losses[kept])
            capped = np.where(protected[codes], losses, np.minimum(losses, loss.level))
            history.append(penalty + float(cost @ capped))
        repeated = np.array_equal(inside, kept) and solution is not start
        if repeated:
            break
        kept = inside
    assert solution is not None
    gap = solution.gap if repeated else max(solution.gap, 1.0)
    return replace(
        solution, n_iter=steps, history=history, objective=history[-1], gap=gap, converged=repeated and gap <= tol
    )
