"""Products with the multipliers along a path, most of which move on straight lines.

Between two values of the parameter only rows that were on the elbow at one of them or on the way leave the line between
their multipliers at both; all others sit at bounds affine in the parameter. So with K u known at both,

    K u(t) = (1 - s) K u(t_0) + s K u(t_1) + K_:M bend_M,      t = (1 - s) t_0 + s t_1,

takes a product with the few rows M that bend, not with all. What is no path (or bends everywhere) is multiplied out.
"""

from __future__ import annotations

import numpy as np

__all__ = ["STRETCH", "PathProducts", "path_products"]

Array = np.ndarray
STRETCH = 128  # values between two known products: as many rows join the elbow as are on it, on 2000 rows
_LINE = 4 * float(np.finfo(np.float64).eps)  # of the multiplier: what rounding makes it leave its line by
_MOST = 0.5  # of the rows: if more than these bend, nothing is gained
_FEW = 500  # rows, up to which nothing is gained either


class PathProducts:
    """``u @ K`` for rows ``u`` of multipliers at ascending values; ``at`` are some of them, ``known`` their rows."""

    def __init__(self, K: Array, at: Array, known: Array) -> None:
        self._K, self._at, self._known = K, at, known
        self._products = known @ K if len(K) > _FEW else None

    def __call__(self, t: Array, u: Array) -> Array:
        """The products at the values ``t``, none of which has one of those known between itself and the next."""
        k = min(int(np.searchsorted(self._at, t[0], side="right")), len(self._at) - 1) - 1
        if self._products is None or k < 0 or not self._at[k] < self._at[k + 1]:
            return u @ self._K
        s = ((t - self._at[k]) / (self._at[k + 1] - self._at[k]))[:, None]
        bend = u - s * self._known[k + 1]
        bend -= (1 - s) * self._known[k]
        bends = np.flatnonzero((np.abs(bend) > _LINE * np.abs(u)).any(axis=0))
        if len(bends) > _MOST * len(self._K):
            return u @ self._K
        products = bend[:, bends] @ self._K[bends]
        products += s * self._products[k + 1]
        products += (1 - s) * self._products[k]
        return products


def path_products(K: Array, t: Array, u: Array) -> Array:
    """``u @ K`` for rows of multipliers at the ascending values ``t``."""
    if len(t) <= STRETCH or len(K) <= _FEW:
        return u @ K
    at = np.append(np.arange(0, len(t), STRETCH), len(t) - 1)
    product = PathProducts(np.ascontiguousarray(K), t[at], u[at])
    return np.concatenate([product(t[k : k + STRETCH], u[k : k + STRETCH]) for k in at[:-1]])
