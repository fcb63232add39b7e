"""psi-learning by differences of convex functions: the SVM's box QP with points given up and taken back.

``psi(z) = 2 min(1, (1 - z)_+) = 2 (1 - z)_+ - 2 (-z)_+``. With ``g_i = 1{y_i f_i < 0}`` at the current score, the
second part is replaced by its tangent; in the dual only the box changes: ``[0, 2 w]`` for points kept, ``[-2 w, 0]``
for points given up. The objective falls at every step and the loop ends when ``g`` repeats. A poor start ends at a
poor stationary point, so the start is the SVM's solution, or a neighbour's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.solvers.svm.box_qp import BoxSolution
from softmargin.solvers.svm.one_corner import KinkedFamily

__all__ = ["PsiSolution", "solve_psi"]

Array = NDArray[np.floating[Any]]

_MAX_STEPS = 100


class PsiSolution(NamedTuple):
    """The last box QP, its coefficients, the objective ``1/2 |h|^2 + sum w psi(y f)`` and its history."""

    box: BoxSolution
    coef: Array
    objective: float
    history: list[float]
    given_up: NDArray[np.bool_]


def solve_psi(family: KinkedFamily, y: Array, weights: Array, given_up: NDArray[np.bool_], u: Array) -> PsiSolution:
    """Descend from the points ``given_up`` and the multipliers ``u``."""
    history: list[float] = []
    for _ in range(_MAX_STEPS):
        low, high = np.where(given_up, -2 * weights, 0.0), np.where(given_up, 0.0, 2 * weights)
        box, coef = family.solve(y, np.where(y > 0, low, -high), np.where(y > 0, high, -low), u)
        scores = box.gradient + y + box.intercept
        norm = float(box.u @ (box.gradient + y))
        objective = 0.5 * norm + 2 * float(weights @ np.clip(1 - y * scores, 0, 1))
        history.append(objective)
        now, u = y * scores < 0, box.u
        stalled = len(history) > 1 and history[-1] >= history[-2] - 1e-12 * abs(history[-2])
        if np.array_equal(now, given_up) or stalled:
            break
        given_up = now
    return PsiSolution(box, coef, objective, history, given_up)
