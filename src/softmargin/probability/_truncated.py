"""Probabilities of a truncated logistic fit: three ways to complete what the cap destroys.

Below the cap's reach the population minimiser with class weights ``(1 - pi, pi)`` is ``logit p - logit pi``, beyond it
is infinite: a score ``f`` determines ``p = expit(f + logit pi)`` only while ``|f| <= c``, the loss's ``estimable``
half-width, and only the side of ``p - pi`` otherwise. Hence

1. ``p`` from the score where it determines one, from plain logistic regression elsewhere;
2. the same from several class weights, going outwards from ``pi = 1/2`` until one is within reach;
3. signs alone: ``p`` lies between the largest ``pi`` with a positive and the smallest with a negative score
   (:func:`softmargin.probability.bracket`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

__all__ = ["estimable_or_fallback", "nearest_estimable", "outward_weights"]

Array = NDArray[np.floating[Any]]

_ODDS = (4.0, 19.0, 90.0)  # the weights of the source, where the regions they determine overlap
_OVERLAP = 0.85


def estimable_or_fallback(f: ArrayLike, fallback: ArrayLike, reach: float) -> Array:
    """Scheme 1: ``expit(f)`` where ``|f| <= reach``, else the fallback probability."""
    f = np.asarray(f, dtype=float)
    return np.where(np.abs(f) <= reach, expit(f), fallback)


def outward_weights(reach: float) -> Array:
    """Class weights of scheme 2: 1/2, then pairs going out, low before high."""
    steps = np.diff(np.log([1.0, *_ODDS]))
    if steps.max() <= 2 * reach:
        odds = np.array(_ODDS)
    else:
        stride = 2 * _OVERLAP * reach
        odds = np.exp(stride * np.arange(1, math.ceil(math.log(_ODDS[-1]) / stride) + 1))
    return np.concatenate([[0.5], np.ravel(np.column_stack([1 / (1 + odds), odds / (1 + odds)]))])


def nearest_estimable(F: ArrayLike, weights: ArrayLike, fallback: ArrayLike, reach: float) -> Array:
    """Scheme 2 for scores ``F`` with a row per class weight: the first fit within reach on the row's own side.

    A fit that points back, or no fit within reach, leaves the fallback probability.
    """
    F, weights = np.asarray(F, dtype=float), np.asarray(weights, dtype=float)
    middle = F[int(np.argmin(np.abs(weights - 0.5)))]
    p = np.where(np.abs(middle) <= reach, expit(middle), np.asarray(fallback, dtype=float))
    for side in (-1.0, 1.0):
        outward = np.flatnonzero(side * (weights - 0.5) > 1e-12)
        beyond = side * middle > reach
        for k in outward[np.argsort(side * weights[outward])]:
            found = beyond & (np.abs(F[k]) <= reach)
            p[found] = expit(F[k][found] + logit(weights[k]))
            beyond &= side * F[k] > reach
    return p
