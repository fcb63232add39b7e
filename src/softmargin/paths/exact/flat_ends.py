"""Where a weight path is flat: the class weights for which the best h is zero.

With features of finite rank there is a pi_a such that for pi <= pi_a the solution is h = 0, b = 1: multipliers u in
[0, s (1 - pi)] on the positives balance the negatives at full weight,

    sum_+ u_i = pi sum_- s_j,      sum_+ u_i phi(x_i) = pi sum_- s_j phi(x_j).

pi_a is the largest such pi, a linear program that knows neither C nor lambda; if pi balances, every smaller pi does
(scale u). The upper end pi_b is one minus the same number with the classes swapped. Between them h is not zero, so
this also tells which probabilities the model can tell apart.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

__all__ = ["flat_ends"]


def flat_ends(features: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """(pi_a, pi_b): h = 0 exactly for pi <= pi_a and for pi >= pi_b."""
    return _flat_below(features, y, weight), 1.0 - _flat_below(features, -y, weight)


def _flat_below(features: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    plus, minus = y > 0, y < 0
    rows = np.column_stack([features, np.ones(len(y))])
    scale = np.abs(rows).max(axis=0)
    rows = rows[:, scale > 0] / scale[scale > 0]
    n_plus = int(plus.sum())
    balance = np.column_stack([rows[plus].T, -(weight[minus] @ rows[minus])])
    room = np.column_stack([np.eye(n_plus), weight[plus]])
    answer = linprog(
        np.r_[np.zeros(n_plus), -1.0],
        room,
        weight[plus],
        balance,
        np.zeros(len(balance)),
        bounds=(0, None),
        method="highs",
    )
    return float(answer.x[-1]) if answer.status == 0 else 0.0
