"""Do events stated with probability p happen with frequency p?

Ten groups of equal size are drawn as dots. The curve needs no groups: ``p + m(p)`` with ``m`` the mean of the residuals
``y - p`` under a Gaussian kernel, and Wilson's interval for as many rows as the kernel counts. Two tests need none
either. Spiegelhalter's: with true probabilities the Brier score has a known mean and variance. The cumulative one: the
running sum of ``y - p`` in the order of p, over the square root of ``sum p (1 - p)``, is a Brownian motion when the
probabilities are true, so its largest absolute value has

    P(sup |B| > x) = 4 sum_k (-1)^k (1 - Phi((2k + 1) x)),  k = 0, 1, ...;

it sees any stretch of probabilities that are too high or too low, which the other may miss.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from softmargin.report._scores import wilson

__all__ = ["reliability"]

Array = NDArray[np.floating[Any]]

_GROUPS, _BINS, _CURVE = 10, 512, 41
_TERMS, _SMALL = 50, 0.1  # terms of the series, and a statistic that is always exceeded


def reliability(P: Array, codes: NDArray[np.intp]) -> dict[str, Any]:
    """Of the second class where there are two, of the predicted one where there are more."""
    if P.shape[1] == 2:
        stated, happened = P[:, 1], (codes == 1).astype(float)
    else:
        stated, happened = P.max(axis=1), (P.argmax(axis=1) == codes).astype(float)
    order = np.argsort(stated, kind="stable")
    return {
        "groups": [_group(stated[part], happened[part]) for part in np.array_split(order, _n_groups(len(order)))],
        "curve": _curve(stated, happened),
        "spiegelhalter": _spiegelhalter(stated, happened),
        "cumulative": _cumulative(stated[order], happened[order]),
    }


def _n_groups(n: int) -> int:
    return min(_GROUPS, max(n // 10, 1))


def _group(stated: Array, happened: Array) -> dict[str, float]:
    share = float(happened.mean())
    low, high = wilson(share, len(stated))
    return {"stated": float(stated.mean()), "share": share, "low": low, "high": high, "rows": len(stated)}


def _curve(stated: Array, happened: Array) -> list[dict[str, float]]:
    """The kernel mean where it rests on at least five rows; rows are counted in narrow bins first."""
    bins = np.minimum((stated * _BINS).astype(int), _BINS - 1)
    count = np.bincount(bins, minlength=_BINS).astype(float)
    residual = np.bincount(bins, weights=happened - stated, minlength=_BINS)
    width = max(0.02, float(stated.std()) * len(stated) ** -0.2)
    at = np.linspace(0, 1, _CURVE)
    kernel = np.exp(-0.5 * np.square((at[:, None] - (np.arange(_BINS) + 0.5) / _BINS) / width))
    mass = kernel @ count
    size = np.square(mass) / np.maximum(np.square(kernel) @ count, 1e-300)
    curve = []
    for p, m, r, n in zip(at, mass, kernel @ residual, size, strict=True):
        if n >= 5:
            share = float(np.clip(p + r / m, 0, 1))
            low, high = wilson(share, float(n))
            curve.append({"stated": float(p), "share": share, "low": low, "high": high})
    return curve


def _spiegelhalter(stated: Array, happened: Array) -> dict[str, float]:
    excess = (happened - stated) * (1 - 2 * stated)
    spread = np.sqrt(np.sum(np.square(1 - 2 * stated) * stated * (1 - stated)))
    z = float(excess.sum() / spread) if spread > 0 else 0.0
    return {"statistic": z, "p_value": float(2 * ndtr(-abs(z)))}


def _cumulative(stated: Array, happened: Array) -> dict[str, float]:
    spread = float(np.sqrt(np.sum(stated * (1 - stated))))
    if spread == 0:
        return {"statistic": 0.0, "p_value": float(np.array_equal(stated, happened))}
    x = float(np.abs(np.cumsum(happened - stated)).max()) / spread
    k = np.arange(_TERMS)
    beyond = 4 * float(np.sum((-1.0) ** k * ndtr(-(2 * k + 1) * max(x, _SMALL))))
    return {"statistic": x, "p_value": min(max(beyond, 0.0), 1.0)}
