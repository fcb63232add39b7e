"""The elastic net ``(1 - l1_ratio)/2 |b|^2 + l1_ratio sum_j f_j |b_j|``, with optional factors ``f_j`` per coefficient.

Concave penalties (adaptive l1, SCAD, MCP) are solved as a sequence of these: no solver knows another penalty.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ElasticNet"]


@dataclass(frozen=True)
class ElasticNet:
    """Ridge at ``l1_ratio`` 0, lasso at 1; ``factors`` scale the l1 part, ``positive`` forbids negative signs."""

    l1_ratio: float = 0.0
    factors: NDArray[np.floating[Any]] | None = None
    positive: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.l1_ratio <= 1:
            raise ValueError(f"l1_ratio must be between 0 and 1; got {self.l1_ratio!r}.")

    @property
    def ridge(self) -> float:
        """The factor of ``|b|^2 / 2`` (``b'Kb / 2`` in a kernel expansion)."""
        return 1.0 - self.l1_ratio

    def thresholds(self, n_coef: int) -> NDArray[np.floating[Any]]:
        """The l1 cost of each coefficient."""
        factors = np.ones(n_coef) if self.factors is None else np.asarray(self.factors, dtype=float)
        return self.l1_ratio * factors

    def value(self, coef: NDArray[np.floating[Any]], quadratic: float) -> float:
        """The penalty of ``coef``, given ``quadratic = |coef|^2`` (or ``coef'K coef``)."""
        cost = 0.5 * self.ridge * float(quadratic)
        if self.l1_ratio > 0:
            size = np.abs(coef) if self.factors is None else np.abs(coef) * self.factors
            cost += self.l1_ratio * float(size.sum())
        return cost
