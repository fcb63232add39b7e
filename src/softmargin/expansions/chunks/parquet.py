"""Parquet files as chunks: which columns, how they become numbers, and record batches streamed by pyarrow.

Numbers and booleans stay as they are; a missing number becomes the median of a sample of its column beside a column
that says so; a column of words or categories becomes an indicator of each frequent level, the rare ones together, a
missing one being a level of its own. What must be known for that (levels, medians, classes) is learnt from the files'
footers and a pass over the columns concerned (:mod:`softmargin.expansions.chunks.parquet_facts`).

Row groups can be read by themselves, so a few of them, evenly spaced, are a sample to start a fit from
(:meth:`ParquetPlan.glimpse`): the first pass over all rows is then already one of the fit.

Files may order their columns differently and store them in other types; numbers are single precision where they are in
every file. A column that is missing in one of them, or holds what cannot be read as the others do, is an error that
names the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions.chunks.chunk import Chunk
from softmargin.expansions.chunks.first_look import Census, Sample, sample_rows, stratified
from softmargin.expansions.chunks.parquet_facts import (
    FileFacts,
    Survey,
    batches,
    numbers,
    parquet_files,
    plain,
    scanned,
    sound_weights,
    words,
)

__all__ = ["ParquetPlan"]

_MOST_LEVELS = 40  # of a category; rarer ones are one level together
_GLIMPSES = 8  # row groups of a glimpse; each is read whole, so a hundred of them would be a pass
_LIGHT = frozenset(("UNCOMPRESSED", "SNAPPY", "LZ4", "LZ4_RAW"))  # compressions that cost about as much as a copy


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers; ``fill`` is None where none is missing."""

    name: str
    fill: float | None = None

    @property
    def names(self) -> list[str]:
        """The features; what stands for a missing number is told, so that other files' medians are another feature."""
        return [self.name] if self.fill is None else [self.name, f"{self.name} is missing, read as {self.fill:.6g}"]

    def write(self, values: Any, out: NDArray[np.floating[Any]]) -> None:
        """The features of a batch, into the columns ``out``."""
        out[:, 0] = numbers(values)
        if self.fill is not None:
            out[:, 1] = np.isnan(out[:, 0])
            out[out[:, 1] > 0, 0] = self.fill
        if not np.isfinite(np.sum(out[:, 0], dtype=np.float64)) and not np.all(np.isfinite(out[:, 0])):
            raise ValueError(
                f"column {self.name!r} holds a number that is NaN, infinite or too large; "
                "write it as null, which is filled, or remove its row."
            )


@dataclass(frozen=True)
class LevelColumn:
    """A column of words: an indicator of each level; the last one, if ``rest``, is for all others."""

    name: str
    levels: tuple[str, ...]
    rest: bool

    @classmethod
    def of(cls, name: str, counts: Counter[str]) -> LevelColumn:
        """The most frequent levels."""
        kept = sorted(counts, key=lambda level: (-counts[level], level))[:_MOST_LEVELS]
        return cls(name, tuple(sorted(kept)), len(kept) < len(counts))

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level in self.levels] + ([f"{self.name}=other"] if self.rest else [])

    def write(self, values: Any, out: NDArray[np.floating[Any]]) -> None:
        """The indicators of a batch, into the columns ``out``; a level never seen has none, or that of the rare."""
        out[:] = 0
        place = _places(words(values), self.levels)
        known = place >= 0
        out[np.flatnonzero(known), place[known]] = 1
        if self.rest:
            out[~known, -1] = 1


@dataclass(frozen=True)
class ParquetPlan:
    """How the files of a data set become chunks of numbers and codes of classes."""

    files: tuple[FileFacts, ...]
    columns: tuple[NumberColumn | LevelColumn, ...]
    target: str | None
    weight: str | None
    classes: tuple[Any, ...]
    class_weights: tuple[float, ...]
    dtype: str
    rows_per_chunk: int = 1 << 16
    reads_ahead: bool = True

    @classmethod
    def of(
        cls,
        path: Any,
        target: str | None,
        features: Sequence[str] | None,
        weight: str | None,
        like: ParquetPlan | None = None,
    ) -> ParquetPlan:
        """Read what must be known before a row can be decoded; columns are read as in the plan ``like``, if any."""
        files = tuple(map(FileFacts.of, parquet_files(path)))
        first, apart = files[0], [name for name in (target, weight) if name is not None]
        if like is not None:
            features = [column.name for column in like.columns]
        names = [name for name in first.names if name not in apart] if features is None else list(features)
        for one in files:
            one.require([*names, *apart], first)
        if not names:
            raise ValueError(f"{first.file} has no column beside the target and the weight; name features=.")
        wordy = [name for name in names if not first.is_number(name)] if like is None else []
        numeric = [name for name in names if name not in wordy] if like is None else []
        gappy = [name for name in numeric if any(name in one.gappy for one in files)]
        seen = Survey.of([one.file for one in files], wordy, gappy, target, weight)
        columns: list[NumberColumn | LevelColumn] = [] if like is None else list(like.columns)
        for name in names if like is None else ():
            if name in wordy:
                columns.append(LevelColumn.of(name, seen.levels[name]))
            else:
                columns.append(NumberColumn(name, seen.median(name) if name in gappy else None))
        single = all(one.is_single(name) for one in files for name in names)
        weights = tuple(float(seen.labels[label]) for label in seen.classes)
        dtype = "float32" if single else "float64"
        return cls(files, tuple(columns), target, weight, seen.classes, weights, dtype)

    @property
    def names(self) -> list[str]:
        """The features, in order."""
        return [name for column in self.columns for name in column.names]

    @property
    def labels(self) -> NDArray[Any] | None:
        """The classes, in the order of their codes; None without a target."""
        return None if self.target is None else np.array(self.classes)

    @property
    def n_rows(self) -> int:
        """Of all files."""
        return sum(sum(one.groups) for one in self.files)

    @property
    def is_quick(self) -> bool:
        """Whether decoding is little more than copying: numbers without gaps, behind a light compression or none."""
        plain = all(isinstance(column, NumberColumn) and column.fill is None for column in self.columns)
        return plain and all(one.codecs <= _LIGHT for one in self.files)

    @property
    def census(self) -> Census | None:
        """Rows and classes, where the files have told both."""
        if self.target is None or not self.n_rows:
            return None
        return Census(self.n_rows, np.arange(len(self.classes)), np.array(self.class_weights))

    def with_rows(self, rows_per_chunk: int, reads_ahead: bool) -> ParquetPlan:
        """The same plan with chunks of another size; reading ahead takes the memory of some row groups."""
        return replace(self, rows_per_chunk=rows_per_chunk, reads_ahead=reads_ahead)

    def pieces(self, start: int = 0) -> Iterator[Callable[[], Chunk]]:
        """A function for each chunk that decodes it, from chunk ``start`` on."""
        number = first = 0
        for one in self.files:
            for batch in scanned(one, self._wanted, self.rows_per_chunk, self.reads_ahead):
                if number >= start:
                    yield partial(self._decode, one.file, batch, first)
                number, first = number + 1, first + batch.num_rows

    def glimpse(self, room: int | None) -> Sample | None:
        """The first rows of some row groups, every class standing for its weight; None where one was not met."""
        places, first = [], 0
        for one in self.files:
            for group, n_rows in enumerate(one.groups):
                if n_rows:
                    places.append((one.file, group, first))
                first += n_rows
        if not places or self.target is None:
            return None
        count = min(_GLIMPSES, len(places))
        chosen = [places[at] for at in np.linspace(0, len(places) - 1, count).round().astype(int)]
        wanted = -(-sample_rows(first, len(self.names), room) // count)
        chunks = []
        for file, group, start in chosen:
            batch = next(batches(file, self._wanted, wanted, group))
            chunks.append(self._decode(file, batch, start))
        return stratified(chunks, np.array(self.class_weights))

    @property
    def _wanted(self) -> list[str]:
        names = [column.name for column in self.columns]
        return names + [name for name in (self.target, self.weight) if name is not None]

    def _decode(self, file: str, batch: Any, first: int) -> Chunk:
        try:
            X = np.empty((batch.num_rows, len(self.names)), dtype=self.dtype, order="F")
            at = 0
            for column in self.columns:
                width = len(column.names)
                column.write(batch.column(column.name), X[:, at : at + width])
                at += width
            y = None if self.target is None else self._codes(batch.column(self.target))
            weight = None if self.weight is None else sound_weights(batch.column(self.weight))
        except Exception as error:
            raise ValueError(f"{file}, rows from {first} on: {error}") from error
        return Chunk(X, y, weight, first)

    def _codes(self, labels: Any) -> NDArray[np.int32]:
        codes = _places(plain(labels), self.classes)
        if np.any(codes < 0):
            raise ValueError(f"the target {self.target!r} has a missing value; remove those rows or give them a label.")
        return codes.astype(np.int32)


def _places(values: Any, known: Sequence[Any]) -> NDArray[np.int64]:
    """The place of each value among the known ones, -1 where it is none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not known:
        return np.full(len(values), -1, dtype=np.int64)
    among = pa.array(list(known))
    places = pc.index_in(values.cast(among.type), value_set=among)  # files may store labels in other types
    return np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False)).astype(np.int64)
