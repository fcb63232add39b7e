"""Class probabilities of composite multicategory losses, for every mix.

A composite loss charges ``mix * G1(f_y) + (1 - mix) * sum_{j != y} G2(-f_j)`` under ``sum_j f_j = 0``. Setting the
derivative of its conditional risk to a common multiplier ``mu`` gives, for each class,

    P_j = (A_j - mu) / D_j,    A_j = -(1 - mix) G2'(-f_j),    D_j = A_j - mix G1'(f_j),    sum_j P_j = 1,

which is linear in ``mu``: the probabilities are a closed form whatever the mix. For composite least squares
(``G1(f) = (k-1-f)^2``, ``G2(-f) = (1+f)^2``) this is ``A = (1-mix)(1+f)`` and ``D = e + (1-2 mix) f`` with
``e = (1-mix) + mix (k-1)``; nothing is divided by ``1 - 2 mix``, so ``mix = 1/2`` is no special case.

In a sample the formula may leave [0, 1]. ``waterfill`` solves ``min_P sum_j D_j P_j^2 / 2 - A_j P_j`` over the simplex
instead, ``P_j = max(0, (A_j - mu)/D_j)``: it equals the closed form wherever that is proper, is continuous, and keeps
the order of the scores. ``minshift`` (subtract the row's minimum, divide by the sum) and ``simplex`` (Euclidean
projection) rescale the raw values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.waterfill import fill
from softmargin.losses import Loss

__all__ = [
    "RESCALINGS",
    "least_squares_probability",
    "least_squares_raw",
    "least_squares_score",
    "margin_probability",
    "minshift",
    "project_simplex",
    "waterfill",
]

Array = NDArray[np.floating[Any]]

RESCALINGS = ("waterfill", "minshift", "simplex")
_SMALLEST_DENOMINATOR = 1e-8
_STEEPEST = 600.0  # a score whose exponential is a number


def least_squares_probability(f: Array, mix: float, rescale: str = "waterfill") -> Array:
    """Probabilities from the scores ``f`` (n, k) of composite least squares, on the scale of targets k-1 and -1."""
    f = _clip_scores(np.asarray(f, dtype=np.float64), mix)
    if rescale == "waterfill":
        return fill(f, f, 1 - mix, 1 - mix, _scale(f.shape[1], mix), 1 - 2 * mix)
    raw = least_squares_raw(f, mix)
    return minshift(raw) if rescale == "minshift" else project_simplex(raw)


def least_squares_raw(f: Array, mix: float) -> Array:
    """The closed form itself: rows sum to one but may leave [0, 1]."""
    f = np.asarray(f, dtype=np.float64)
    k = f.shape[1]
    D = _scale(k, mix) + (1 - 2 * mix) * f
    share = 1 / D
    share /= share.sum(axis=1, keepdims=True)
    other = (k - 1) * (1 - mix) + mix
    return (1 + other * (f - (share * f).sum(axis=1, keepdims=True)) / D) / k


def least_squares_score(P: Array, mix: float) -> Array:
    """The population minimiser of composite least squares at class probabilities ``P`` (n, k)."""
    P = np.asarray(P, dtype=np.float64)
    k = P.shape[1]
    scale = _scale(k, mix)
    q = (1 - mix) * (1 - P) + mix * P
    free = q <= 0  # such a class attracts the whole multiplier: mix is 0 or 1 and P is degenerate
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(free.any(axis=1, keepdims=True), free, 1 / q)
        share = share / share.sum(axis=1, keepdims=True)
        if abs(1 - 2 * mix) > 0.1:
            return scale * (k * share - 1) / (1 - 2 * mix)
        return scale * (P - (share * P).sum(axis=1, keepdims=True)) / q


def margin_probability(f: Array, loss: Loss, mix: float) -> Array:
    """Probabilities from the scores ``f`` (n, k) of ``mix loss(f_y) + (1 - mix) sum_{j != y} loss(-f_j)``."""
    f = np.asarray(f, dtype=np.float64)
    with np.errstate(over="ignore"):
        steep = ~np.isfinite(loss.slope(-np.abs(f))).all(axis=1)
    if steep.any():  # scores whose slopes overflow leave no doubt: any that keep their order say the same
        f = f.copy()
        f[steep] *= _STEEPEST / np.abs(f[steep]).max(axis=1, keepdims=True)
    A = -(1 - mix) * loss.slope(-f)
    D = A - mix * loss.slope(f)
    scale = D.max(axis=1, keepdims=True)  # exponential tails: only ratios within a row matter
    A, D = A / scale, D / scale
    return waterfill(A, np.maximum(D, np.finfo(float).tiny))


def waterfill(A: Array, D: Array) -> Array:
    """``max(0, (A - mu)/D)`` with ``mu`` such that each row sums to one; ``D`` must be positive."""
    return fill(A, D)


def minshift(raw: Array) -> Array:
    """Subtract each row's minimum and divide by the sum; equal entries become 1/k."""
    shifted = raw - raw.min(axis=1, keepdims=True)
    total = shifted.sum(axis=1, keepdims=True)
    return np.where(total > 0, shifted / np.where(total > 0, total, 1), 1 / raw.shape[1])


def project_simplex(raw: Array) -> Array:
    """The nearest point of the probability simplex, row by row."""
    return waterfill(raw, np.ones_like(raw))


def _scale(k: int, mix: float) -> float:
    """``e`` of the formula above: the denominator at ``f = 0``."""
    return (1 - mix) + mix * (k - 1)


def _clip_scores(f: Array, mix: float) -> Array:
    """Scores beyond the range of the population minimiser are moved to its end, where D is barely positive."""
    tilt = 1 - 2 * mix
    if tilt == 0:
        return f
    end = _scale(f.shape[1], mix) * (_SMALLEST_DENOMINATOR - 1) / tilt
    return np.maximum(f, end) if tilt > 0 else np.minimum(f, end)
