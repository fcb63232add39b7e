"""Newton's step of a nonconvex loss under l1 or concave costs, within the orthant of the present coefficients.

Once the bounds of majorise-minimise hardly move, the support ``A`` and its signs ``s`` are those of the minimum, and
there the objective is smooth: on ``M = Phi_A``, with slopes ``g`` and curvatures ``W`` of any sign,

    [M'WM + ridge R + P, M'W1; 1'WM, 1'W1] (d, a) = -(M'g + ridge R b_A + l_A s, 1'g),    R = I or K_AA,

with the slopes ``l`` of the costs at the coefficients and ``P``, how they bend there (not at all under l1).

Rounds of bounds converge linearly, slowly where rows are half trusted; these steps converge quadratically. One is
offered only where the model has a minimum (the matrix has a Cholesky factor and the intercept's pivot is positive) and
no coefficient changes its sign: which columns enter and leave is for the bounds to say.

Where the model has no minimum, because distrusted rows bend it the wrong way, ``upward_step`` leaves those rows out of
``W``. What is left is an elastic net, in which columns enter and leave. It converges linearly as bounds do, but nearer:
a bound bends at least as much as its row in every one of them. It may leave the basin that bounds lead to, so it is
for many rows alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.problem import Problem
from softmargin.solvers.elastic_net.certificate import violations
from softmargin.solvers.elastic_net.concave_step import bends
from softmargin.solvers.elastic_net.quadratic_model import Columns
from softmargin.solvers.elastic_net.working_set import WorkingSet
from softmargin.solvers.linalg import Bordered, add_to_diagonal, definite_cholesky
from softmargin.solvers.ridge.newton_systems import Step

__all__ = ["support_step", "upward_step"]

Array = NDArray[np.floating[Any]]

_MOST = 2000  # columns of the support beyond which a factor costs more than rounds of bounds
_LEAST = 1e-6  # curvature of a row that bends the wrong way, in units of the largest: no model is degenerate
_DAMPING = 1e-10  # of the largest curvature: equal columns in the support have none between them, and no slope either


def support_step(problem: Problem, coef: Array, margins: Array) -> Step | None:
    """The step from ``coef``, whose margins are known; ``scores`` are of the step. None where there is no such step."""
    penalty, expansion = problem.penalty, problem.expansion
    support = np.flatnonzero(coef)
    # an intercept alone would run to the constant of one class, where the bounds find columns that tell them apart
    if not 0 < len(support) <= _MOST:
        return None
    columns = Columns(expansion, support, penalty.ridge, problem.fit_intercept)
    if sparse.issparse(columns.M):
        return None
    term = problem.evaluate(margins)
    g, W, M = problem.y * term.slope, term.curvature, columns.M
    H = np.asarray(M.T @ (M * W.astype(M.dtype, copy=False)[:, None]), dtype=np.float64)
    if columns.is_kernel:
        H += penalty.ridge * M[support]
    else:
        add_to_diagonal(H, penalty.ridge)
    add_to_diagonal(H, bends(penalty, coef)[support] + _DAMPING * max(float(H.diagonal().max()), 0.0))
    factor = definite_cholesky(H)
    if factor is None:
        return None
    bordered = Bordered(factor, columns.transpose(W) if problem.fit_intercept else None, float(W.sum()))
    if problem.fit_intercept and not bordered.pivot > 0:
        return None
    scores = expansion.apply(coef) if columns.is_kernel else coef
    costs = penalty.linearize(coef).thresholds(len(coef))[support]
    gradient = columns.gradient(g, coef, scores) + costs * np.sign(coef[support])
    moved, intercept = bordered.solve(-gradient, -float(g.sum()))
    if not np.all(np.sign(coef[support] + moved) == np.sign(coef[support])):
        return None
    step = np.zeros_like(coef)
    step[support] = moved
    return Step(step, intercept, columns.apply(moved))


def upward_step(problem: Problem, coef: Array, margins: Array) -> Step | None:
    """The step to the minimum of the model without what bends the wrong way, on the support and what violates most."""
    penalty, expansion = problem.penalty, problem.expansion
    term = problem.evaluate(margins)
    largest = float(term.curvature.max(initial=0.0))
    if not largest > 0:
        return None
    cost = penalty.linearize(coef).thresholds(len(coef))
    scores = expansion.apply(coef)
    g, h = problem.y * term.slope, np.maximum(term.curvature, _LEAST * largest)
    G = expansion.transpose(g) + penalty.ridge * (scores if expansion.is_kernel else coef)
    violation = violations(G, coef, cost, penalty.positive)
    columns = WorkingSet(problem).columns(coef, violation)
    index = columns.index
    if len(index) == 0:
        return None
    model = columns.model(g, h, coef, scores)
    target = model.minimise(coef[index], cost[index], penalty.positive, violation[index])
    moved = target.coef - coef[index]
    step = np.zeros_like(coef)
    step[index] = moved
    return Step(step, target.shift, columns.apply(moved))
