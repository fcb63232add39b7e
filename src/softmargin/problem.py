"""One instance of the library's problem,

    minimise over (beta, b):  sum_i w_i phi(u_i) + sum_i t_i u_i + Omega(beta),   u_i = y_i (b + (Phi beta)_i + o_i)

with weights ``w_i = C s_i``, tilts ``t_i`` (the linear part of a majoriser, absolute: already multiplied by weights),
offsets ``o_i`` and an unpenalised intercept ``b``. It knows how to measure itself; solvers decide how to move.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions._base import Expansion
from softmargin.losses import Loss
from softmargin.penalties import ElasticNet

__all__ = ["DataTerm", "Problem"]

Array = NDArray[np.floating[Any]]

_CHUNK = 1 << 15  # margins evaluated at once: the temporaries of a loss stay in cache


class DataTerm(NamedTuple):
    """The data part of the objective at given margins, with its first two derivatives in each margin."""

    cost: float
    slope: Array
    curvature: Array


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
        return self.margins_of(self.expansion.apply(coef), intercept)

    def margins_of(self, scores: Array, intercept: float) -> Array:
        """``u`` where ``Phi beta`` is already known."""
        score = scores + intercept
        return self.y * (score if self.offset is None else score + self.offset)

    def cost(self, margins: Array) -> float:
        """The data part of the objective."""
        total = float(self.weights @ self.loss.value(margins))
        return total if self.tilt is None else total + float(self.tilt @ margins)

    def evaluate(self, margins: Array) -> DataTerm:
        """``sum w phi(u) + t u`` and its derivatives ``w phi'(u) + t`` and ``w phi''(u)``."""
        n = len(margins)
        cost, slope, curvature = 0.0, np.empty(n), np.empty(n)
        for first in range(0, n, _CHUNK):
            part = slice(first, min(first + _CHUNK, n))
            value, d1, d2 = self.loss.evaluate(margins[part])
            weights = self.weights[part]
            cost += float(weights @ value)
            np.multiply(weights, d1, out=slope[part])
            np.multiply(weights, d2, out=curvature[part])
        if self.tilt is not None:
            cost += float(self.tilt @ margins)
            slope += self.tilt
        return DataTerm(cost, slope, curvature)

    def objective(self, coef: Array, intercept: float) -> float:
        """The whole objective at the given point."""
        return self.cost(self.margins(coef, intercept)) + self.penalty.value(coef, self.expansion.quadratic(coef))

    def with_loss(self, loss: Loss) -> Problem:
        """The same problem under another loss."""
        return replace(self, loss=loss)

    def take(self, rows: NDArray[np.intp]) -> Problem:
        """The problem on some of the rows, weighted up to stand for all of them."""
        scale = float(self.weights.sum() / self.weights[rows].sum())
        return replace(
            self,
            expansion=self.expansion.take(rows),
            y=self.y[rows],
            weights=self.weights[rows] * scale,
            tilt=None if self.tilt is None else self.tilt[rows] * scale,
            offset=None if self.offset is None else self.offset[rows],
        )
