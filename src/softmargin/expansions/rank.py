"""Numerical rank: eigenvalues (or singular values) below ``size * eps`` times the largest are rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_nonzero"]

Array = NDArray[np.floating[Any]]


def is_nonzero(values: Array) -> NDArray[np.bool_]:
    """Which eigenvalues of a positive semidefinite matrix of that size are more than rounding."""
    largest = max(float(np.max(values, initial=0.0)), 0.0)
    return np.asarray(values > largest * len(values) * np.finfo(np.float64).eps)
