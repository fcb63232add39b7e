"""Platt's sigmoid: ``P(y = 1 | f) = expit(slope f + offset)``, fitted by maximum likelihood.

The negative log likelihood ``sum_i w_i [log(1 + e^{s_i}) - t_i s_i]``, ``s = slope f + offset``, is convex; it is
minimised by Newton's method with backtracking as in Lin, Lin and Weng (2007). With smoothed targets ``t+ = (N+ +
1)/(N+ + 2)`` and ``t- = 1/(N- + 2)`` the optimum is finite even when the scores separate the classes. Scores are
divided by their standard deviation first, so their unit does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from softmargin._constraints import BOOLEAN, COUNT, finite_numbers
from softmargin.probability._weights import row_weights
from softmargin.solvers import backtrack

__all__ = ["Sigmoid", "fit_sigmoid", "targets"]

Array = NDArray[np.floating[Any]]

_ROUNDING = 1e-14


@dataclass(frozen=True)
class Sigmoid:
    """Log odds ``slope f + offset``; Platt's (A, B) are ``(-slope, -offset)``."""

    slope: float
    offset: float

    def log_odds(self, f: Array) -> Array:
        """The log odds of the positive class at score ``f``."""
        return self.slope * np.asarray(f, dtype=float) + self.offset


def judged_scores(f: Any, y: Any, weight: Any) -> tuple[Array, Array, Array]:
    """Scores of some rows, their labels in {-1, +1} and their weights, one where none are given."""
    f = finite_numbers("f", f, None)
    return f, finite_numbers("y", y, len(f)), row_weights(weight, len(f), "weight")


def targets(y: Array, weight: Array, *, smooth: bool) -> Array:
    """What the probability of the positive class should be: 1 and 0, or Platt's smoothed values."""
    positive = y > 0
    if not smooth:
        return positive.astype(float)
    n_positive, n_negative = float(weight[positive].sum()), float(weight[~positive].sum())
    return np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))


def fit_sigmoid(
    f: Array, y: Array, weight: Array | None = None, *, smooth: bool = True, max_iter: int = 100
) -> Sigmoid:
    """The maximum-likelihood sigmoid of scores ``f`` for labels ``y`` in {-1, +1}.

    Without smoothing the maximum may lie at infinity (separable scores); the iteration then stops where the likelihood
    no longer improves in double precision.
    """
    BOOLEAN.check("smooth", smooth)
    COUNT.check("max_iter", max_iter)
    f, y, weight = judged_scores(f, y, weight)
    target = targets(y, weight, smooth=smooth)
    n_positive, n_negative = float(weight[y > 0].sum()), float(weight[y <= 0].sum())
    unit = float(f.std()) or 1.0
    g = f / unit
    point = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])

    def cost(point: Array) -> float:
        s = point[0] * g + point[1]
        return float(weight @ (np.maximum(s, 0) - target * s + np.log1p(np.exp(-np.abs(s)))))

    def along(point: Array, step: Array, length: float) -> tuple[float, None]:
        return cost(point + length * step), None

    value = cost(point)
    for _ in range(max_iter):
        p = expit(point[0] * g + point[1])
        residual = weight * (p - target)
        gradient = np.array([residual @ g, residual.sum()])
        if np.abs(gradient).max() <= 1e-12 * weight.sum():
            break
        curvature = weight * p * (1 - p)
        cross = curvature @ g
        hessian = np.array([[curvature @ (g * g), cross], [cross, curvature.sum()]])
        hessian[np.diag_indices(2)] += 1e-12 * max(1.0, weight.sum() * 1e-3)
        step = -np.linalg.solve(hessian, gradient)
        descent = float(gradient @ step)
        if -descent <= _ROUNDING * max(1.0, abs(value)):  # what is left to gain is below what a sum can show
            point = point + step
            break
        found = backtrack(partial(along, point, step), value, descent)
        if found is None:
            break
        point, value = point + found.length * step, found.value
    return Sigmoid(float(point[0] / unit), float(point[1]))
