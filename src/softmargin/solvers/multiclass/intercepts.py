"""Which intercepts, where the machine leaves a choice.

The coefficients of a simultaneous support vector machine are unique, its free intercepts need not be: they minimise

    h(b) = sum_i cost_i L(G_i + b, y_i),    sum_j b_j = 0,    G the scores without intercepts,

which is piecewise linear, and where no row lies on its kink flat. Two routes to one machine would then end at two
intercepts. With two classes the minimisers are an interval, whose midpoint is used; with more the minimiser whose mean
scores are smallest is, found as that of ``h(b) + |b|^2 / 2 M`` about centred scores: ``h`` is polyhedral, so a large
``M`` changes nothing. The bounded machine, whose ``h`` is linear above floors of the intercepts, says both in closed
form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.solvers.multiclass.interior_point import HingeProgram, follow_central_path

__all__ = ["canonical_intercept"]

Array = NDArray[np.floating[Any]]

_FLAT = 1e-10  # of all slopes together: rounding of their sum
_SHARP = (1e2, 1e4, 1e6)  # ``M`` in units of the mean cost: a small one keeps digits, costs of many sizes need more
_SAME = 1e-10  # of the cost: intercepts that differ by less are equally good
_STEPS = 100


def canonical_intercept(program: HingeProgram, G: Array, b: Array, cost: Callable[[Array], float]) -> Array:
    """The intercepts that any route to the scores ``G`` would choose; ``b`` if ``cost``, which is h, prefers it."""
    weight = program.weight[:, :1]
    mean = (weight * G).sum(axis=0) / weight.sum()
    centred = replace(program, target=program.target - program.margins(G - mean))
    here, two = cost(b), G.shape[1] == 2
    for sharp in (0.0,) if two or program.kind == "hard" else _SHARP:
        if program.kind == "hard":
            found = _above_floors(centred) - mean
        else:
            found = (_midpoint(centred) if two else _smallest(centred, sharp)) - mean
        if cost(found) <= here + _SAME * abs(here):
            return found
    return b


def _midpoint(program: HingeProgram) -> Array:
    """``(-t, t)`` in the middle of the interval of minimisers: slopes of ``h`` in t sum to zero there."""
    rate = program.margins(np.tile([-1.0, 1.0], (len(program.codes), 1)))
    used = program.present & (rate != 0)
    rate, cost = rate[used], program.upper[used] * np.abs(rate[used])
    kinks = program.target[used] / rate
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(cost[order]) - cost[rate > 0].sum()  # to the right of each kink
    level = _FLAT * cost.sum()
    first = np.searchsorted(slope, -level)
    last = np.searchsorted(slope, level, side="right")
    if last >= len(order) or not cost[rate > 0].sum() > level:
        return np.full(2, np.nan)  # one class only pulls: the interval has no end
    t = 0.5 * (kinks[order[first]] + kinks[order[last]])
    return np.array([-t, t])


def _above_floors(program: HingeProgram) -> Array:
    """The bounded machine's: minimise ``-pull'b`` where ``b_j >= floor_j``, ``sum_j b_j = 0``.

    Classes that pull less than the strongest lie on their floors. The strongest share the rest: two classes alike, more
    at one level ``max(floor_j, level)``, which is their least norm.
    """
    floor, pull = program.target.max(axis=0), program.pull.sum(axis=0)
    strong = pull >= pull.max() - _FLAT * pull.sum()
    rest = -float(floor.sum())
    if rest < 0:
        return np.full(len(floor), np.nan)  # the scores have no intercepts that bound them
    if len(floor) == 2 and strong.all():
        return floor + rest / 2
    lowest = np.sort(floor[strong])
    levels = (rest + np.cumsum(lowest)) / np.arange(1, len(lowest) + 1)  # if so many of the lowest rise
    rising = int(np.flatnonzero(levels >= lowest)[-1])
    return np.where(strong, np.maximum(floor, levels[rising]), floor)


def _smallest(program: HingeProgram, sharp: float) -> Array:
    """The minimiser of least norm."""
    program = program.scaled(float(program.weight.mean()) / sharp)
    return follow_central_path(np.empty((len(program.codes), 0)), program, "penalized", _STEPS).theta[0]
