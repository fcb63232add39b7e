"""What a solver may ask of an expansion ``f = Phi beta`` (the intercept is the solver's own).

Vectors go in and come out in float64; the products with ``Phi`` run in the precision of the data, so float32 data
are never copied. ``ridge`` penalties measure ``beta`` by ``quadratic``: the plain sum of squares for features, the
reproducing-kernel norm for kernel columns (``is_kernel`` says which).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Expansion", "Response", "row_blocks"]

Array = NDArray[np.floating[Any]]
Response = Callable[[slice, Array], Array]  # from some rows and their scores to a number for each

_BLOCK_BYTES = 1 << 21  # a block and its scaled copy stay in the second-level cache


class Expansion(Protocol):
    """Training rows seen through a basis; ``shape`` is (n_samples, n_coef)."""

    is_kernel: bool
    is_sparse: bool

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the products with ``Phi``."""
        ...

    def apply(self, coef: Array) -> Array:
        """``Phi coef``: the scores of the training rows without intercept."""
        ...

    def transpose(self, r: Array) -> Array:
        """``Phi' r``."""
        ...

    def sweep(self, coef: Array, respond: Response) -> tuple[Array, float]:
        """``Phi' r`` and ``1' r`` for the responses ``r`` to the scores ``Phi coef``, reading dense features once."""
        ...

    def gram(self, weights: Array) -> Array:
        """``Phi' diag(weights) Phi`` for nonnegative weights; rows of zero weight cost nothing."""
        ...

    def moments(self, weights: Array) -> tuple[Array, Array]:
        """``Phi' diag(weights) Phi`` and ``Phi' weights`` in one pass over the data."""
        ...

    def outer(self) -> Array:
        """``Phi Phi'`` for features, the Gram matrix itself for kernel columns: the inner products of the rows."""
        ...

    def squared_norms(self, weights: Array | None = None) -> Array:
        """``sum_i weights_i Phi_ij^2`` of each column."""
        ...

    def take(self, rows: NDArray[np.intp]) -> Expansion:
        """The same functions on a subset of the training rows (kernel columns: of rows and columns)."""
        ...

    def quadratic(self, coef: Array) -> float:
        """``|coef|^2`` for features, ``coef' K coef`` for kernel columns."""
        ...

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        """A small picklable function from new rows to their scores without intercept."""
        ...


def row_blocks(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Consecutive slices of rows whose data fit in cache."""
    step = max(64, _BLOCK_BYTES // max(row_bytes, 1))
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))
