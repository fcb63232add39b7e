"""Local linear approximation: a concave penalty as a sequence of elastic nets, each touching it from above.

The objective decreases with every round because each elastic net lies above the penalty and equals it at the present
point. The certificate is the violation of the concave problem's own first-order conditions,
``G_j = -p'(|b_j|) sign(b_j)`` and ``|G_j| <= p'(0)`` where ``b_j = 0``, in units of the l1 cost: a certified stationary
point, which for a concave penalty is all one can ask. The adaptive lasso is one round from its pilot, a convex problem
whose duality gap is certified as usual.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.certificate import violations
from softmargin.solvers.elastic_net.proximal_newton import PROXIMAL_NEWTON
from softmargin.solvers.engine import Engine
from softmargin.solvers.ridge.newton import NEWTON

__all__ = ["LOCAL_LINEAR"]


def _accepts(problem: Problem) -> bool:
    return problem.loss.convex and problem.loss.smooth and not problem.penalty.convex


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    penalty = problem.penalty
    first = replace(problem, penalty=penalty.pilot)
    pilot = NEWTON if NEWTON.accepts(first) else PROXIMAL_NEWTON
    if start is None or penalty.rounds == 1:
        at = pilot.run(first, None, tol, max_iter, verbose)
    else:
        at = start
    inner = tol
    history, n_iter = [], at.n_iter if start is None else 0
    for _ in range(penalty.rounds):
        convex = replace(problem, penalty=penalty.linearize(at.coef))
        at = PROXIMAL_NEWTON.run(convex, at, inner, max_iter, verbose)
        n_iter += at.n_iter
        if penalty.rounds == 1:
            at.n_iter, at.converged = n_iter, at.gap <= tol
            return at
        at.objective = problem.objective(at.coef, at.intercept)
        history.append(at.objective)
        gap = _stationarity(problem, at)
        if verbose:
            print(f"local linear round {len(history)}: objective {at.objective:.12g}, violation {gap:.3g}")
        if gap <= tol or at.status != "ok":
            break
        if at.n_iter == 0:  # the duality gap can be of second order in the violations
            inner *= 1e-2
    return replace(at, gap=gap, converged=gap <= tol, certificate="KKT violation", history=history, n_iter=n_iter)


def _stationarity(problem: Problem, at: Solution) -> float:
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
