"""Choosing the mix and the penalty of composite least squares from the training rows alone.

Leave-one-out scores are a closed form, so a whole grid costs little more than a fit at ``mix = 1/2`` and one set of
class factorisations per grid point otherwise. The criterion is computed from the probabilities those scores give:

* ``"brier"`` (default): mean of ``sum_j (P_j - 1{y = j})^2``; bounded, so no single row decides;
* ``"log_loss"``: mean of ``-log P_y``, with ``P`` floored at ``1 / (2 n)``: n rows cannot vouch for less;
* ``"error"``: share of rows misclassified;
* ``"gcv"``: generalised cross-validation of the squared residuals; comparable within one mix only.

A row without a leave-one-out fit counts as fully wrong. Ties go to the strongest penalty. Sample weights are counts
here: a row of weight three is left out three times, one unit each, exactly as if it had been given three times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softmargin.probability import least_squares_probability
from softmargin.solvers.multiclass import ClassMoments, LeaveOneOut, Spectrum, half_path, leave_one_out

__all__ = ["CRITERIA", "CompositeGrid", "CountedRows", "tune_composite"]

Array = NDArray[np.floating[Any]]

_SMALLEST_TRACE = 1e-200  # of features that tell rows apart at all
CRITERIA = ("brier", "log_loss", "error", "gcv")


@dataclass(frozen=True)
class CountedRows:
    """Class codes, weights, and how many rows each row stands for: the weights without class weights."""

    codes: NDArray[np.intp]
    weight: Array
    counts: Array
    n_classes: int

    @property
    def n_rows(self) -> float:
        """The rows that are stood for."""
        return float(self.counts.sum())


@dataclass
class CompositeGrid:
    """The criterion ``values`` (mixes, Cs) and where it is smallest."""

    mixes: Array
    Cs: Array
    values: Array
    criterion: str

    @property
    def best(self) -> tuple[float, float]:
        """``(mix, C)`` of the smallest criterion; the smallest ``C`` among equals."""
        lowest = self.values.min()
        close = self.values <= lowest + 1e-12 * max(abs(lowest), 1e-300)
        column = int(np.flatnonzero(close.any(axis=0))[np.argmin(self.Cs[close.any(axis=0)])])
        row = int(np.flatnonzero(close[:, column])[0])
        return float(self.mixes[row]), float(self.Cs[column])


def tune_composite(
    spectrum: Spectrum, data: CountedRows, mixes: Array, Cs: ArrayLike | int, criterion: str, rescale: str
) -> CompositeGrid:
    """Evaluate the criterion on the grid; ``Cs`` may be a number of values, spread around the scale of the data.

    A row that counts for several is left out once for each.
    """
    if isinstance(Cs, (int, np.integer)):
        unit = spectrum.trace if spectrum.trace > _SMALLEST_TRACE else 1.0
        Cs = 1 / (2 * unit * np.logspace(1, -6, int(Cs)))
    Cs = np.asarray(Cs, dtype=np.float64)
    lams = 1 / (2 * Cs)
    removed = data.weight * np.minimum(1, 1 / data.counts)
    values = np.empty((len(mixes), len(Cs)))
    for row, mix in enumerate(mixes):
        if mix == 0.5:
            fits = half_path(spectrum, data.codes, data.weight, lams, removed=removed, n_rows=data.n_rows)
        else:
            mode = "free" if spectrum.free else "none"
            moments = ClassMoments(spectrum.features, data.codes, data.weight, data.n_classes, mode)
            fits = (leave_one_out(moments, mix, lam, removed=removed, n_rows=data.n_rows) for lam in lams)
        values[row] = [_score(fit, data, mix, criterion, rescale) for fit in fits]
    return CompositeGrid(np.asarray(mixes), Cs, values, criterion)


def _score(fit: LeaveOneOut, data: CountedRows, mix: float, criterion: str, rescale: str) -> float:
    codes, weight = data.codes, data.weight
    if criterion == "gcv":
        return fit.gcv
    known = np.isfinite(fit.scores[:, 0])  # a row is known as a whole or not at all
    scores, own = fit.scores, codes
    if not known.all():
        scores, own = scores[known], codes[known]
    rows = np.arange(len(own))
    cost = np.full(len(codes), 1.0)
    if criterion == "error":
        cost[known] = scores.argmax(axis=1) != own
        return float(weight @ cost / weight.sum())
    P = least_squares_probability((scores.shape[1] - 1) * scores, mix, rescale)
    if criterion == "brier":
        cost *= 2
        cost[known] = np.square(P).sum(axis=1) - 2 * P[rows, own] + 1
    else:
        floor = 1 / (2 * max(data.n_rows, 1.0))
        cost *= -np.log(floor)
        cost[known] = -np.log(np.maximum(P[rows, own], floor))
    return float(weight @ cost / weight.sum())
