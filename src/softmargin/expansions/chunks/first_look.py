"""The first look at chunked rows: how many there are, how often each class occurs, and a sample to start from.

The sample is stratified within each chunk: every class of a chunk gives its share of the rows, but a few at least, and
each row drawn says how many rows it stands for. A fit of the sample is the fit of all rows up to ``sqrt(p / m)``, which
is where passes over all rows begin; landmarks and kernel widths are drawn from it too.

Where a source knows its rows and classes beforehand (:class:`Census`) and can show a few rows without a pass, fits
begin there, and no look is made unless something asks for a sample of every part of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.chunks.chunk import Chunk, check_finite
from softmargin.expansions.chunks.given import one_label_type
from softmargin.expansions.protocol import Array

__all__ = ["Census", "FirstLook", "Look", "Sample", "sample_rows", "stratified"]

_ROWS, _BYTES = 1 << 16, 1 << 27  # of a sample
_COPIES = 4  # of a sample, while it is read and fitted
_PER_CHUNK = 2000  # rows of a chunk where nobody knows how many chunks there are
_FEW = 20  # rows of a class in a chunk that are drawn in any case
_FIRST_ROWS = 1000  # that show every class of most chunks
_GLIMPSE_ROWS, _GLIMPSE_SHARE = 1 << 17, 1 / 16  # at most, and of all rows: its fit then takes a small part of a pass


@dataclass(frozen=True)
class Sample:
    """Some rows in memory; row ``rows[i]`` of the source stands for ``times[i]`` rows."""

    chunk: Chunk
    rows: NDArray[np.int64]
    times: Array


@dataclass(frozen=True)
class Census:
    """How many rows there are, how chunks write each class, and the weight of its rows."""

    n_rows: int
    values: NDArray[Any]
    weights: Array


@dataclass(frozen=True)
class Look(Census):
    """What one chunk, or all of them, look like: their census, and the sample."""

    sample: Sample | None

    @classmethod
    def merged(cls, looks: Sequence[Look]) -> Look:
        """The look of all chunks together, given in the order of the rows; row numbers begin at zero."""
        seen = [look for look in looks if look.sample is not None]
        if not seen:
            raise ValueError("There are no rows: every chunk is empty.")
        samples = [look.sample for look in seen if look.sample is not None]
        chunk = _joined([one.chunk for one in samples])
        values, place = np.unique(one_label_type([look.values for look in seen]), return_inverse=True)
        weights = np.bincount(place, weights=np.concatenate([look.weights for look in seen])).astype(float)
        starts = np.cumsum([0, *(look.n_rows for look in seen)])
        rows = np.concatenate([one.rows + start for one, start in zip(samples, starts, strict=False)])
        return cls(int(starts[-1]), values, weights, Sample(chunk, rows, np.concatenate([s.times for s in samples])))


@dataclass(frozen=True)
class FirstLook:
    """The task that looks at one chunk; ``n_chunks`` is None where nobody knows, ``room`` the bytes allowed."""

    n_columns: int
    n_chunks: int | None = None
    room: int | None = None
    seed: int = 0

    def __call__(self, chunk: Chunk) -> Look:
        n = len(chunk)
        if n == 0:
            return Look(0, np.zeros(0), np.zeros(0), None)
        if chunk.X.shape[1] != self.n_columns:
            raise ValueError(
                f"Rows {chunk.first} to {chunk.first + n - 1} have {chunk.X.shape[1]} columns, those before "
                f"{self.n_columns}; every chunk needs the same columns."
            )
        check_finite(chunk, f"Rows {chunk.first} to {chunk.first + n - 1}")
        codes: NDArray[np.intp] = np.zeros(n, dtype=np.intp)
        values: NDArray[Any] = np.zeros(1)
        if chunk.y is not None:
            values, codes = _classes(np.asarray(chunk.y))
        weights = np.bincount(codes, weights=chunk.weights).astype(float)
        rows, times = self._drawn(codes, np.random.default_rng([self.seed, chunk.first, n]))
        return Look(n, values, weights, Sample(chunk.take(rows), rows, times))

    def _drawn(self, codes: NDArray[np.intp], random: np.random.Generator) -> tuple[NDArray[np.int64], Array]:
        wanted = min(_ROWS, _most_rows(self.n_columns, self.room))
        wanted = _PER_CHUNK if self.n_chunks is None else -(-wanted // self.n_chunks)
        share = min(1.0, wanted / len(codes))
        rows, times = [], []
        for code in range(int(codes.max()) + 1):
            here = np.flatnonzero(codes == code)
            count = min(len(here), max(_FEW, int(np.ceil(share * len(here)))))
            rows.append(np.sort(random.choice(here, count, replace=False)))
            times.append(np.full(count, len(here) / max(count, 1)))
        order = np.argsort(np.concatenate(rows))
        return np.concatenate(rows)[order].astype(np.int64), np.concatenate(times)[order]


def sample_rows(n_rows: int, n_columns: int, room: int | None) -> int:
    """How many rows a glimpse of ``n_rows`` should show where memory has ``room`` bytes."""
    return min(max(int(_GLIMPSE_SHARE * n_rows), _ROWS), _GLIMPSE_ROWS, _most_rows(n_columns, room))


def stratified(chunks: Sequence[Chunk], weights: Array) -> Sample | None:
    """Chunks of class codes as a sample in which every class has its weight; None where one of them is not met."""
    chunk = _joined(chunks)
    codes = np.asarray(chunk.labels)
    here = np.bincount(codes, weights=chunk.weights, minlength=len(weights))
    if np.any((here == 0) & (weights > 0)):
        return None
    rows = np.concatenate([part.first + np.arange(len(part)) for part in chunks])
    return Sample(chunk, rows, np.divide(weights, here, out=np.zeros(len(weights)), where=here > 0)[codes])


def _classes(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct labels and the number of each row's; those of the first rows are tried before all are sorted."""
    values = np.unique(y[:_FIRST_ROWS])
    codes = np.minimum(np.searchsorted(values, y), len(values) - 1)
    if np.all(values[codes] == y):
        return values, codes
    values, codes = np.unique(y, return_inverse=True)
    return values, codes


def _most_rows(n_columns: int, room: int | None) -> int:
    room = _BYTES if room is None else min(_BYTES, room // _COPIES)
    return max(room // (8 * max(n_columns, 1)), 1000)


def _joined(parts: Sequence[Chunk]) -> Chunk:
    return Chunk(
        _stacked([part.X for part in parts]),
        None if all(part.y is None for part in parts) else np.concatenate([part.labels for part in parts]),
        None if all(part.weight is None for part in parts) else np.concatenate([part.weights for part in parts]),
    )


def _stacked(parts: list[Any]) -> Any:
    if len({sparse.issparse(part) for part in parts}) > 1:
        raise ValueError("X is sparse in some chunks and dense in others; give the rows of all chunks in one form.")
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    return np.concatenate(parts)
