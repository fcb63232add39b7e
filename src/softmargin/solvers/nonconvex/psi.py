"""psi-learning by differences of convex functions: the SVM's box QP with points given up and taken back.

``psi(z) = 2 min(1, (1 - z)_+) = 2 (1 - z)_+ - 2 (-z)_+``. With ``g_i = 1{y_i f_i < 0}`` at the current score, the
second part is replaced by its tangent; in the dual only the box changes: ``[0, 2 w]`` for points kept, ``[-2 w, 0]``
for points given up. The objective falls at every step and the loop ends when ``g`` repeats. A poor start ends at a
poor stationary point, so the start is the SVM's solution, or a neighbour's.

A result is a box QP's and not a :class:`Solution`: the next weight of a family starts from its multipliers and from the
points it gave up, and its kernel rows are shared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.solvers.nonconvex.majorize_minimise import majorize_minimise
from softmargin.solvers.svm.box_qp import BoxQP, BoxSolution
from softmargin.solvers.svm.one_corner import KinkedFamily

__all__ = ["PsiSolution", "lies_beyond", "solve_psi"]

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]

_MAX_STEPS = 100
_ROUNDING = 1e-10  # of the largest margin: nearer to the boundary a point is on it, and counts as kept
_STALLED = 1e-12  # a relative gain below this is rounding: the points that change sides lie on the boundary


def lies_beyond(margins: Array) -> Mask:
    """Which points are on the wrong side of the boundary, by more than the rounding of scores."""
    return margins < -_ROUNDING * (1 + float(np.abs(margins).max(initial=0.0)))


class PsiSolution(NamedTuple):
    """The last box QP, its coefficients, the objective ``1/2 |h|^2 + sum w psi(y f)`` and its history."""

    box: BoxSolution
    coef: Array
    objective: float
    history: list[float]
    given_up: Mask


class _Rounds:
    """A box QP for the points given up at the last score."""

    def __init__(self, family: KinkedFamily, y: Array, weights: Array, given_up: Mask, u: Array) -> None:
        self.family, self.y, self.weights, self.u = family, y, weights, u
        self.given_up, self.now, self.value = given_up, given_up, np.inf

    def objective(self) -> float:
        return self.value

    def next_round(self) -> bool:
        y, weights = self.y, self.weights
        self.given_up = self.now
        low, high = np.where(self.given_up, -2 * weights, 0.0), np.where(self.given_up, 0.0, 2 * weights)
        self.last = (self.value, getattr(self, "found", None))
        box = BoxQP(y, np.where(y > 0, low, -high), np.where(y > 0, high, -low))
        self.found = self.family.solve(box, self.u)
        svm = self.found[0]
        scores = svm.gradient + y + svm.intercept
        self.value = 0.5 * float(svm.u @ (svm.gradient + y)) + 2 * float(weights @ np.clip(1 - y * scores, 0, 1))
        self.now, self.u = lies_beyond(y * scores), svm.u
        stalled = self.value >= self.last[0] - _STALLED * abs(self.last[0])
        return stalled or np.array_equal(self.now, self.given_up)

    def undo(self) -> None:
        self.value, found = self.last
        if found is not None:
            self.found = found


def solve_psi(family: KinkedFamily, y: Array, weights: Array, given_up: Mask, u: Array) -> PsiSolution:
    """Descend from the points ``given_up`` and the multipliers ``u``."""
    history: list[float] = []
    rounds = _Rounds(family, y, weights, given_up, u)
    majorize_minimise(rounds, history, _MAX_STEPS)
    box, coef = rounds.found
    return PsiSolution(box, coef, rounds.value, history, rounds.given_up)
