"""Linear features: ``f = X beta`` with ``X`` dense (row or column order) or sparse (CSR or CSC), never copied whole.

``X' diag(w) X`` is accumulated over blocks of rows that stay in cache, each scaled by ``sqrt(w)`` so that BLAS computes
one triangle only; rows of zero weight are left out, which is what makes Newton steps cheap for losses that are flat
beyond a margin.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.protocol import Array, Response, row_blocks

__all__ = ["DenseFeatures", "LinearScore", "SparseFeatures"]

_GRAM_BYTES = 1 << 25


@dataclass(frozen=True)
class LinearScore:
    """``x' coef`` for dense or sparse rows; ``coef`` may have a column for each of several functions."""

    coef: Array

    def __call__(self, X: Any) -> Array:
        return np.asarray(X @ self.coef.astype(X.dtype, copy=False))


class _Features:
    """What dense and sparse columns share: coefficients live in the plain Euclidean geometry."""

    is_kernel = False
    is_sparse = False
    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.X.dtype

    def apply(self, coef: Array) -> Array:
        return np.asarray(self.X @ coef.astype(self.dtype, copy=False)).astype(np.float64, copy=False)

    def transpose(self, r: Array) -> Array:
        return np.asarray(self.X.T @ r.astype(self.dtype, copy=False)).astype(np.float64, copy=False)

    def sweep(self, coef: Array, respond: Response) -> tuple[Array, float]:
        r = respond(slice(0, self.shape[0]), self.apply(coef))
        return self.transpose(r), float(r.sum())

    def quadratic(self, coef: Array) -> float:
        return float(coef @ coef)

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return LinearScore(coef)


class DenseFeatures(_Features):
    """A dense matrix of features, used in place."""

    def __init__(self, X: Any) -> None:
        self.X = np.asarray(X)
        if self.X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got {self.X.ndim}.")

    def sweep(self, coef: Array, respond: Response) -> tuple[Array, float]:
        n, p = self.shape
        image, total = np.zeros(p), 0.0
        coef = coef.astype(self.dtype, copy=False)
        for rows in row_blocks(n, 2 * p * self.X.itemsize):
            block = self.X[rows]
            r = respond(rows, (block @ coef).astype(np.float64, copy=False))
            image += block.T @ r.astype(self.dtype, copy=False)
            total += float(r.sum())
        return image, total

    def gram(self, weights: Array) -> Array:
        return self.moments(weights)[0]

    def moments(self, weights: Array) -> tuple[Array, Array]:
        n, p = self.shape
        second, first = np.zeros((p, p)), np.zeros(p)
        roots = np.sqrt(weights).astype(self.dtype, copy=False)
        for rows in row_blocks(n, p * self.X.itemsize):
            block, root = self.X[rows], roots[rows]
            used = np.flatnonzero(root)
            if len(used) < len(root):
                block, root = block[used], root[used]
            scaled = block * root[:, None]
            second += scaled.T @ scaled
            first += scaled.T @ root
        return second, first

    def outer(self) -> Array:
        n, p = self.shape
        total = np.zeros((n, n))
        step = max(1, _GRAM_BYTES // max(n * self.X.itemsize, 1))
        for first in range(0, p, step):
            block = self.X[:, first : first + step]
            total += block @ block.T
        return total

    def squared_norms(self, weights: Array | None = None) -> Array:
        if weights is None:
            return np.einsum("ij,ij->j", self.X, self.X).astype(np.float64, copy=False)
        total = np.zeros(self.shape[1])
        for rows in row_blocks(self.shape[0], self.shape[1] * self.X.itemsize):
            total += weights[rows] @ np.square(self.X[rows])
        return total

    def take(self, rows: NDArray[np.intp]) -> DenseFeatures:
        return DenseFeatures(self.X[rows])


class SparseFeatures(_Features):
    """A CSR or CSC matrix of features; the other order is made once, when an operation needs it."""

    is_sparse = True

    def __init__(self, X: Any) -> None:
        if not sparse.issparse(X) or X.format not in ("csr", "csc"):
            raise ValueError("SparseFeatures needs a scipy sparse matrix in CSR or CSC format.")
        self.X = X
        self._other: Any = None

    @property
    def by_row(self) -> Any:
        return self.X if self.X.format == "csr" else self._converted()

    @property
    def by_column(self) -> Any:
        return self.X if self.X.format == "csc" else self._converted()

    def _converted(self) -> Any:
        if self._other is None:
            self._other = self.X.tocsc() if self.X.format == "csr" else self.X.tocsr()
        return self._other

    def gram(self, weights: Array) -> Array:
        used = np.flatnonzero(weights)
        rows = self.by_row if len(used) == len(weights) else self.by_row[used]
        scaled = rows.multiply(np.sqrt(weights[used])[:, None].astype(self.dtype, copy=False)).tocsr()
        return (scaled.T @ scaled).toarray().astype(np.float64, copy=False)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        return self.gram(weights), self.transpose(weights)

    def outer(self) -> Array:
        return (self.by_row @ self.by_row.T).toarray().astype(np.float64, copy=False)

    def squared_norms(self, weights: Array | None = None) -> Array:
        squares = self.X.multiply(self.X)
        scale = np.ones(self.shape[0]) if weights is None else weights
        return np.asarray(squares.T @ scale).astype(np.float64, copy=False)

    def take(self, rows: NDArray[np.intp]) -> SparseFeatures:
        return SparseFeatures(self.by_row[rows])
