"""Choosing rows by their content: neither the order of the rows nor repeating them changes the choice.

Each row draws a lottery number by hashing a random linear function of its features, so equal rows draw equal numbers.
The linear function is taken in units of its range, so the unit of the features does not matter either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_lottery"]

_BLOCK = 1 << 18  # numbers at a time that are made doubles
_DIGITS = 10
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: neighbours draw unrelated numbers


def row_lottery(X: Any, random: Any) -> NDArray[np.uint64]:
    """A number for each row; equal rows have equal numbers, others (but for one pair in 1e10) different ones.

    Single precision holds its numbers exactly in double precision, where they draw what the same doubles draw.
    """
    direction = random.standard_normal(X.shape[1])
    largest = float(abs(X).max()) if X.shape[0] and X.shape[1] else 0.0
    direction = (direction / largest if largest > 0 else direction).astype(np.float64)
    heights = _heights(X, direction)
    spread = float(np.ptp(heights)) or 1.0
    levels = np.round((heights - heights.min()) / spread * 10**_DIGITS).astype(np.uint64)
    return levels * _GOLDEN


def _heights(X: Any, direction: Any) -> Any:
    """``X @ direction`` in double precision, block by block where the rows are in single precision."""
    if X.dtype == np.float64:
        return np.asarray(X @ direction)
    step = max(1, _BLOCK // max(X.shape[1], 1))
    parts = [X[first : first + step].astype(np.float64) @ direction for first in range(0, X.shape[0], step)]
    return np.concatenate(parts) if parts else np.zeros(0)
