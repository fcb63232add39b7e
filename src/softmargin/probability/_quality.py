"""How good are estimated probabilities? Scores against labels, against true probabilities, and calibration.

All take labels or true probabilities first and the estimated probability of the positive class second, as
scikit-learn's metrics do, and return a mean; smaller is better. ``comparative_gkl`` is the cross entropy against the
*true* probabilities, the quantity the papers tabulate as GKL: the Kullback-Leibler divergence plus the entropy no
method can remove.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from softmargin._constraints import COUNT, LEVEL, RESAMPLES, random_generator, real_numbers
from softmargin.probability._weights import row_weights

__all__ = [
    "CalibrationError",
    "brier",
    "calibration_error",
    "comparative_gkl",
    "cross_entropy",
    "misclassification",
]


class CalibrationError(NamedTuple):
    """Mean absolute gap between stated and observed frequency, its interval, and the bins behind it."""

    value: float
    interval: tuple[float, float]
    stated: NDArray[np.floating[Any]]
    observed: NDArray[np.floating[Any]]
    count: NDArray[np.floating[Any]]  # type: ignore[assignment]  # hides tuple.count, which bins do not need


def _pair(y_true: ArrayLike, y_prob: ArrayLike, weight: ArrayLike | None) -> tuple[Any, Any, Any]:
    t, p = real_numbers("targets", y_true), real_numbers("probabilities", y_prob)
    if p.shape != t.shape or p.ndim != 1:
        raise ValueError(
            f"targets and probabilities must be vectors of one length; got shapes {t.shape} and {p.shape}."
        )
    if not (np.all((p >= 0) & (p <= 1)) and np.all((t >= 0) & (t <= 1))):
        raise ValueError("probabilities and targets must lie between 0 and 1; encode labels as 0 and 1.")
    if not len(p):
        raise ValueError("targets and probabilities are empty; a mean needs at least one row.")
    w = row_weights(weight, len(p), "weight")
    return t, p, w / w.sum()


def comparative_gkl(truth: ArrayLike, y_prob: ArrayLike, weight: ArrayLike | None = None) -> float:
    """``-mean(t log p + (1 - t) log(1 - p))`` for true probabilities ``t``; inf where a sure statement is wrong."""
    t, p, w = _pair(truth, y_prob, weight)
    with np.errstate(divide="ignore"):
        return float(w @ -(xlogy(t, p) + xlogy(1 - t, 1 - p)))


def cross_entropy(y_true: ArrayLike, y_prob: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Mean log loss of the probabilities of the positive class for labels in {0, 1}."""
    return comparative_gkl(y_true, y_prob, weight)


def brier(y_true: ArrayLike, y_prob: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Mean squared distance of probabilities from labels in {0, 1} (or from true probabilities)."""
    t, p, w = _pair(y_true, y_prob, weight)
    return float(w @ np.square(p - t))


def misclassification(y_true: ArrayLike, y_prob: ArrayLike, weight: ArrayLike | None = None) -> float:
    """Share of rows whose likelier class is not the label; ``p = 1/2`` is a vote for class 0."""
    t, p, w = _pair(y_true, y_prob, weight)
    return float(w @ ((p > 0.5) != (t > 0.5)))


def calibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    n_bins: int = 10,
    level: float = 0.95,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> CalibrationError:
    """Expected calibration error over bins of equal count, with a percentile bootstrap interval over rows."""
    t, p, _ = _pair(y_true, y_prob, None)
    COUNT.check("n_bins", n_bins)
    LEVEL.check("level", level)
    RESAMPLES.check("n_resamples", n_resamples)
    rng = random_generator("random_state", random_state)
    order = np.argsort(p, kind="stable")
    bins = np.array_split(order, min(n_bins, len(p)))
    label = np.empty(len(p), dtype=int)
    for k, rows in enumerate(bins):
        label[rows] = k

    def summary(rows: Any) -> tuple[Any, Any, Any]:
        count = np.bincount(label[rows], minlength=len(bins)).astype(float)
        safe = np.maximum(count, 1)
        stated = np.bincount(label[rows], p[rows], len(bins)) / safe
        observed = np.bincount(label[rows], t[rows], len(bins)) / safe
        return stated, observed, count

    def error(parts: tuple[Any, Any, Any]) -> float:
        stated, observed, count = parts
        return float(np.abs(stated - observed) @ count / count.sum())

    draws = [error(summary(rng.integers(len(p), size=len(p)))) for _ in range(n_resamples)]
    tail = 50 * (1 - level)
    low, high = np.percentile(draws, [tail, 100 - tail])
    stated, observed, count = summary(order)
    return CalibrationError(error((stated, observed, count)), (float(low), float(high)), stated, observed, count)
