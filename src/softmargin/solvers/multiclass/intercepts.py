"""Which intercepts, where the machine leaves a choice.

The coefficients of a simultaneous support vector machine are unique, its free intercepts need not be: they minimise

    h(b) = sum_i cost_i L(G_i + b, y_i),    sum_j b_j = 0,    G the scores without intercepts,

which is piecewise linear, and where no row lies on its kink flat. Two routes to one machine would then end at two
intercepts. With two classes the minimisers are an interval, whose midpoint is used; with more the minimiser whose mean
scores are smallest is, found as that of ``h(b) + |b|^2 / 2 M`` about centred scores: ``h`` is polyhedral, so a large
``M`` changes nothing.
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
    here = cost(b)
    for sharp in (0.0,) if G.shape[1] == 2 else _SHARP:
        found = (_smallest(centred, sharp) if sharp else _midpoint(centred)) - mean
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


def _smallest(program: HingeProgram, sharp: float) -> Array:
    """The minimiser of least norm."""
    program = program.scaled(float(program.weight.mean()) / sharp)
    return follow_central_path(np.empty((len(program.codes), 0)), program, "penalized", _STEPS).theta[0]
