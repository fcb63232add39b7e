"""Sparse features: ``f = X beta`` with ``X`` in CSR or CSC format; the other order is made once, when first needed."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin._compiled.sparse_rows import bent_product, gram, has_repeats, squared_norms
from softmargin.expansions.features.base import Features, precise
from softmargin.expansions.memory import require_square
from softmargin.expansions.protocol import Array, Rows

__all__ = ["SparseFeatures", "canonical_sparse", "with_rows"]

_SAMPLE, _FAR = 16, 10.0  # rows looked at, and lengths of the rest of a row that a constant column must exceed
_MOST_INDEX = np.iinfo(np.int32).max


def canonical_sparse(X: Any) -> Any:
    """A CSR or CSC matrix with each entry stored once under 32-bit indices; anything else as it is.

    Squares of the stored values are squares of the entries only then, and the matrix given is never written to:
    SciPy would tidy it up in place at the first question that needs it.
    """
    if not sparse.issparse(X) or X.format not in ("csr", "csc"):
        return X
    if max(X.nnz, *X.shape) > _MOST_INDEX:
        raise ValueError(
            f"X is sparse with {X.nnz} stored values in shape {X.shape}; at most {_MOST_INDEX} can be indexed. "
            "Fit a sample of the rows, or fewer columns."
        )
    if X.indices.dtype != np.int32 or X.indptr.dtype != np.int32:
        X = type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X if _is_plain(X) else _summed(X)


def with_rows(X: Any) -> Any:
    """``X`` so that some of its rows can be taken: sparse forms that cannot be indexed become CSR."""
    return canonical_sparse(X.tocsr()) if sparse.issparse(X) and X.format in ("bsr", "coo", "dia") else X


def _is_plain(X: Any) -> bool:
    """Whether each entry is stored once: rows that only lack an order, as texts become, are not sorted for nothing."""
    if X.format == "csr" and not X.has_sorted_indices:
        return not has_repeats(X.indices, X.indptr, X.shape[1])
    return bool(X.has_canonical_format)


def _summed(X: Any) -> Any:
    X = X.copy()
    X.sum_duplicates()
    return X


class SparseFeatures(Features):
    """A CSR or CSC matrix of features."""

    is_sparse = True

    def __init__(self, X: Any) -> None:
        if not sparse.issparse(X) or X.format not in ("csr", "csc"):
            raise ValueError("SparseFeatures needs a scipy sparse matrix in CSR or CSC format.")
        self._X = precise(X)
        self._other: Any = None
        self._turned: Any = None

    @property
    def shape(self) -> tuple[int, int]:
        return self._X.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._X.dtype

    @property
    def n_stored(self) -> int:
        return int(self._X.nnz)

    @property
    def _by_row(self) -> Any:
        return self._X if self._X.format == "csr" else self._converted()

    @property
    def _by_column(self) -> Any:
        return self._X if self._X.format == "csc" else self._converted()

    def _converted(self) -> Any:
        if self._other is None:
            self._other = self._X.tocsc() if self._X.format == "csr" else self._X.tocsr()
        return self._other

    def apply(self, coef: Array) -> Array:
        return np.asarray(self._X @ coef.astype(self.dtype, copy=False)).astype(np.float64, copy=False)

    def transpose(self, r: Array) -> Array:
        if self._turned is None:  # making this view costs as much as a product with a small matrix
            self._turned = self._X.T
        return np.asarray(self._turned @ r.astype(self.dtype, copy=False)).astype(np.float64, copy=False)

    def bent(self, weights: Array, coef: Array, shift: float) -> tuple[Array, Array, float]:
        return bent_product(*self._entries, weights, coef, shift)

    def gram(self, weights: Array) -> Array:
        if not self._by_row.has_sorted_indices:
            self._replace_rows(_summed(self._by_row))
        return gram(*self._entries, np.ascontiguousarray(weights, dtype=np.float64), self.shape[1])

    def squared_norms(self, weights: Array | None = None) -> Array:
        scale = np.ones(self.shape[0]) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        return squared_norms(*self._entries, scale, self.shape[1])

    @cached_property
    def _entries(self) -> tuple[Any, Any, Any]:
        """Entries, columns and row starts for compiled loops: without repeats, 32-bit indices."""
        rows = canonical_sparse(self._by_row)
        if rows is not self._by_row:
            self._replace_rows(rows)
        data = rows.data if rows.data.dtype in (np.float32, np.float64) else rows.data.astype(np.float64)
        return data, rows.indices, rows.indptr

    def _replace_rows(self, rows: Any) -> None:
        """Keep the rows in a better form of the same matrix."""
        self.__dict__.pop("_entries", None)
        if self._X.format == "csr":
            self._X, self._turned = rows, None
        else:
            self._other = rows

    def outer(self) -> Array:
        require_square(self.shape[0])
        precise = self._by_row.astype(np.float64, copy=False)
        return (precise @ precise.T).toarray()

    def diagonal(self) -> Array:
        return np.asarray(self._X.multiply(self._X).sum(axis=1), dtype=np.float64).ravel()

    def rows(self, at: Rows = slice(None)) -> Any:
        whole = isinstance(at, slice) and at == slice(None)
        return self._by_row if whole else self._by_row[at]

    def columns(self, at: NDArray[np.intp]) -> Any:
        return self._by_column if len(at) == self.shape[1] else self._by_column[:, at]

    def take(self, rows: NDArray[np.intp]) -> SparseFeatures:
        return SparseFeatures(self._by_row[rows])

    def select(self, columns: NDArray[np.intp]) -> SparseFeatures:
        return SparseFeatures(self._by_column[:, columns])

    def centered(self) -> tuple[SparseFeatures, Array] | None:
        """A copy without the constant columns beside which the rest of a row is small: others cannot be shifted."""
        first, some = self._by_row[[0]], self._by_row[:_SAMPLE]
        lengths = np.asarray(some.multiply(some).sum(axis=1), dtype=np.float64).ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.square(first.data.astype(np.float64))
            rest = np.maximum(float(np.median(lengths)) - squares, 0.0)
        means = np.zeros(self.shape[1])
        for j, value in zip(first.indices[squares > _FAR**2 * rest], first.data[squares > _FAR**2 * rest], strict=True):
            column = self._by_column[:, [j]]
            if column.nnz == self.shape[0] and np.all(column.data == value):
                means[j] = value
        if not means.any():
            return None
        kept = sparse.diags_array((means == 0).astype(self.dtype))
        rows = sparse.csr_array(self._by_row @ kept)
        rows.eliminate_zeros()
        return SparseFeatures(rows), means
