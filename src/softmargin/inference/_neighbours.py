"""Rows seen by their neighbours: near duplicates, above all those with other labels, and rows far from all others.

Distances are Euclidean in standardised columns (cosine for sparse rows), to the ten nearest rows. ``duplicate`` is
``exp(-d_1 / m)``, 1 for an exact copy, with ``d_1`` the distance to the nearest row and ``m`` the median of such
distances; ``outlier`` is the share of rows whose mean distance to their neighbours is smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import scale

__all__ = ["Neighbours", "look_around"]

Array = NDArray[np.floating[Any]]

_NEIGHBOURS = 10
_MOST_ROWS = 50_000  # beyond, the search costs more than the judges


class Neighbours(NamedTuple):
    """The two scores of every row, its nearest row, and whether that is an equal one with another label."""

    duplicate: Array
    outlier: Array
    nearest: NDArray[np.intp]
    conflict: NDArray[np.bool_]


def look_around(X: Any, codes: NDArray[np.intp]) -> Neighbours | None:
    """The scores of numeric rows; None where rows are not numbers or too many."""
    rows = X if sparse.issparse(X) else _numbers(X)
    n = len(codes)
    if rows is None or n < 3 or n > _MOST_ROWS:
        return None
    metric = "cosine" if sparse.issparse(rows) else "euclidean"
    search = NearestNeighbors(n_neighbors=min(_NEIGHBOURS, n - 1), metric=metric).fit(rows)
    distance, index = search.kneighbors()
    nearest, first = index[:, 0], np.maximum(distance[:, 0], 0)
    positive = first[first > 0]
    unit = float(np.median(positive)) if len(positive) else 1.0
    order = distance.mean(axis=1).argsort().argsort()
    close = first <= 1e-6 * unit
    return Neighbours(np.exp(-first / unit), order / max(n - 1, 1), nearest, close & (codes != codes[nearest]))


def _numbers(X: Any) -> Array | None:
    try:
        rows = np.asarray(X, dtype=float)
    except (OverflowError, TypeError, ValueError):
        return None
    if rows.ndim != 2 or not np.all(np.isfinite(rows)):
        return None
    with np.errstate(all="ignore"):
        return np.nan_to_num(scale(rows))
