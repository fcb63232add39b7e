"""One instance of the library's problem,

    minimise over (beta, b):  c + sum_i w_i phi(u_i) + sum_i t_i u_i + Omega(beta),  u_i = y_i (b + (Phi beta)_i + o_i)

with weights ``w_i = C s_i``, tilts ``t_i`` and a constant ``c`` (those of a majoriser, absolute: already multiplied by
weights), offsets ``o_i`` and an unpenalised intercept ``b``. The constant moves nothing, but relative gaps are measured
in units of the whole objective: a bound of a nonconvex problem is solved as accurately as that problem needs. It knows
how to measure itself; solvers decide how to move.

Labels, weights, tilts and offsets are vectors over the rows of the expansion (``vectors``). Solvers that keep margins
use them as arrays; those that ask for passes only send a ``RowTerm`` to wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion, Response, SignedWeights
from softmargin.losses import Loss, ensure_sound
from softmargin.losses.multiclass import MulticlassLoss
from softmargin.penalties import ClassPenalty, Penalty

__all__ = ["DataTerm", "MulticlassProblem", "Problem", "RowTerm"]

Array = NDArray[np.floating[Any]]

_CHUNK = 1 << 15  # margins evaluated at once: the temporaries of a loss stay in cache


class DataTerm:
    """The data part of the objective at given margins, with its first two derivatives in each margin.

    Each is computed when first asked for, because a step with a known Hessian needs slopes alone; asking for the
    curvature brings all three, which a loss can compute together for less. The margins must not change meanwhile.
    """

    def __init__(self, problem: Problem, margins: Array) -> None:
        self._problem, self._margins = problem, margins

    @cached_property
    def cost(self) -> float:
        """``c + sum w phi(u) + t u``."""
        return self._problem.cost(self._margins)

    @cached_property
    def slope(self) -> Array:
        """``w phi'(u) + t``."""
        slope = np.empty(len(self._margins))
        for part in self._chunks():
            np.multiply(
                self._problem.weights[part],
                self._problem.loss.of_rows(part).slope(self._margins[part]),
                out=slope[part],
            )
        return self._tilted(slope)

    @cached_property
    def curvature(self) -> Array:
        """``w phi''(u)``."""
        cost, slope, curvature = self._problem.constant, np.empty(len(self._margins)), np.empty(len(self._margins))
        for part in self._chunks():
            value, d1, d2 = self._problem.loss.of_rows(part).evaluate(self._margins[part])
            weights = self._problem.weights[part]
            cost += float(weights @ value)
            np.multiply(weights, d1, out=slope[part])
            np.multiply(weights, d2, out=curvature[part])
        tilt = self._problem.tilt
        self.__dict__.setdefault("cost", cost if tilt is None else cost + float(tilt @ self._margins))
        self.__dict__.setdefault("slope", self._tilted(slope))
        return curvature

    def _chunks(self) -> Iterator[slice]:
        n = len(self._margins)
        return (slice(first, min(first + _CHUNK, n)) for first in range(0, n, _CHUNK))

    def _tilted(self, slope: Array) -> Array:
        return slope if self._problem.tilt is None else slope + self._problem.tilt


@dataclass(frozen=True)
class RowTerm:
    """The data part of some rows as a function of their scores: what one pass over an expansion evaluates.

    ``second`` asks for the cost and the curvatures beside the slopes. The term knows no row, so it can be sent to them.
    """

    loss: Loss
    intercept: float
    second: bool = False

    def __call__(self, scores: Array, y: Array, weights: Array, tilt: Array | None, offset: Array | None) -> Response:
        margins = self.margins(scores, y, offset)
        if not self.second:
            return Response(y * self.slopes(margins, weights, tilt))
        value, slope, curvature = self.loss.evaluate(margins)
        cost, slope = float(weights @ value), weights * slope
        if tilt is not None:
            cost, slope = cost + float(tilt @ margins), slope + tilt
        return Response(y * slope, cost, weights * curvature)

    def margins(self, scores: Array, y: Array, offset: Array | None) -> Array:
        """``u`` of the rows."""
        margins = scores + self.intercept
        if offset is not None:
            margins += offset
        margins *= y
        return margins

    def slopes(self, margins: Array, weights: Array, tilt: Array | None) -> Array:
        """``w phi'(u) + t`` of the rows."""
        slope = weights * self.loss.slope(margins)
        return slope if tilt is None else slope + tilt


def _total_weight(scores: Array, y: Array, weights: Array, *_: Any) -> Response:
    return Response(np.zeros(len(scores)), float(weights.sum()))


@dataclass(frozen=True)
class Problem:
    """A loss, labels in {-1, +1}, weights, an expansion and a penalty."""

    loss: Loss
    expansion: Expansion
    y: Array
    weights: Array
    penalty: Penalty
    tilt: Array | None = None
    offset: Array | None = None
    fit_intercept: bool = True
    constant: float = 0.0

    def __post_init__(self) -> None:
        for part in self.loss.parts:
            ensure_sound(part)
        self.penalty.require_columns(self.expansion.shape[1])

    def margins(self, coef: Array, intercept: float) -> Array:
        """``u`` at the given point."""
        return self.margins_of(self.expansion.apply(coef), intercept)

    def margins_of(self, scores: Array, intercept: float) -> Array:
        """``u`` where ``Phi beta`` is already known."""
        score = scores + intercept
        return self.y * (score if self.offset is None else score + self.offset)

    @property
    def vectors(self) -> tuple[Any, ...]:
        """What a ``RowTerm`` wants to know of each row."""
        return self.y, self.weights, self.tilt, self.offset

    def cost(self, margins: Array) -> float:
        """The data part of the objective."""
        total = self.constant + float(self.weights @ self.loss.value(margins))
        return total if self.tilt is None else total + float(self.tilt @ margins)

    @cached_property
    def floor(self) -> float:
        """The infimum of ``sum w phi(u)``."""
        if self.loss.floor == 0:
            return 0.0
        if self.expansion.is_resident:
            return float(self.weights.sum()) * self.loss.floor
        zero = np.zeros(self.expansion.shape[1])
        return self.expansion.sweep(zero, _total_weight, self.vectors).cost * self.loss.floor

    def evaluate(self, margins: Array) -> DataTerm:
        """``sum w phi(u) + t u`` and its derivatives ``w phi'(u) + t`` and ``w phi''(u)``, all at once."""
        term = DataTerm(self, margins)
        _ = term.curvature
        return term

    def objective(self, coef: Array, intercept: float) -> float:
        """The whole objective at the given point."""
        return self.cost(self.margins(coef, intercept)) + self.penalty.value(coef, self.expansion.quadratic(coef))

    def with_loss(self, loss: Loss) -> Problem:
        """The same problem under another loss."""
        return replace(self, loss=loss)

    def scaled(self, factor: float) -> Problem:
        """The same problem with ``factor`` times the weight on its data."""
        tilt = None if self.tilt is None else self.tilt * factor
        return replace(self, weights=self.weights * factor, tilt=tilt, constant=self.constant * factor)

    def weighing(self, positive: float, negative: float) -> Problem:
        """The same problem with other weights on rows of label +1 and -1, by these factors."""
        if not self.expansion.is_resident:
            weights: Any = SignedWeights(self.weights, self.y, positive, negative)  # type: ignore[arg-type]
            return replace(self, weights=weights)
        return replace(self, weights=self.weights * np.where(self.y > 0, positive, negative))

    def take(self, rows: NDArray[np.intp], times: Array) -> Problem:
        """The problem on some of the rows, each standing for ``times`` rows of its kind."""
        return replace(
            self,
            loss=self.loss.of_rows(rows),
            expansion=self.expansion.take(rows),
            y=self.y[rows],
            weights=self.weights[rows] * times,
            tilt=None if self.tilt is None else self.tilt[rows] * times,
            offset=None if self.offset is None else self.offset[rows],
        )


@dataclass(frozen=True)
class MulticlassProblem:
    """k score functions at once: ``sum_i w_i L(F_i, y_i) + 1/2 sum_j |f_j|^2`` under ``sum_j f_j = 0``.

    ``codes`` number the classes from 0. The intercept is "free", "penalized" (it shares the ridge) or "none". A
    ``penalty`` that selects takes the place of the ridge.
    """

    loss: MulticlassLoss
    expansion: Expansion
    codes: NDArray[np.intp]
    weights: Array
    n_classes: int
    intercept: str = "free"
    penalty: ClassPenalty | None = None

    def scores(self, coef: Array) -> Array:
        """Scores (n, k) without intercept."""
        return np.column_stack([self.expansion.apply(column) for column in coef.T])
