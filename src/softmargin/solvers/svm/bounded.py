"""The bounded constraint machine: ``-1 <= y f <= 1`` on every row, and the sum of margins as large as the norm allows.

    minimise  1/2 |h|^2 + sum_i w_i (1 - y_i f(x_i))   subject to  -1 <= y_i f(x_i) <= 1

Its dual ``1/2 a'Qa + sum |a_i - w_i|, y'a = 0`` splits into ``a = p + r`` with ``p <= w`` (the multipliers of the
balancing SVM at infinite balance) and ``r >= 0`` (those of ``y f >= -1``): the same box QP with a second copy of each
row, target ``-y`` and box ``[0, inf)``. Few rows ever need their copy, so only rows found below -1 get one. The
certificate is the largest KKT violation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.losses import BalancedHinge
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.svm.box_qp import BoxQP
from softmargin.solvers.svm.one_corner import KinkedFamily, kinked_solution, signed_box

__all__ = ["BOUNDED"]

Array = NDArray[np.floating[Any]]


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    box, y = signed_box(problem), problem.y
    n, copies = len(y), np.empty(0, dtype=np.intp)
    largest = float(problem.weights.max())
    multipliers, n_iter = None, 0
    while True:
        rows = np.concatenate([np.arange(n), copies])
        expansion = problem.expansion.take(rows) if len(copies) else problem.expansion
        family = KinkedFamily(expansion, intercept=problem.fit_intercept, largest=largest, tol=tol, max_iter=max_iter)
        found, weights = family.solve(_with_copies(box.qp, y, copies), multipliers)
        n_iter += found.n_iter
        if is_heard(verbose):
            held = f"{len(copies)} rows held above -1"
            report("bounded machine", f"violation {found.violation:.2e}, {held}, {n_iter} steps", verbose)
        margins = y * (found.gradient[:n] + box.qp.q + found.intercept)
        below = np.setdiff1d(np.flatnonzero(margins < -1 - tol), copies)
        if len(below) == 0:
            break
        copies = np.concatenate([copies, below])
        multipliers = np.concatenate([found.u, np.zeros(len(below))])
    u = found.u[:n].copy()
    u[copies] += found.u[n:]
    coef = u if problem.expansion.is_kernel else weights  # not X'u: their sum may be rounding of large multipliers
    solution = kinked_solution(box, found, coef, n_iter, tol)
    solution.dual = u
    cost = problem.constant + float(problem.weights @ (1 - margins))
    solution.objective = 0.5 * problem.expansion.quadratic(coef) + cost
    solution.history = [solution.objective]
    return solution


def _with_copies(box: BoxQP, y: Array, copies: NDArray[np.intp]) -> BoxQP:
    """The box QP with a second copy of some rows, for ``y f >= -1``."""
    positive = y[copies] > 0
    return BoxQP(
        np.concatenate([box.q, -y[copies]]),
        np.concatenate([box.lo, np.where(positive, 0.0, -np.inf)]),
        np.concatenate([box.hi, np.where(positive, np.inf, 0.0)]),
        box.intercept,
    )


def _accepts(problem: Problem) -> bool:
    plain = problem.tilt is None and problem.offset is None and problem.penalty.l1_ratio == 0
    return problem.loss == BalancedHinge(np.inf) and plain and not problem.penalty.positive


BOUNDED = Engine("bounded", "BalancedHinge(inf) with l1_ratio=0 and free signs", _accepts, _run)
