"""Solve ``function(x) = target`` elementwise for an increasing function, by bisection down to neighbouring doubles.

Scores at given probabilities are asked for rarely and in small numbers, so the method is the one that cannot fail:
a bracket, halved until nothing lies between its ends.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softmargin.losses._base import Array

__all__ = ["solve_increasing"]


def solve_increasing(function: Callable[[Array], Array], target: Array, low: float, high: float) -> Array:
    """The point of [low, high] where ``function`` crosses ``target``; an end if it does not cross."""
    goal = np.asarray(target, dtype=np.float64)
    below, above = np.full_like(goal, low), np.full_like(goal, high)
    for _ in range(200):
        middle = below + (above - below) / 2
        if np.all((middle == below) | (middle == above)):
            break
        short = function(middle) < goal
        below = np.where(short, middle, below)
        above = np.where(short, above, middle)
    return below + (above - below) / 2
