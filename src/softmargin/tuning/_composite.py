"""Choosing the mix and the penalty of composite least squares from the training rows alone.

Leave-one-out scores are a closed form: at ``mix = 1/2`` all values of ``C`` cost as much as a few fits. Other mixes
cost that much for each ``C``, so they are looked at where it may pay, and on a sample where rows are many: around the
best ``C`` of one half, outwards as long as it gets better, and the best of them at neighbouring values of ``C``. The
mix 1 is a machine of its own kind, with its own scale of ``C``: it is always looked at. The criterion is computed from
the probabilities that the scores give:

* ``"brier"`` (default): mean of ``sum_j (P_j - 1{y = j})^2``; bounded, so no single row decides;
* ``"log_loss"``: mean of ``-log P_y``, with ``P`` floored at ``1 / (2 n)``: n rows cannot vouch for less;
* ``"error"``: share of rows misclassified;
* ``"gcv"``: generalised cross-validation of the squared residuals; comparable within one mix only.

A row without a leave-one-out fit counts as fully wrong. Ties go to the strongest penalty. Sample weights are counts
here: a row of weight three is left out three times, one unit each, exactly as if it had been given three times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from softmargin.probability import least_squares_probability
from softmargin.solvers.multiclass import ClassMoments, LeastSquaresSystem, LeaveOneOut, half_path, leave_one_out

__all__ = ["CRITERIA", "CompositeGrid", "CountedRows", "tune_composite"]

Array = NDArray[np.floating[Any]]

# How the other mixes are looked at. Set on 19 tables of several classes, linear and rbf: against the whole grid the
# criterion loses 5e-4 on average for seven looks instead of 120 (``python -m benchmarks multi``: automatic_choice).
_SAMPLE = (200, 300)  # rows: a third of all, but not fewer nor more than so many
_FEW = 16  # candidates that are all looked at
_FARTHER, _COARSE = 1.2, 0.5  # decades of C: where mix 1 is looked at beyond the best of one half; the first steps
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
    """The criterion ``values`` (mixes, Cs), NaN where it was not looked at, and where it is smallest."""

    mixes: Array
    Cs: Array
    values: Array
    criterion: str

    @property
    def best(self) -> tuple[float, float]:
        """``(mix, C)`` of the smallest criterion; the smallest ``C`` among equals."""
        lowest = float(np.nanmin(self.values))
        close = self.values <= lowest + 1e-12 * max(abs(lowest), 1e-300)
        column = int(np.flatnonzero(close.any(axis=0))[np.argmin(self.Cs[close.any(axis=0)])])
        row = int(np.flatnonzero(close[:, column])[0])
        return float(self.mixes[row]), float(self.Cs[column])


def tune_composite(
    system: LeastSquaresSystem, data: CountedRows, mixes: Array, Cs: ArrayLike | int, criterion: str, rescale: str
) -> CompositeGrid:
    """Look for the smallest criterion; ``Cs`` may be a number of values, spread around the scale of the data.

    A row that counts for several is left out once for each.
    """
    spectrum = system.spectrum
    if isinstance(Cs, (int, np.integer)):
        unit = spectrum.trace if spectrum.trace > _SMALLEST_TRACE else 1.0
        Cs = 1 / (2 * unit * np.logspace(1, -6, int(Cs)))
    grid = CompositeGrid(np.asarray(mixes), np.asarray(Cs, dtype=np.float64), np.empty(0), criterion)
    removed = data.weight * np.minimum(1, 1 / data.counts)
    score = partial(_score, criterion=criterion, rescale=rescale)
    half = half_path(spectrum, data.codes, data.weight, 1 / (2 * grid.Cs), removed=removed, n_rows=data.n_rows)
    if criterion == "gcv" and mixes[0] != 0.5:  # compares residuals of one mix, with all rows
        mode = "free" if spectrum.free else "none"
        moments = ClassMoments(spectrum.features, data.codes, data.weight, data.n_classes, mode)
        lams = 1 / (2 * grid.Cs)
        fits = (leave_one_out(moments, mixes[0], lam, removed=removed, n_rows=data.n_rows) for lam in lams)
        return replace(grid, values=np.array([[fit.gcv for fit in fits]]))
    search = _Search(grid, np.array([score(fit, data, 0.5) for fit in half]))
    if len(mixes) > 1 or mixes[0] != 0.5:
        search.others(system, data, removed, score)
    return replace(grid, values=search.values)


class _Search:
    """The criterion where it was looked for (elsewhere NaN), from that of ``mix = 1/2`` at every ``C``."""

    def __init__(self, grid: CompositeGrid, half: Array) -> None:
        self.mixes, self.Cs = [float(mix) for mix in grid.mixes], grid.Cs
        self.values = np.full((len(self.mixes), len(self.Cs)), np.nan)
        self.order = np.argsort(self.Cs, kind="stable")  # columns by their C
        self.half, self.start = half, int(np.argmin(half[self.order]))
        if 0.5 in self.mixes:
            self.values[self.mixes.index(0.5)] = half

    def others(self, system: LeastSquaresSystem, data: CountedRows, removed: Array, score: Any) -> None:
        """Look at the other mixes, on a sample of the rows: at all costs if they are few."""
        rows = _sampled(data)
        left_out = system.left_out(rows, removed)
        part = CountedRows(data.codes[rows], data.weight[rows], data.counts[rows], data.n_classes)

        def look(mix: float, C: float) -> float:
            return float(score(LeaveOneOut(left_out(mix, 1 / (2 * C)), 0.0, part.n_rows, float), part, mix))

        best = float(self.half[self.order[self.start]])
        whole = len(rows) == len(data.codes)
        offset = 0.0 if whole else best - look(0.5, float(self.Cs[self.order[self.start]]))

        def judge(mix: float, place: int) -> float:
            row, column = self.mixes.index(mix), self.order[min(max(place, 0), len(self.Cs) - 1)]
            if np.isnan(self.values[row, column]):
                self.values[row, column] = look(mix, float(self.Cs[column])) + offset
            return float(self.values[row, column])

        mixes = [mix for mix in self.mixes if mix != 0.5]
        if len(mixes) * len(self.Cs) <= _FEW:
            for mix in mixes:
                for place in range(len(self.Cs)):
                    judge(mix, place)
            return
        self._look_around(judge, mixes, best)

    def _look_around(self, judge: Callable[[float, int], float], mixes: list[float], best: float) -> None:
        """From one half outwards at its best cost, a mix only if the one before it is better; then along the costs."""
        found = [(best, 0.5, self.start)] if 0.5 in self.mixes else []
        last = len(self.Cs) - 1
        sides = sorted(mix for mix in mixes if 0.5 < mix < 1), sorted((m for m in mixes if m < 0.5), reverse=True)
        for side in sides:
            for mix in side:
                found.append((judge(mix, self.start), mix, self.start))
                if found[-1][0] >= best:
                    break
        places = {min(self.start + self._steps(_FARTHER), last), last // 2} if 1.0 in mixes else set()
        found.extend((judge(1.0, place), 1.0, place) for place in places)
        value, mix, place = min(found)
        if mix == 0.5:
            return
        for step in (self._steps(_COARSE), 1):
            for way in (step, -step):
                while 0 <= place + way < len(self.Cs) and judge(mix, place + way) < value:
                    place += way
                    value = judge(mix, place)

    def _steps(self, decades: float) -> int:
        """Places along the costs that are about so many decades apart."""
        low, high = np.log10(self.Cs[self.order[[0, -1]]])
        return max(round(decades * (len(self.Cs) - 1) / max(high - low, 1e-9)), 1)


def _sampled(data: CountedRows) -> NDArray[np.intp]:
    """Rows of every class in equal shares, drawn by chance; all of them where they are few."""
    n = len(data.codes)
    most = int(np.clip(n // 3, *_SAMPLE))
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(0).permutation(n)
    order = order[np.argsort(data.codes[order], kind="stable")]
    first = np.searchsorted(data.codes[order], np.arange(data.n_classes))
    spread = np.linspace(0, n - 1, most).round().astype(np.intp)
    return np.sort(order[np.union1d(spread, first)])


def _score(fit: LeaveOneOut, data: CountedRows, mix: float, *, criterion: str, rescale: str) -> float:
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
