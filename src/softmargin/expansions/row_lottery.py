"""Choosing rows by their content: neither the order of the rows nor repeating them changes the choice.

Each row draws a lottery number by hashing a random linear function of its features, so equal rows draw equal numbers.
The linear function is taken in units of its range, so the unit of the features does not matter either.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["row_lottery"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: neighbours draw unrelated numbers


def row_lottery(X: Any, random: Any) -> NDArray[np.uint64]:
    """A number for each row; equal rows have equal numbers, others (but for one pair in 1e10) different ones."""
    direction = random.standard_normal(X.shape[1])
    largest = float(abs(X).max()) if X.shape[0] and X.shape[1] else 0.0
    direction = (direction / largest if largest > 0 else direction).astype(np.float64)
    heights = np.asarray(X @ direction, dtype=np.float64)
    spread = float(np.ptp(heights)) or 1.0
    digits = 10 if X.dtype == np.float64 else 6
    levels = np.round((heights - heights.min()) / spread * 10**digits).astype(np.uint64)
    return levels * _GOLDEN
