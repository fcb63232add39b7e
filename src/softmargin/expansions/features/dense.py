"""Dense features: ``f = X beta`` with ``X`` in row or column order, used in place.

``X' diag(w) X`` is accumulated over blocks of rows that stay in cache, each scaled by ``sqrt(w)`` so that BLAS computes
one triangle only; rows of zero weight are left out, which is what makes Newton steps cheap for losses that are flat
beyond a margin.

Of a large table in single precision Hessians are as precise as its numbers; scores and gradients, which certificates
are made of, are computed in double precision, block by block, at half as much again as in single precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions.features.base import Features, parts_of, precise, totals_of
from softmargin.expansions.memory import require_square
from softmargin.expansions.protocol import Array, Rows, Term, Totals, row_blocks

__all__ = ["DenseFeatures"]

_SAMPLE = 128  # rows that tell whether a column's mean is huge beside its spread
_FAR = 100.0  # spreads from zero: squares of such columns lose four digits of their differences
_GRAM_BYTES = 1 << 25  # columns multiplied at once by outer(), in float64: float32 ones are copied


class DenseFeatures(Features):
    """A dense matrix of features, used in place unless it is small and in single precision."""

    def __init__(self, X: Any) -> None:
        self._X = precise(np.asarray(X))
        if self._X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got {self._X.ndim}.")

    @property
    def shape(self) -> tuple[int, int]:
        return self._X.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._X.dtype

    def apply(self, coef: Array) -> Array:
        if self.dtype == np.float64:
            return self._X @ coef
        scores = np.empty((self.shape[0], *coef.shape[1:]))
        for rows, block in self._precise_blocks():
            scores[rows] = block @ coef
        return scores

    def transpose(self, r: Array) -> Array:
        if self.dtype == np.float64:
            return self._X.T @ r
        total = np.zeros((self.shape[1], *r.shape[1:]))
        for rows, block in self._precise_blocks():
            total += block.T @ r[rows]
        return total

    def _precise_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows in double precision, small enough that the copies stay in cache."""
        for rows in row_blocks(self.shape[0], 16 * self.shape[1]):
            yield rows, self._X[rows].astype(np.float64, copy=False)

    def sweep(self, coef: Array, term: Term, vectors: Sequence[Any] = ()) -> Totals:
        done = Totals(np.zeros(self.shape[1]), 0.0, 0.0)
        for rows, block in self._precise_blocks():
            response = term(block @ coef, *parts_of(vectors, rows))
            moments = None if response.curvature is None else _moments(self._X[rows], response.curvature)
            here = totals_of(response, block.T @ response.slope, moments)
            done = done.plus(here) if rows.start else here
        return done

    def gram(self, weights: Array) -> Array:
        return self.moments(weights)[0]

    def moments(self, weights: Array) -> tuple[Array, Array]:
        n, p = self.shape
        second, first = np.zeros((p, p)), np.zeros(p)
        # single precision has no room for the weights of an interior point, which reach 1e40
        unit = float(np.abs(weights).max(initial=0.0)) if self._X.itemsize < 8 else 1.0
        weights = weights / unit if unit not in (0.0, 1.0) else weights
        for rows in row_blocks(n, p * self._X.itemsize, p):  # of fewer rows than columns, sums cost more than products
            more = _moments(self._X[rows], weights[rows])
            second += more[0]
            first += more[1]
        return unit * second, unit * first

    def squared_norms(self, weights: Array | None = None) -> Array:
        if weights is None:
            return np.einsum("ij,ij->j", self._X, self._X).astype(np.float64, copy=False)
        total = np.zeros(self.shape[1])
        for rows in row_blocks(self.shape[0], self.shape[1] * self._X.itemsize):
            total += weights[rows] @ np.square(self._X[rows])
        return total

    def outer(self) -> Array:
        n, p = self.shape
        require_square(n)
        total = np.zeros((n, n))
        step = max(1, _GRAM_BYTES // max(8 * n, 1))
        for first in range(0, p, step):
            block = self._X[:, first : first + step].astype(np.float64, copy=False)
            total += block @ block.T
        return total

    def diagonal(self) -> Array:
        return np.einsum("ij,ij->i", self._X, self._X, dtype=np.float64)

    def rows(self, at: Rows = slice(None)) -> Any:
        return self._X[at]

    def columns(self, at: NDArray[np.intp]) -> Any:
        return np.asfortranarray(self._X if len(at) == self.shape[1] else self._X[:, at])

    def take(self, rows: NDArray[np.intp]) -> DenseFeatures:
        return DenseFeatures(self._X[rows])

    def centered(self) -> tuple[DenseFeatures, Array] | None:
        """A shifted copy where the mean of a column, seen in a sample of rows, is huge beside its spread.

        Sums of squares of such columns lose their differences once ``(mean / spread)^2`` nears the precision: four
        digits lost, of single precision half of them, are where a copy is cheaper than the steps lost.
        """
        few = self._X[:: max(1, self.shape[0] // _SAMPLE)].astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            sample_means = few.sum(axis=0) / len(few)
            apart = few - sample_means
            spread = np.sqrt(np.einsum("ij,ij->j", apart, apart) / len(few))
            limit = min(np.finfo(self.dtype).eps ** -0.25, _FAR)
            if not (np.abs(sample_means) > limit * spread).any():
                return None
            typical = float(np.median(spread[spread > 0])) if np.any(spread > 0) else 0.0
            far = np.abs(sample_means) > limit * np.maximum(spread, typical)
        if not np.any(far):
            return None
        means = np.where(far, self._X.mean(axis=0, dtype=np.float64), 0.0)
        return DenseFeatures((self._X - means).astype(self.dtype, copy=False)), means

    def select(self, columns: NDArray[np.intp]) -> DenseFeatures:
        return DenseFeatures(self._X[:, columns])


def _moments(block: Array, weights: Array) -> tuple[Array, Array]:
    """``B' diag(w) B`` and ``B'w`` of a block of rows, in its precision; weights of any sign."""
    if len(weights) and weights.min() < 0:
        scaled = block * weights.astype(block.dtype, copy=False)[:, None]
        return block.T @ scaled, scaled.sum(axis=0)
    root = np.sqrt(weights).astype(block.dtype, copy=False)
    used = np.flatnonzero(root)
    if len(used) < len(root):
        block, root = block[used], root[used]
    scaled = block * root[:, None]
    return scaled.T @ scaled, scaled.T @ root
