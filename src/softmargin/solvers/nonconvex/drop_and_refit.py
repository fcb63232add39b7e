"""Capped losses of k scores by dropping rows: ``min(L, level)`` is concave in ``L``, so

    min(L, level) <= L for rows kept (L <= level),   min(L, level) <= level for rows dropped,

with equality where the sets were chosen. Each fit on the kept rows therefore decreases the capped objective, there are
finitely many sets, and the iteration stops when the set repeats: a certificate that the point is stationary.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.losses.multiclass.smooth import SimultaneousLoss
from softmargin.solvers.multiclass.newton import solve_smooth
from softmargin.solvers.multiclass.simultaneous_solution import SimultaneousSolution

__all__ = ["DropAndRefit", "drop_and_refit"]

Array = NDArray[np.floating[Any]]


class DropAndRefit(NamedTuple):
    """The last fit and the rows it was made with."""

    solution: SimultaneousSolution
    kept: NDArray[np.bool_]


def drop_and_refit(
    Z: Any,
    codes: NDArray[np.intp],
    cost: Array,
    n_classes: int,
    loss: SimultaneousLoss,
    level: float,
    *,
    intercept: str,
    tol: float,
    max_iter: int,
) -> DropAndRefit:
    """Minimise ``sum_i cost_i min(L_i, level) + 1/2 |theta|^2`` from the fit to all rows.

    A class that would lose every row keeps them all: without members its intercept has no finite minimiser.
    """
    kept = np.ones(len(codes), dtype=bool)
    protected = np.zeros(n_classes, dtype=bool)
    solution: SimultaneousSolution | None = None
    history: list[float] = []
    steps = 0
    for _ in range(max_iter):
        solution = solve_smooth(
            Z[kept],
            codes[kept],
            cost[kept],
            n_classes,
            loss,
            intercept=intercept,
            tol=tol,
            max_iter=max_iter,
            start=solution,
        )
        steps += solution.n_iter
        losses = loss.value(np.asarray(Z @ solution.coef) + solution.intercept, codes)
        fit = float(cost[kept] @ losses[kept])
        penalty = solution.objective - fit
        inside = losses <= level
        protected |= np.bincount(codes, inside, minlength=n_classes) == 0
        inside |= protected[codes]
        capped = np.where(protected[codes], losses, np.minimum(losses, level))
        history.append(penalty + float(cost @ capped))
        if np.array_equal(inside, kept):
            break
        kept = inside
    assert solution is not None
    solution.n_iter, solution.history, solution.objective = steps, history, history[-1]
    return DropAndRefit(solution, kept)
