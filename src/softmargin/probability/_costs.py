"""Decisions by cost: with probabilities ``p`` of the classes, say the class ``j`` of least ``sum_i p_i cost[i, j]``.

``cost[i, j]`` is the price of saying class ``j`` where class ``i`` is true. Equal prices of all mistakes give the most
probable class; weighting the rows of a class instead bends the probabilities too, which this does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import NUMBER, real_numbers

__all__ = ["cost_matrix", "least_cost"]

Array = NDArray[np.floating[Any]]


def cost_matrix(costs: Any, classes: NDArray[Any]) -> Array:
    """The price of every mistake, from a square array in the order of ``classes`` or a dict ``{(true, said): price}``.

    Mistakes that a dict does not name cost 1, right answers 0.
    """
    known = np.asarray(classes).ravel().tolist()
    k = len(known)
    if isinstance(costs, Mapping):
        matrix, place = 1.0 - np.eye(k), {label: code for code, label in enumerate(known)}
        for pair, price in costs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and all(label in place for label in pair)):
                raise ValueError(f"costs names {pair!r}; its keys are pairs (true, said) of {known}.")
            NUMBER.check(f"costs[{pair!r}]", price)
            matrix[place[pair[0]], place[pair[1]]] = price
    else:
        matrix = real_numbers("costs", costs)
        if matrix.shape != (k, k):
            raise ValueError(f"costs has shape {matrix.shape}; {k} classes need a row and a column each.")
    if not np.isfinite(matrix).all():
        raise ValueError("costs must be finite; leave rows that must never be misjudged to a person instead.")
    return matrix


def least_cost(P: Array, matrix: Array) -> NDArray[np.intp]:
    """The codes of the classes of least expected cost."""
    return np.asarray((P @ matrix).argmin(axis=1))
