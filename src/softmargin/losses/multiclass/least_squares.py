"""Composite least squares: ``mix (k-1-f_y)^2 + (1-mix) sum_{j != y} (1+f_j)^2``, Fisher consistent for every mix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softmargin.losses._base import Array
from softmargin.losses.multiclass.smooth import Codes

__all__ = ["CompositeLeastSquares"]


@dataclass(frozen=True)
class CompositeLeastSquares:
    """0 is the multicategory proximal machine, 1/2 ridge regression of the indicators, 1 the own class alone."""

    mix: float = 0.5

    @property
    def curvature_bound(self) -> float:
        """The largest curvature in any score."""
        return 2 * max(self.mix, 1 - self.mix)

    def value(self, F: Array, codes: Codes) -> Array:
        error, weight = self.errors(F, codes)
        return np.sum(weight * error**2, axis=1)

    def slope(self, F: Array, codes: Codes) -> Array:
        error, weight = self.errors(F, codes)
        return 2 * weight * error

    def curvature(self, F: Array, codes: Codes) -> Array:
        return 2 * self.errors(F, codes)[1]

    def curve(self, F: Array, codes: Codes) -> Callable[[Array], Array]:
        D = self.curvature(F, codes)
        return lambda V: D * V

    def errors(self, F: Array, codes: Codes) -> tuple[Array, Array]:
        """Distances from the targets ``k-1`` and ``-1``, and their weights."""
        own = codes[:, None] == np.arange(F.shape[1])
        return F - np.where(own, F.shape[1] - 1.0, -1.0), np.where(own, self.mix, 1 - self.mix)
