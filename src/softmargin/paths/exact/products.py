"""Products with the multipliers along a path, most of which move on straight lines.

Between two values of the parameter only rows that were on the elbow at one of them or on the way leave the line between
their multipliers at both; all others sit at bounds affine in the parameter. So with K u known at both,

    K u(t) = (1 - s) K u(t_0) + s K u(t_1) + K_:M bend_M,      t = (1 - s) t_0 + s t_1,

takes a product with the few rows M that bend, not with all. What is no path (or bends everywhere) is multiplied out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

__all__ = ["FEW", "STRETCH", "PathMultipliers", "PathProducts", "path_products"]

Array = np.ndarray
STRETCH = 128  # values between two known products: as many rows join the elbow as are on it, on 2000 rows
_LINE = 4 * float(np.finfo(np.float64).eps)  # of the multiplier: what rounding makes it leave its line by
_MOST = 0.5  # of the rows: if more than these bend, nothing is gained
FEW = 500  # rows, up to which nothing is gained either


@dataclass(frozen=True)
class _Stretch:
    """Multipliers between two values whose products are known, the ``k``-th and the next; None: they are on no line."""

    k: int | None
    share: Array
    rows: Array
    bend: Array

    @classmethod
    def of(cls, t: Array, u: Array, at: Array, known: Array) -> _Stretch:
        """Those at ascending values ``t``, ``at`` being the values whose products are known."""
        k = min(int(np.searchsorted(at, t[0], side="right")), len(at) - 1) - 1
        whole = cls(None, np.empty((len(t), 0)), np.arange(u.shape[1]), u)
        if u.shape[1] <= FEW or k < 0 or not at[k] < at[k + 1]:
            return whole
        s = ((t - at[k]) / (at[k + 1] - at[k]))[:, None]
        bend = u - s * known[k + 1]
        bend -= (1 - s) * known[k]
        rows = np.flatnonzero((np.abs(bend) > _LINE * np.abs(u)).any(axis=0))
        return whole if len(rows) > _MOST * u.shape[1] else cls(k, s, rows, bend[:, rows])

    def times(self, K: Array, products: Array) -> Array:
        if self.k is None:
            return self.bend @ K
        out = self.bend @ K[self.rows]
        out += self.share * products[self.k + 1]
        out += (1 - self.share) * products[self.k]
        return out


class PathProducts:
    """``u @ K`` for rows ``u`` of multipliers at ascending values; ``at`` are some of them, ``known`` their rows."""

    def __init__(self, K: Array, at: Array, known: Array) -> None:
        self._K, self._at, self._known = K, at, known
        self._products = known @ K

    def __call__(self, t: Array, u: Array) -> Array:
        """The products at the values ``t``, which no value in ``at`` divides."""
        return _Stretch.of(t, u, self._at, self._known).times(self._K, self._products)


class PathMultipliers:
    """Multipliers at many values, kept as lines and what bends from them."""

    def __init__(self, at: Array, known: Array, parts: Iterable[tuple[Array, Array]]) -> None:
        self._known = known
        self._stretches = [_Stretch.of(t, u, at, known) for t, u in parts]

    def times(self, K: Array) -> Array:
        """Their products with ``K``, a row for each value."""
        products = self._known @ K
        return np.concatenate([one.times(K, products) for one in self._stretches])


def path_products(K: Array, t: Array, u: Array) -> Array:
    """``u @ K`` for rows of multipliers at the ascending values ``t``."""
    if len(t) <= STRETCH or len(K) <= FEW:
        return u @ K
    at = np.append(np.arange(0, len(t), STRETCH), len(t) - 1)
    product = PathProducts(np.ascontiguousarray(K), t[at], u[at])
    return np.concatenate([product(t[k : k + STRETCH], u[k : k + STRETCH]) for k in at[:-1]])
