"""Smooth losses of a whole score vector: softmax, and any margin loss applied to own and other classes at once.

Each answers for scores ``F`` (n, k): ``value`` per row, ``slope`` (n, k), ``curvature`` (the diagonal of the row
Hessian, n x k) and ``curve(F, codes)``, a function that multiplies row Hessians with columns ``V`` (n, k).
``evaluate`` answers all four at once for weighted rows, sharing what they have in common.
``Composite(loss, mix)`` is ``mix g(f_y) + (1 - mix) sum_{j != y} g(-f_j)``: Fisher consistent for every mix when
``g' < 0`` and ``g'`` is strictly increasing, and its probabilities are a closed form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin.losses._base import Array, Loss

__all__ = ["Composite", "Evaluation", "MulticlassLoss", "SmoothMulticlassLoss", "Softmax"]

Codes = NDArray[np.integer[Any]]


class Evaluation(NamedTuple):
    """The sum of the weighted losses, and their slopes, curvatures and row Hessians."""

    value: float
    slope: Array
    curvature: Array
    curve: Callable[[Array], Array]


class MulticlassLoss(Protocol):
    """A loss of k scores."""

    def value(self, F: Array, codes: Codes) -> Array: ...


class SmoothMulticlassLoss(MulticlassLoss, Protocol):
    """What Newton's method asks of a loss of k scores."""

    def slope(self, F: Array, codes: Codes) -> Array: ...

    def curvature(self, F: Array, codes: Codes) -> Array: ...

    def curve(self, F: Array, codes: Codes) -> Callable[[Array], Array]: ...

    def evaluate(self, F: Array, codes: Codes, weights: Array) -> Evaluation: ...


@dataclass(frozen=True)
class Softmax:
    """``-log p_y`` with ``p = softmax(F)``: multinomial logistic regression."""

    curvature_bound: ClassVar[float] = 0.5

    def value(self, F: Array, codes: Codes) -> Array:
        return _losses_and_shares(F, codes)[0]

    def slope(self, F: Array, codes: Codes) -> Array:
        P = _losses_and_shares(F, codes)[1]
        P[np.arange(len(F)), codes] -= 1
        return P

    def curvature(self, F: Array, codes: Codes) -> Array:
        P = _losses_and_shares(F, codes)[1]
        return P * (1 - P)

    def curve(self, F: Array, codes: Codes) -> Callable[[Array], Array]:
        P = _losses_and_shares(F, codes)[1]
        return lambda V: P * (V - np.einsum("ij,ij->i", P, V)[:, None])

    def evaluate(self, F: Array, codes: Codes, weights: Array) -> Evaluation:
        losses, P = _losses_and_shares(F, codes)
        value, weighted = float(weights @ losses), P * weights[:, None]
        slope = weighted.copy()
        slope[np.arange(len(F)), codes] -= weights
        return Evaluation(
            value, slope, weighted * (1 - P), lambda V: weighted * (V - np.einsum("ij,ij->i", P, V)[:, None])
        )


def _losses_and_shares(F: Array, codes: Codes) -> tuple[Array, Array]:
    """``-log p_y`` and ``p``; the loss of a sure row, which is tiny, keeps its digits."""
    rows = np.arange(len(F))
    away = F - F[rows, codes][:, None]
    top = away.max(axis=1)
    P = np.exp(away - top[:, None])
    own = P[rows, codes]
    P[rows, codes] = 0.0
    others = P @ np.ones(F.shape[1])
    P[rows, codes] = own
    P /= (others + own)[:, None]
    return top + np.log1p(others + np.expm1(-top)), P


@dataclass(frozen=True)
class Composite:
    """``mix g(f_y) + (1 - mix) sum_{j != y} g(-f_j)`` for a decreasing, strictly convex margin loss ``g``."""

    loss: Loss
    mix: float = 0.5

    def __post_init__(self) -> None:
        u = np.linspace(-5, 5, 101)
        slope = np.asarray(self.loss.slope(u))
        if not (np.all(slope < 0) and np.all(np.diff(slope) > 0)):
            raise ValueError(
                f"loss must decrease everywhere with a strictly increasing slope (logistic, exponential, coherence); "
                f"got {self.loss!r}, which a composite of own and other classes cannot use consistently."
            )

    def _signed(self, F: Array, codes: Codes) -> tuple[Array, Array]:
        """Margins of every class (``f_y`` or ``-f_j``) and their signed weights."""
        own = codes[:, None] == np.arange(F.shape[1])
        return np.where(own, F, -F), np.where(own, self.mix, self.mix - 1)

    def value(self, F: Array, codes: Codes) -> Array:
        u, weight = self._signed(F, codes)
        return np.sum(np.abs(weight) * self.loss.value(u), axis=1)

    def slope(self, F: Array, codes: Codes) -> Array:
        u, weight = self._signed(F, codes)
        return weight * self.loss.slope(u)

    def curvature(self, F: Array, codes: Codes) -> Array:
        u, weight = self._signed(F, codes)
        return np.abs(weight) * self.loss.curvature(u)

    def curve(self, F: Array, codes: Codes) -> Callable[[Array], Array]:
        D = self.curvature(F, codes)
        return lambda V: D * V

    def evaluate(self, F: Array, codes: Codes, weights: Array) -> Evaluation:
        rows, shape = np.arange(len(F)), F.shape
        u = -F
        u[rows, codes] *= -1
        value, slope, curvature = (part.reshape(shape) for part in self.loss.evaluate(u.ravel()))
        own, other = self.mix * weights, (1 - self.mix) * weights
        total = float(other @ (value @ np.ones(shape[1])) + (own - other) @ value[rows, codes])
        slope, curvature = (_by_class(part, codes, own, rest) for part, rest in ((slope, -other), (curvature, other)))
        return Evaluation(total, slope, curvature, lambda V: curvature * V)


def _by_class(part: Array, codes: Codes, own: Array, other: Array) -> Array:
    """``part`` (n, k) times one factor of each row for its own class and one for all others."""
    result = part * other[:, None]
    rows = np.arange(len(part))
    result[rows, codes] = own * part[rows, codes]
    return np.asarray(result)
