"""How good are the probabilities? Mean losses with intervals, rows by true and predicted class, counts by threshold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import rankdata

__all__ = ["LEVEL", "confusion", "row_losses", "scores", "thresholds", "wilson"]

Array = NDArray[np.floating[Any]]
Codes = NDArray[np.intp]

LEVEL = 0.95
_GRID = 500
_MOST_CLASSES = 30


def wilson(share: float, size: float) -> tuple[float, float]:
    """Wilson's interval of a share of ``size`` rows."""
    z = float(ndtri(0.5 + LEVEL / 2))
    room = z * z / size
    centre = (share + room / 2) / (1 + room)
    reach = z / (1 + room) * float(np.sqrt(max(share * (1 - share), 0.0) / size + room / (4 * size)))
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def row_losses(P: Array, codes: Codes) -> dict[str, Array]:
    """Log loss, error and Brier score of each row."""
    every = np.arange(len(codes))
    own = P[every, codes]
    return {
        "log_loss": -np.log(np.maximum(own, 1e-15)),
        "error": (P.argmax(axis=1) != codes).astype(float),
        "brier": np.square(P).sum(axis=1) - 2 * own + 1,
    }


def scores(P: Array, codes: Codes) -> dict[str, dict[str, float]]:
    """Means with normal intervals (the error with Wilson's); the AUC with DeLong's."""
    z = float(ndtri(0.5 + LEVEL / 2))
    found = {}
    for name, losses in row_losses(P, codes).items():
        mean = float(losses.mean())
        reach = z * float(losses.std(ddof=1)) / np.sqrt(len(losses)) if len(losses) > 1 else float("nan")
        low, high = wilson(mean, len(losses)) if name == "error" else (max(mean - reach, 0.0), mean + reach)
        found[name] = {"estimate": mean, "low": low, "high": high}
    found["auc"] = _auc(P, codes)
    return found


def _auc(P: Array, codes: Codes) -> dict[str, float]:
    """The area under the curve, of several classes the mean of each against the rest, with DeLong's interval.

    A positive row counts the share of negative ones it is above, a negative row the share of positive ones below it;
    the spread of these shares is that of the area.
    """
    k = P.shape[1]
    if len(np.unique(codes)) < k:
        return {"estimate": float("nan"), "low": float("nan"), "high": float("nan")}
    areas, influence = [], np.zeros(len(codes))
    for code in [1] if k == 2 else range(k):
        positive, p = codes == code, P[:, code]
        m, n = int(positive.sum()), int((~positive).sum())
        above = np.empty(len(p))
        every = rankdata(p)
        above[positive] = (every[positive] - rankdata(p[positive])) / n
        above[~positive] = 1 - (every[~positive] - rankdata(p[~positive])) / m
        area = float(above[positive].mean())
        areas.append(area)
        influence += np.where(positive, (above - area) / m, (above - area) / n)
    mean = float(np.mean(areas))
    reach = float(ndtri(0.5 + LEVEL / 2) * np.linalg.norm(influence / len(areas)))
    return {"estimate": mean, "low": max(mean - reach, 0.0), "high": min(mean + reach, 1.0)}


def confusion(P: Array, codes: Codes) -> dict[str, Any]:
    """Rows by true and predicted class; of many classes, the pairs that are confused most often."""
    k = P.shape[1]
    predicted = P.argmax(axis=1)
    if k <= _MOST_CLASSES:
        table = np.zeros((k, k), dtype=np.intp)
        np.add.at(table, (codes, predicted), 1)
        return {"table": table.tolist(), "pairs": []}
    wrong = predicted != codes
    pairs, counts = np.unique(np.column_stack([codes[wrong], predicted[wrong]]), axis=0, return_counts=True)
    first = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
    frequent = zip(pairs[first].tolist(), counts[first].tolist(), strict=True)
    return {"table": None, "pairs": [[true, called, count] for (true, called), count in frequent]}


def thresholds(p: Array, codes: Codes) -> dict[str, Any]:
    """Rows called positive at each threshold of a grid: those whose probability is above it."""
    grid = np.arange(_GRID + 1) / _GRID
    positive, negative = np.sort(p[codes == 1]), np.sort(p[codes == 0])
    return {
        "grid": grid.tolist(),
        "true_positive": (len(positive) - np.searchsorted(positive, grid, "right")).tolist(),
        "false_positive": (len(negative) - np.searchsorted(negative, grid, "right")).tolist(),
        "positive": len(positive),
        "negative": len(negative),
    }
