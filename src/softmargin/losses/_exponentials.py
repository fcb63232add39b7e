"""The arithmetic that the logistic loss shares with its relatives, compiled for long vectors of doubles.

The logistic loss ``l(t) = log(1 + exp(-t))``, its slope ``-sigma(-t)`` and its curvature ``sigma(t) sigma(-t)`` are
all simple functions of the one number ``e = exp(-|t|)``, which never overflows:

    l = max(-t, 0) + log1p(e),    sigma(|t|) = 1 / (1 + e),    sigma(-|t|) = e / (1 + e),    l'' = e / (1 + e)^2.

``logistic_parts`` computes the three at the price of one exponential, and every relative of the logistic loss
(coherence, truncations, redescending likelihoods) is built on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from softmargin._compiled import exponentials as kernel  # type: ignore[attr-defined]
from softmargin.losses._base import Array

__all__ = ["decay", "logistic_parts", "logistic_slope", "softplus"]


def _compiled(t: Any) -> bool:
    return isinstance(t, np.ndarray) and t.dtype == np.float64 and t.flags.c_contiguous


def decay(x: Array) -> Array:
    """``exp(x)`` for ``x <= 0``; what would be subnormal is 0."""
    return kernel.decay(x.ravel()).reshape(x.shape) if _compiled(x) else np.exp(x)


def softplus(t: Array) -> Array:
    """``log(1 + exp(t))`` without overflow, at full relative accuracy on both sides."""
    if _compiled(t):
        return kernel.logistic_value(-t.ravel()).reshape(t.shape)
    return np.maximum(t, 0) + np.log1p(np.exp(-np.abs(t)))


def logistic_slope(t: Array) -> Array:
    """The slope ``-1 / (1 + exp(t))`` of ``log(1 + exp(-t))``."""
    return kernel.logistic_slope(t.ravel()).reshape(t.shape) if _compiled(t) else -expit(-t)


def logistic_parts(t: Array) -> tuple[Array, Array, Array]:
    """``log(1 + exp(-t))``, its slope and its curvature, from one exponential."""
    if _compiled(t):
        value, slope, curvature = kernel.logistic_parts(t.ravel())
        return value.reshape(t.shape), slope.reshape(t.shape), curvature.reshape(t.shape)
    e = np.exp(-np.abs(t))
    large = 1 / (1 + e)
    small = e * large
    return np.log1p(e) - np.minimum(t, 0), -np.where(t > 0, small, large), small * large
