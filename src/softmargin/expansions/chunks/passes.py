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
from softmargin.expansions.features import Features, LinearScore, ManyTerm, Sums
from softmargin.expansions.kernels import Kernel
from softmargin.expansions.landmarks import LandmarkBasis, LandmarkFeatures
from softmargin.expansions.protocol import Array, Sampled, Term, Totals

__all__ = ["ChunkedFeatures", "ChunkedLandmarks"]


@dataclass(frozen=True)
class Pass:
    """The task of one pass: the totals of a chunk, None where it has no rows."""

    features: Callable[[Chunk], Any]
    coef: Array
    term: Any
    vectors: tuple[ChunkVector | None, ...]

    def __call__(self, chunk: Chunk) -> Any:
        if len(chunk) == 0:
            return None
        parts = [None if vector is None else vector.of(chunk) for vector in self.vectors]
        return self._answer(self.features(chunk), parts)

    def _answer(self, features: Features, parts: list[Any]) -> Any:
        return features.sweep(self.coef, self.term, parts)


@dataclass(frozen=True)
class ManyPass(Pass):
    """The task of a pass with several coefficient vectors at once, the columns of ``coef``."""

    def _answer(self, features: Features, parts: list[Any]) -> Any:
        return features.sweep_many(self.coef, self.term, parts)


def _linear(chunk: Chunk) -> Features:
    return chunk.features


class ChunkedFeatures:
    """Linear features of rows that are somewhere else."""

    is_kernel = is_landmark = is_sparse = is_resident = False
    features: Callable[[Chunk], Any] = staticmethod(_linear)

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

    def sweep_many(self, coef: Array, term: ManyTerm, vectors: Sequence[Any] = ()) -> Sums:
        sums: Sums = self.data.source.total(ManyPass(self.features, coef, term, tuple(vectors)))
        return sums

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
    """From the rows of a chunk to their features."""

    basis: LandmarkBasis

    def __call__(self, chunk: Chunk) -> LandmarkFeatures:
        return LandmarkFeatures(chunk.X, self.basis)


class ChunkedLandmarks(ChunkedFeatures):
    """Kernel landmarks among the rows of the sample; similarities of a chunk are made when a pass comes by."""

    is_landmark = True

    def __init__(self, rows: ChunkedRows, kernel: Kernel, chosen: NDArray[np.intp], error: float | None = None) -> None:
        super().__init__(rows)
        sample, self.error = rows.sample, error
        self.basis, kept = LandmarkBasis.of(kernel, sample.chunk.X[chosen])
        self._rows = sample.rows[chosen[kept]]
        self.features = LandmarkMap(self.basis)
        self.identity = (self._rows, kernel)

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape[0], len(self.basis)

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return self.basis.scorer(coef)

    def support(self, coef: Array) -> NDArray[np.intp]:
        """The rows that prediction needs: all landmarks."""
        return self._rows
