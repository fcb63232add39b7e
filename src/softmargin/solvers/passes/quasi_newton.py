"""Limited-memory quasi-Newton for a ridge and more columns than a Hessian has room for, by passes over the rows.

SciPy's L-BFGS asks for cost and gradient at a point, which is one pass. The certificate is the duality gap of
:mod:`softmargin.solvers.passes.newton`, measured where it stops; while that is above the tolerance the next run starts
there with a tolerance ten times smaller.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from softmargin.problem import Problem
from softmargin.solvers.passes.newton import Visited, tell_and_keep
from softmargin.solvers.passes.sample_newton import GradientTerm

__all__ = ["minimise_by_gradients"]

Array = NDArray[np.floating[Any]]

_MEMORY = 20  # pairs of steps and gradient changes
_MOST_RUNS = 8


def minimise_by_gradients(
    problem: Problem, coef: Array, intercept: float, tol: float, max_iter: int, verbose: int = 0
) -> Visited:
    """From a point to one with a relative gap of ``tol``, as far as rounding allows."""

    def term(b: float) -> GradientTerm:
        return GradientTerm(problem.loss, b, second=True)

    here = Visited.at(problem, term, coef, intercept)

    def visit(x: Array) -> tuple[float, Array]:
        nonlocal here
        here = Visited.at(problem, term, x[:-1].copy(), float(x[-1]))
        tell_and_keep(here, verbose)
        return here.objective, np.append(here.residual, here.total)

    step = tol
    for _ in range(_MOST_RUNS):
        if here.gap <= tol:
            break
        options = {"maxcor": _MEMORY, "maxiter": max_iter, "ftol": 1e-3 * step, "gtol": 0.0}
        start = np.append(here.coef, here.intercept)
        found = optimize.minimize(visit, start, jac=True, method="L-BFGS-B", options=options)
        visit(found.x)
        step *= 0.1
    return here
