"""Which columns of a kernel are equal: repeated rows make the same column again.

Equal columns have equal products with a random vector, and others do not. Classes, class weights and the rounds of a
majoriser fit one kernel matrix hundreds of times; it is looked at once.
"""

from __future__ import annotations

from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion

__all__ = ["kinds_of_columns"]

Kinds = NDArray[np.intp]

_ROUNDING = 1e-14


def kinds_of_columns(expansion: Expansion) -> Kinds | None:
    """For each kernel column the number of its kind; None where all differ."""
    known = _known()
    if expansion not in known:
        known[expansion] = _kinds(expansion)
    return known[expansion]


@cache
def _known() -> WeakKeyDictionary[Any, Kinds | None]:
    return WeakKeyDictionary()


def _kinds(expansion: Expansion) -> Kinds | None:
    n, p = expansion.shape
    image = expansion.transpose(np.random.default_rng(0).standard_normal(n))
    order = np.argsort(image, kind="stable")
    apart = np.diff(image[order]) > _ROUNDING * float(np.abs(image).max(initial=0.0))
    kinds = np.empty(p, dtype=np.intp)
    kinds[order] = np.concatenate([[0], np.cumsum(apart)])
    return kinds if kinds[order[-1]] + 1 < p else None
