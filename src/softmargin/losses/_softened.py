"""Piecewise quadratic losses with their corners of curvature softened, for a continuation that ends at the loss itself.

A squared hinge says nothing about a row beyond its corner, so a second-order model is wrong about every row that bends
next. Averaged over shifts of the margin by a logistic variable of scale ``T``, with ``x = (t - u) / T``,

    max(0, t - u)^2 / 2   becomes   -T^2 Li2(-e^x),   slope  -T log(1 + e^x),   curvature  1 / (1 + e^-x):

every row has some curvature, as under the logistic loss, and steps are as few. The loss itself is ``T = 0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, spence

from softmargin.losses._base import Array, Loss

__all__ = ["Softened", "softenings"]

_FALL, _STAGES = 3.0, 13  # scales from one, in margins, down to 2e-6, where heavy rows have settled too

Pieces = tuple[tuple[float, float], ...]


def softenings(pieces: Pieces) -> Iterator[Softened]:
    """The loss ``sum_k c_k max(0, t_k - u)^2 / 2`` softened less and less; ``pieces`` are the pairs ``(c_k, t_k)``."""
    return (Softened(pieces, _FALL**-stage) for stage in range(_STAGES))


@dataclass(frozen=True)
class Softened(Loss):
    """``sum_k c_k max(0, t_k - u)^2 / 2``, averaged over logistic shifts of scale ``width``; no loss of the menu."""

    pieces: Pieces
    width: float

    @property
    def curvature_bound(self) -> float:
        return max(c for c, _ in self.pieces)

    def _value(self, u: Array) -> Array:
        return self._sum(u, _integral) * self.width**2

    def _slope(self, u: Array) -> Array:
        return -self._sum(u, lambda x: np.logaddexp(0, x)) * self.width

    def _curvature(self, u: Array) -> Array:
        return self._sum(u, expit)

    def _sum(self, u: Array, function: Callable[[Array], Array]) -> Array:
        return np.asarray(sum(c * function((t - u) / self.width) for c, t in self.pieces))


def _integral(x: Array) -> Array:
    """``-Li2(-e^x)``, by its inversion where ``e^x`` is large."""
    tail = -spence(1 + np.exp(-np.abs(x)))
    return np.where(x > 0, np.pi**2 / 6 + np.square(x) / 2 - tail, tail)
