"""Expansions of chunked rows: linear features, and kernel landmarks computed chunk by chunk.

A pass is one task: it makes the vectors' parts from the chunk, lets the features of the chunk answer the pass, and
returns the totals. Only totals travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions.chunks.chunk import Chunk, ChunkVector
from softmargin.expansions.chunks.rows import ChunkedRows
from softmargin.expansions.features import DenseFeatures, LinearScore, SparseFeatures
from softmargin.expansions.kernels import Kernel, KernelScore
from softmargin.expansions.landmarks import NystroemFeatures, draw_landmarks
from softmargin.expansions.protocol import Array, Sampled, Term, Totals

__all__ = ["ChunkedFeatures", "ChunkedLandmarks"]

_MANY_ROWS = 1 << 13  # of a block whose scores under all coefficient vectors stay in cache


@dataclass(frozen=True)
class Pass:
    """The task of one pass: the totals of a chunk, None where it has no rows."""

    features: Callable[[Chunk], DenseFeatures | SparseFeatures]
    coef: Array
    term: Term
    vectors: tuple[ChunkVector | None, ...]

    def __call__(self, chunk: Chunk) -> Totals | None:
        if len(chunk) == 0:
            return None
        parts = [None if vector is None else vector.of(chunk) for vector in self.vectors]
        return self.features(chunk).sweep(self.coef, self.term, parts)


@dataclass(frozen=True)
class Sums:
    """Arrays of one pass that add up, None where the term gave none."""

    parts: tuple[Any, ...]

    def plus(self, other: Sums) -> Sums:
        """The sums of two sets of rows."""
        pairs = zip(self.parts, other.parts, strict=True)
        return Sums(tuple(None if a is None or b is None else a + b for a, b in pairs))


@dataclass(frozen=True)
class ManyPass:
    """The task of a pass with several coefficient vectors at once, the columns of ``coef``.

    ``term(scores, *parts)`` gets the scores (rows, columns) and returns slopes of that shape, or None, and a tuple of
    sums of its own; the answer is ``Phi' slopes``, then those.
    """

    features: Callable[[Chunk], DenseFeatures | SparseFeatures]
    coef: Array
    term: Callable[..., tuple[Array | None, tuple[Any, ...]]]
    vectors: tuple[ChunkVector | None, ...]

    def __call__(self, chunk: Chunk) -> Sums | None:
        if len(chunk) == 0:
            return None
        total: Sums | None = None
        Z, parts = self.features(chunk).rows(), [None if one is None else one.of(chunk) for one in self.vectors]
        for first in range(0, len(chunk), _MANY_ROWS):
            rows = slice(first, first + _MANY_ROWS)
            block = Z[rows]
            scores = np.asarray(block @ self.coef.astype(Z.dtype, copy=False), dtype=np.float64)
            slopes, sums = self.term(scores, *(None if part is None else part[rows] for part in parts))
            gradient = None if slopes is None else np.asarray(block.T @ slopes.astype(Z.dtype, copy=False), dtype=float)
            here = Sums((gradient, *sums))
            total = here if total is None else total.plus(here)
        return total


def _linear(chunk: Chunk) -> DenseFeatures | SparseFeatures:
    return chunk.features


class ChunkedFeatures:
    """Linear features of rows that are somewhere else."""

    is_kernel = is_sparse = is_resident = False
    features: Callable[[Chunk], DenseFeatures | SparseFeatures] = staticmethod(_linear)

    def __init__(self, rows: ChunkedRows) -> None:
        self.data = rows
        self.identity: tuple[Any, ...] = ()  # what tells these features of the rows from others
        self.point: tuple[Array, float] | None = None  # where a fit is

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def decodes(self) -> bool:
        """Whether a pass costs much more than the products it makes."""
        return self.data.source.decodes

    def sweep(self, coef: Array, term: Term, vectors: Sequence[Any] = ()) -> Totals:
        totals: Totals = self.data.source.total(Pass(self.features, coef, term, tuple(vectors)))
        return totals

    def sweep_many(self, coef: Array, term: Any, vectors: Sequence[Any] = ()) -> tuple[Any, ...]:
        """One pass with several coefficient vectors, the columns of ``coef``; see :class:`ManyPass`."""
        sums: Sums = self.data.source.total(ManyPass(self.features, coef, term, tuple(vectors)))
        return sums.parts

    def sample(self, vectors: Sequence[Any] = ()) -> Sampled:
        """Some rows in memory, with the same rows of every vector and how many rows each stands for."""
        sample = self.data.glimpse
        parts = [None if vector is None else vector.of(sample.chunk) for vector in vectors]
        return Sampled(self.features(sample.chunk), parts, sample.times)

    def quadratic(self, coef: Array) -> float:
        return float(coef @ coef)

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return LinearScore(coef)

    def support(self, coef: Array) -> NDArray[np.intp] | None:
        return None


@dataclass(frozen=True)
class LandmarkMap:
    """From the rows of a chunk to their features, ``k(x, landmarks) basis``."""

    kernel: Kernel
    landmarks: Any
    basis: Array

    def __call__(self, chunk: Chunk) -> DenseFeatures:
        between = self.kernel(chunk.X, self.landmarks)
        return DenseFeatures(between @ self.basis.astype(between.dtype, copy=False))


class ChunkedLandmarks(ChunkedFeatures):
    """Kernel landmarks drawn from the sample; features of a chunk are made when a pass comes by."""

    def __init__(self, rows: ChunkedRows, kernel: Kernel, n_components: int, random_state: Any) -> None:
        super().__init__(rows)
        sample = rows.sample
        chosen = draw_landmarks(sample.chunk.X, kernel, n_components, random_state)
        few = NystroemFeatures(sample.chunk.X[chosen], kernel, np.arange(len(chosen)))
        self._rows = sample.rows[chosen]
        self._map = LandmarkMap(kernel, few.landmarks, few.basis)
        self.features = self._map
        self.identity = (self._rows, kernel)

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape[0], self._map.basis.shape[1]

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return KernelScore(self._map.kernel, self._map.landmarks, self._map.basis.astype(coef.dtype) @ coef)

    def support(self, coef: Array) -> NDArray[np.intp]:
        """The rows that prediction needs: all landmarks."""
        return self._rows
