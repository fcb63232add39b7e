"""One instance of the library's problem,

    minimise over (beta, b):  sum_i w_i phi(u_i) + sum_i t_i u_i + Omega(beta),   u_i = y_i (b + (Phi beta)_i + o_i)

with weights ``w_i = C s_i``, tilts ``t_i`` (the linear part of a majoriser, absolute: already multiplied by weights),
offsets ``o_i`` and an unpenalised intercept ``b``. It knows how to measure itself; solvers decide how to move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions._base import Expansion
from softmargin.losses import Loss
from softmargin.penalties import ElasticNet

__all__ = ["Problem"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Problem:
    """A loss, labels in {-1, +1}, weights, an expansion and a penalty."""

    loss: Loss
    expansion: Expansion
    y: Array
    weights: Array
    penalty: ElasticNet
    tilt: Array | None = None
    offset: Array | None = None
    fit_intercept: bool = True

    def margins(self, coef: Array, intercept: float) -> Array:
        """``u`` at the given point."""
        score = self.expansion.apply(coef) + intercept
        return self.y * (score if self.offset is None else score + self.offset)

    def cost(self, margins: Array) -> float:
        """The data part of the objective."""
        total = float(self.weights @ self.loss.value(margins))
        return total if self.tilt is None else total + float(self.tilt @ margins)

    def objective(self, coef: Array, intercept: float) -> float:
        """The whole objective at the given point."""
        return self.cost(self.margins(coef, intercept)) + self.penalty.value(coef, self.expansion.quadratic(coef))
