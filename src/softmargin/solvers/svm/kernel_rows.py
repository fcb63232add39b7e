"""Rows of a kernel matrix, computed when first asked for and kept while memory lasts.

Solvers touch few rows of a large kernel matrix and touch those often. ``GramRows`` answers blocks ``K[at][:, at]`` and
products ``K[:, at] w`` from a store of rows: the whole matrix when it is given or fits the budget, otherwise the most
recently used rows. Rows may be stored in float32; every sum is made in float64. ``FeatureRows`` answers the same for
the matrix ``XX'`` of linear features, which is never formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.boxqp import Block, add_rows, gather
from softmargin.expansions import Expansion

__all__ = ["FeatureRows", "GramRows"]

Array = NDArray[np.floating[Any]]
BUDGET = 2 * 2**30  # bytes of kernel rows kept
ROUNDING = 4 * float(np.finfo(np.float64).eps)  # of the largest summand, in a sum over rows


class GramRows:
    """A symmetric matrix by rows; ``fetch(indices)`` computes rows that are not in the store."""

    lengths: Array | None = None  # square roots of the diagonal, where it is known
    dimension = math.inf  # of the functions, where no more is known than the size

    def __init__(
        self, n: int, fetch: Callable[[NDArray[np.int64]], Any], *, dtype: Any = np.float64, budget: int = BUDGET
    ) -> None:
        self.n = n
        self._fetch: Callable[[NDArray[np.int64]], Any] | None = fetch
        capacity = min(n, max(1024, int(budget // (n * np.dtype(dtype).itemsize))))
        self._store = np.empty((capacity, n), dtype=dtype)
        self._slot = np.full(n, -1, dtype=np.int64)
        self._row = np.full(capacity, -1, dtype=np.int64)
        self._used = np.arange(-capacity, 0)
        self._clock = 0

    @classmethod
    def of(cls, K: NDArray[Any]) -> GramRows:
        """All rows of a matrix at hand."""
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"K must be a square matrix; got shape {K.shape}.")
        rows = cls.__new__(cls)
        dtype = np.float32 if K.dtype == np.float32 else np.float64
        rows.n, rows._fetch, rows._store = len(K), None, np.ascontiguousarray(K, dtype=dtype)
        return rows

    @classmethod
    def of_kernel(cls, expansion: Expansion, dtype: Any, *, whole: bool = False) -> GramRows:
        """The rows of an expansion's inner products: all where asked for or at hand, else on demand."""
        if whole or expansion.has_outer:
            return cls.of(expansion.outer().astype(dtype, copy=False))
        return cls(expansion.shape[0], expansion.outer_rows(dtype), dtype=dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the rows."""
        return self._store.dtype

    @property
    def whole(self) -> Array | None:
        """The matrix itself where it is at hand in float64."""
        return self._store if self._fetch is None and self._store.dtype == np.float64 else None

    def noise(self, u: Array) -> float:
        """What rounding may leave in a product with ``u``: 0 where the lengths of the rows are not known."""
        if self.lengths is None and self._fetch is None:
            self.lengths = np.sqrt(np.maximum(np.diagonal(self._store), 0.0))
        return 0.0 if self.lengths is None else _noise(self.lengths, u)

    def block(self, at: NDArray[np.int64]) -> Array:
        """``K[at][:, at]`` in float64."""
        at = np.ascontiguousarray(at, dtype=np.int64)
        parts = [gather(self._store, slots, at) for _, slots in self._present(at)]
        return parts[0] if len(parts) == 1 else np.vstack([np.empty((0, len(at))), *parts])

    def local(self, at: NDArray[np.int64], diagonal: Array | None = None) -> Block:
        """``K[at][:, at]``, plus a ``diagonal``, whose rows are copied when a step first asks for them.

        The store has room for them all: it holds no fewer rows than any working set.
        """
        at = np.ascontiguousarray(at, dtype=np.int64)
        extra = np.zeros(len(at)) if diagonal is None else diagonal
        return Block(self._store, at if self._fetch is None else self._slots(at), at, extra)

    def add(self, at: NDArray[np.int64], weight: Array, out: Array) -> None:
        """``out += K[:, at] @ weight``."""
        at = np.ascontiguousarray(at, dtype=np.int64)
        for part, slots in self._present(at):
            add_rows(self._store, slots, np.ascontiguousarray(weight[part]), out)

    def _present(self, at: NDArray[np.int64]) -> Any:
        """Pieces of ``at`` small enough for the store, each with the slots its rows are in."""
        if self._fetch is None:
            yield slice(None), at
            return
        size = len(self._store)
        for begin in range(0, len(at), size):
            part = slice(begin, begin + size)
            yield part, self._slots(at[part])

    def _slots(self, at: NDArray[np.int64]) -> NDArray[np.int64]:
        assert self._fetch is not None
        held = self._slot[at]
        self._stamp(held[held >= 0])
        missing = at[held < 0]
        if len(missing):
            oldest = np.argpartition(self._used, len(missing) - 1)[: len(missing)]
            evicted = self._row[oldest]
            self._slot[evicted[evicted >= 0]] = -1
            self._store[oldest] = self._fetch(missing)
            self._slot[missing], self._row[oldest] = oldest, missing
            self._stamp(oldest)
        return self._slot[at]

    def _stamp(self, slots: NDArray[np.int64]) -> None:
        """Note their use, each at a time of its own: a partition of equal numbers takes ten times as long."""
        self._used[slots] = np.arange(self._clock, self._clock + len(slots))
        self._clock += len(slots)


class FeatureRows:
    """The matrix ``Phi Phi'`` of features, by products with ``Phi``."""

    whole = None

    def __init__(self, features: Expansion) -> None:
        self.n, self.dimension = features.shape
        self._features = features

    def noise(self, u: Array) -> float:
        """What rounding may leave in a product with ``u``."""
        return _noise(self._lengths, u)

    @cached_property
    def _lengths(self) -> Array:
        return np.sqrt(self._features.diagonal())

    def block(self, at: NDArray[np.int64]) -> Array:
        """``K[at][:, at]`` in float64."""
        return np.ascontiguousarray(self._features.take(at).outer(), dtype=np.float64)

    def local(self, at: NDArray[np.int64]) -> Block:
        """The same as pair steps read it."""
        return Block.of(self.block(at))

    def add(self, at: NDArray[np.int64], weight: Array, out: Array) -> None:
        """``out += K[:, at] @ weight``."""
        spread = np.zeros(self.n)
        spread[at] = weight
        out += self._features.apply(self._features.transpose(spread))


def _noise(lengths: Array, u: Array) -> float:
    """Products of rows are at most products of their lengths, and so are the roundings of their sums."""
    return ROUNDING * float(lengths.max(initial=0.0)) * float(np.abs(u) @ lengths)
