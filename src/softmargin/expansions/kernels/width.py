"""The width of a kernel from the training rows: what the words for ``gamma`` mean.

* ``"scale"``: ``1 / (n_features * var(X))``, scikit-learn's default;
* ``"median"``: ``1 / median^2`` of the distances between the two classes (between all pairs of classes if more), of
  those above zero where the median is zero;
* ``"mean"``: ``1 / mean^2`` of all pairwise distances, the width of section 5.2 of the coherence paper.

The square is the power of the distance in the kernel: a Laplacian kernel has powers 1, and 1-norm distances. A row of
weight ``w`` counts as ``w`` equal rows. Beyond 3000 different rows the distances are those of 3000 of them, chosen by
content, so the width depends neither on the order of the rows nor on whether equal rows are weighted or repeated.
"""

from __future__ import annotations

from itertools import combinations
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.kernels.function import KernelFunction
from softmargin.expansions.row_lottery import row_lottery

__all__ = ["WORDS", "resolve_gamma"]

Array = NDArray[np.floating[Any]]

WORDS = ("scale", "median", "mean")
_EQUAL = 1e-7  # of the largest distance
_SAMPLE = 3000  # different rows: the median of 4.5e6 distances is known to a fraction of a per cent, in 36 MB


def resolve_gamma(gamma: Any, function: type[KernelFunction], X: Any, y: Any, weight: Any) -> float:
    """``gamma`` as a number."""
    if not isinstance(gamma, str):
        if not isinstance(gamma, Real) or isinstance(gamma, bool) or not 0 < float(gamma) < np.inf:
            raise ValueError(f"gamma must be 'scale', 'median', 'mean' or a positive number; got {gamma!r}.")
        return float(gamma)
    if gamma not in WORDS:
        raise ValueError(f"gamma must be 'scale', 'median', 'mean' or a positive number; got {gamma!r}.")
    weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    unit = float(abs(X).max()) if min(X.shape) else 0.0
    if unit == 0:
        return 1.0
    X = X / unit if unit > 1e18 or unit < 1e-18 else X  # squares of the features would leave the range of floats
    unit = unit if unit > 1e18 or unit < 1e-18 else 1.0
    power = function.gamma_power
    if gamma == "scale":
        width = X.shape[1] * _variance(X, weight) ** (power / 2)
    else:
        X, codes, weight = _representatives(X, np.unique(y, return_inverse=True)[1], weight)
        measure = _median_between if gamma == "median" else _mean
        width = measure(function, X, codes, weight) ** power
    if width <= 0:
        return 1.0
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        found = float(np.float64(1.0) / width / np.float64(unit) ** power)
    if not np.isfinite(found) or found < np.finfo(np.float64).tiny:
        raise ValueError(
            f"gamma={gamma!r} is out of range for features of size {unit:.3g}: it would be {found:.3g}. "
            "Scale the features (StandardScaler)."
        )
    return found


def _variance(X: Any, weight: Array) -> float:
    """The variance of all entries of ``X``, each row counted ``weight`` times; that of equal ones is no rounding."""
    low, high = (float(end) for end in (X.min(), X.max()))
    if low == high:
        return 0.0
    if np.ptp(weight) == 0 and not sparse.issparse(X):
        return float(np.var(X, dtype=np.float64))
    share = weight / (np.sum(weight) * X.shape[1])
    mean = float(np.sum(share @ X))
    if sparse.issparse(X):
        stored = sparse.csr_array(X)
        sums = np.add.reduceat(np.append(np.square(stored.data - mean), 0.0), stored.indptr[:-1])
        n_stored = np.diff(stored.indptr)
        return float(share @ (np.where(n_stored > 0, sums, 0.0) + (X.shape[1] - n_stored) * mean**2))
    return float(np.sum(share @ np.square(X - mean)))


def _representatives(X: Any, codes: NDArray[np.intp], weight: Array) -> tuple[Any, NDArray[np.intp], Array]:
    """The rows, or where there are many, some different ones, each with the weight of all its equals."""
    if X.shape[0] <= _SAMPLE:
        return X, codes, weight
    _, members = np.unique(row_lottery(X, np.random.RandomState(0)), return_inverse=True)
    kept = np.flatnonzero(members < _SAMPLE)  # unique sorts: the smallest numbers win
    pairs = members[kept] * (codes.max() + 1) + codes[kept]  # equal rows of different classes stay apart
    _, first, group = np.unique(pairs, return_index=True, return_inverse=True)
    return X[kept[first]], codes[kept[first]], np.bincount(group, weights=weight[kept]).astype(np.float64)


def _mean(function: type[KernelFunction], X: Any, codes: NDArray[np.intp], weight: Array) -> float:
    """The mean distance; a row counted ``w > 1`` times makes ``w (w - 1)`` pairs at distance zero with itself."""
    distances = function.distances(X, X)
    np.fill_diagonal(distances, 0.0)
    itself = float(np.sum(np.maximum(weight * (weight - 1), 0.0)))
    total = float(np.sum(weight)) ** 2 - float(weight @ weight) + itself
    return float(weight @ (distances @ weight)) / total if total > 0 else 0.0


def _median_between(function: type[KernelFunction], X: Any, codes: NDArray[np.intp], weight: Array) -> float:
    """The median distance between rows of different classes; where half of them are equal, of those that are not."""
    groups = [np.flatnonzero(codes == code) for code in np.unique(codes)]
    pairs = list(combinations(groups, 2))
    if not pairs:
        return 0.0
    values = np.concatenate([function.distances(X[a], X[b]).ravel() for a, b in pairs])
    values[values <= _EQUAL * values.max(initial=0.0)] = 0.0  # equal rows are so far apart by rounding alone
    pair_weights = np.concatenate([np.outer(weight[a], weight[b]).ravel() for a, b in pairs])
    found = _weighted_median(values, pair_weights) if np.ptp(weight) > 0 else float(np.median(values))
    apart = values > 0
    return found if found > 0 or not apart.any() else _weighted_median(values[apart], pair_weights[apart])


def _weighted_median(values: Array, weights: Array) -> float:
    """The median of ``values`` repeated ``weights`` times."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    half = 0.5 * reached[-1]
    low = np.searchsorted(reached, half * (1 - 1e-12))
    high = np.searchsorted(reached, half * (1 + 1e-12), side="right")
    return 0.5 * float(values[order[low]] + values[order[min(high, len(order) - 1)]])
