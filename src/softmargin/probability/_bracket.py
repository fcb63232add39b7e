"""Class probabilities from the signs of a sequence of weighted classifiers (Wang, Shen and Liu 2008).

A classifier trained with costs ``(1 - pi, pi)`` on the two classes is positive where ``P(y = 1) > pi``. On the grid
``pi_j = j / m``, whose ends are known to be positive (``pi = 0``) and negative (``pi = 1``),

    up = max{pi_j : f_j > 0},   down = min{pi_j : f_j < 0},   p = (up + down) / 2,

so ``1/2m <= p <= 1 - 1/2m``. A score of zero counts for neither side. Sign sequences with ``up > down`` are legal; the
share of them and the width ``|up - down|`` say how far the family is from one probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bracket", "bracket", "resampled_interval", "zero_level"]

_ZERO = 1e-7  # scores have their corners at one; one this close to zero is rounding, or what a tolerance of 1e-9 leaves


@dataclass(frozen=True)
class Bracket:
    """The last positive and the first negative weight of each row, in grid steps of ``1 / m``."""

    up: NDArray[np.floating[Any]]
    down: NDArray[np.floating[Any]]
    m: float

    @property
    def probability(self) -> NDArray[np.floating[Any]]:
        """The middle of the bracket: exactly one half where it is symmetric but for rounding."""
        middle = (self.up + self.down) / (2 * self.m)
        return np.where(np.abs(middle - 0.5) <= _ZERO, 0.5, middle)

    @property
    def interval(self) -> NDArray[np.floating[Any]]:
        """Its two ends, the smaller first."""
        return np.sort(np.column_stack([self.up, self.down]), axis=1) / self.m

    @property
    def width(self) -> NDArray[np.floating[Any]]:
        return np.abs(self.up - self.down) / self.m

    @property
    def monotone(self) -> NDArray[np.bool_]:
        """Whether the sign changes once."""
        return self.up <= self.down + 1e-9 * self.m


def bracket(scores: NDArray[np.floating[Any]]) -> Bracket:
    """The brackets of rows whose scores at ``pi = 1/m .. (m-1)/m`` are the columns of ``scores``."""
    m = scores.shape[1] + 1
    slack = zero_level(scores)
    step = np.arange(1, m)
    up = np.max(np.where(scores > slack, step, 0), axis=1, initial=0)
    down = np.min(np.where(scores < -slack, step, m), axis=1, initial=m)
    return Bracket(up, down, m)


def zero_level(scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """How close to zero the scores of each row count as zero, shape (n, 1)."""
    zero = _ZERO if scores.dtype == np.float64 else float(np.finfo(np.float32).eps)
    return zero * np.maximum(1.0, np.abs(scores).max(axis=1, initial=0.0, keepdims=True))


def resampled_interval(brackets: Sequence[Bracket], level: float) -> NDArray[np.floating[Any]]:
    """Confidence intervals (n, 2) from the brackets of fits to resampled rows: quantiles of their ends.

    What the grid cannot resolve and what the sample cannot tell are both in it; the bias of a strong penalty is not.
    """
    ends = np.array([one.interval for one in brackets])
    tail = (1 - level) / 2
    return np.column_stack([np.quantile(ends[:, :, 0], tail, axis=0), np.quantile(ends[:, :, 1], 1 - tail, axis=0)])
