"""The Gaussian kernel ``exp(-gamma |x - z|^2)``; for dense rows one matrix product and one fused exponential.

``|x - z|^2 = |x|^2 + |z|^2 - 2 x'z`` loses digits when the rows are far from the origin, so both sides are first
centred at the mean of the reference rows ``z``, which changes no distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import euclidean_distances

from softmargin._compiled.boxqp import gauss_rows
from softmargin.expansions.kernels.function import KernelFunction, register

__all__ = ["SINGLE_GAMMA", "Gaussian", "ReferenceRows"]

Array = NDArray[np.floating[Any]]

SINGLE_GAMMA = (1e-12, 1e12)  # units of the features whose squares float32 can hold
_ROUNDED = 1e8  # gamma |z|^2 beyond which sums of squares leave distances less than eight digits
_SINGLE_LIMIT = 1e3  # gamma |z|^2 beyond which float32 products are too coarse


@register("rbf")
@dataclass(frozen=True)
class Gaussian(KernelFunction):
    """``exp(-gamma |x - z|^2)``."""

    gamma: float
    is_stationary: ClassVar[bool] = True

    def __call__(self, A: Any, B: Any) -> Array:
        if sparse.issparse(A) or sparse.issparse(B):
            if self.gamma * max(_largest_square(part) for part in (A, B)) > _ROUNDED:
                A, B = (part.toarray() if sparse.issparse(part) else np.asarray(part) for part in (A, B))
                return self(A, B)
            K = euclidean_distances(A, B, squared=True)
            K *= -self.gamma
            return np.asarray(np.exp(K, out=K))
        reference = ReferenceRows(np.asarray(B), self.gamma, np.result_type(A, B))
        return reference.matrix() if A is B else reference(np.asarray(A))

    def to(self, rows: Any, dtype: Any) -> Callable[[Any], Array]:
        return super().to(rows, dtype) if sparse.issparse(rows) else ReferenceRows(rows, self.gamma, dtype)

    def among(self, rows: Any, dtype: Any) -> Callable[[NDArray[np.int64]], Array]:
        return super().among(rows, dtype) if sparse.issparse(rows) else ReferenceRows(rows, self.gamma, dtype).among


def _largest_square(rows: Any) -> float:
    """The largest squared length of a row."""
    squares = rows.multiply(rows).sum(axis=1) if sparse.issparse(rows) else np.square(rows).sum(axis=1)
    return float(np.max(np.asarray(squares), initial=0.0))


class ReferenceRows:
    """The kernel between new rows and fixed reference rows, which are prepared once."""

    def __init__(self, rows: Array, gamma: float, dtype: Any = None) -> None:
        self.dtype = np.dtype(dtype if dtype is not None else rows.dtype)
        self.gamma = gamma
        self.centre = rows.mean(axis=0, dtype=np.float64) if len(rows) else np.zeros(rows.shape[1])
        shifted = rows - self.centre
        squares = -gamma * np.einsum("ij,ij->i", shifted, shifted)
        beyond = np.min(squares, initial=0.0) < -_SINGLE_LIMIT or not SINGLE_GAMMA[0] < gamma < SINGLE_GAMMA[1]
        coarse = self.dtype == np.float32 and beyond
        self.working = np.dtype(np.float64) if coarse else self.dtype
        self.rows = np.ascontiguousarray(shifted, dtype=self.working)
        self.squares = squares.astype(self.working)

    def __call__(self, A: Array) -> Array:
        """Similarities of the rows of ``A`` to the reference rows."""
        shifted = np.ascontiguousarray(A - self.centre, dtype=self.working)
        squares = (-self.gamma * np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64)).astype(self.working)
        return self._similarities(shifted, squares)

    def among(self, at: NDArray[np.int64]) -> Array:
        """Similarities of some reference rows to all of them, one exactly with themselves."""
        K = self._similarities(self.rows[at], self.squares[at])
        K[np.arange(len(at)), at] = 1.0
        return K

    def matrix(self) -> Array:
        """The symmetric matrix of all reference rows."""
        K = self._similarities(self.rows, self.squares)
        np.fill_diagonal(K, 1.0)
        return K

    def _similarities(self, shifted: Array, squares: Array) -> Array:
        least = min(float(np.min(part, initial=0.0)) for part in (squares, self.squares))
        if not least >= -_ROUNDED:  # or it overflows
            return self._far_apart(shifted)
        K = shifted @ self.rows.T
        if K.size:
            gauss_rows(K, self.gamma, squares, self.squares)
        return K.astype(self.dtype, copy=False)

    def _far_apart(self, shifted: Array) -> Array:
        """The same for rows whose squares overflow, or lose the digits of what is near: by differences.

        They are in units of the largest number.
        """
        unit = max(float(np.abs(part).max(initial=0.0)) for part in (shifted, self.rows))
        distances = cdist(shifted.astype(np.float64) / unit, self.rows.astype(np.float64) / unit, "sqeuclidean")
        with np.errstate(over="ignore", invalid="ignore"):
            K = np.where(distances > 0, np.exp(-distances * np.square(unit * np.sqrt(self.gamma))), 1.0)
        return K.astype(self.dtype, copy=False)
