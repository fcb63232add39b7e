"""Parquet files as chunks: which columns, how they become numbers, and record batches streamed by pyarrow.

Numbers and booleans stay as they are; a missing number becomes the median of a sample of its column beside a column
that says so; a column of words or categories becomes an indicator of each frequent level, the rare ones together, a
missing one being a level of its own. What must be known for that (levels, medians, classes) is learnt by a first pass
over the columns concerned; a table of complete numbers needs its labels alone.

Files may order their columns differently and store them in other types; a column that is missing in one of them, or
holds what cannot be read as the others do, is an error that names the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions.chunks.chunk import Chunk

__all__ = ["ParquetPlan"]

_MOST_LEVELS = 40  # of a category; rarer ones are one level together
_MEDIAN_VALUES = 4096  # of a batch that take part in a median


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers; ``fill`` is None where none is missing."""

    name: str
    fill: float | None = None

    @property
    def names(self) -> list[str]:
        return [self.name] if self.fill is None else [self.name, f"{self.name} is missing"]

    def write(self, values: Any, out: NDArray[np.floating[Any]]) -> None:
        """The features of a batch, into the columns ``out``."""
        numbers = _numbers(values)
        if self.fill is not None:
            gone = np.isnan(numbers)
            out[:, 1] = gone
            numbers = np.where(gone, self.fill, numbers)
        out[:, 0] = numbers


@dataclass(frozen=True)
class LevelColumn:
    """A column of words: an indicator of each level; the last one, if ``rest``, is for all others."""

    name: str
    levels: tuple[str, ...]
    rest: bool

    @property
    def names(self) -> list[str]:
        return [f"{self.name}={level}" for level in self.levels] + ([f"{self.name}=other"] if self.rest else [])

    def write(self, values: Any, out: NDArray[np.floating[Any]]) -> None:
        """The indicators of a batch, into the columns ``out``; a level never seen has none, or that of the rare."""
        out[:] = 0
        place = _places(_words(values), self.levels)
        known = place >= 0
        out[np.flatnonzero(known), place[known]] = 1
        if self.rest:
            out[~known, -1] = 1


@dataclass(frozen=True)
class ParquetPlan:
    """How the files of a data set become chunks of numbers and codes of classes."""

    files: tuple[str, ...]
    columns: tuple[NumberColumn | LevelColumn, ...]
    target: str | None
    weight: str | None
    classes: tuple[Any, ...]
    rows_per_chunk: int
    dtype: str

    @classmethod
    def of(
        cls, path: Any, target: str | None, features: Sequence[str] | None, weight: str | None, rows_per_chunk: int
    ) -> ParquetPlan:
        """Read what must be known before a row can be decoded."""
        files = _files(path)
        schema = _schema(files[0])
        names = [name for name in schema.names if name not in (target, weight)] if features is None else list(features)
        for name in [*names, *(extra for extra in (target, weight) if extra is not None)]:
            if name not in schema.names:
                raise ValueError(f"{files[0]} has no column {name!r}; it has {', '.join(schema.names)}.")
        if not names:
            raise ValueError(f"{files[0]} has no column beside the target and the weight; name features=.")
        words = [name for name in names if not _is_number(schema.field(name).type)]
        gappy = [name for name in names if name not in words and _has_nulls(files, name)]
        seen = _survey(files, words, gappy, target)
        columns = tuple(seen.column(name, words, gappy) for name in names)
        single = all(str(schema.field(name).type) in ("float", "halffloat") for name in names)
        dtype = "float32" if single else "float64"
        return cls(files, columns, target, weight, seen.classes(), rows_per_chunk, dtype)

    @property
    def names(self) -> list[str]:
        """The features, in order."""
        return [name for column in self.columns for name in column.names]

    @property
    def labels(self) -> NDArray[Any] | None:
        """The classes, in the order of their codes; None without a target."""
        return None if self.target is None else np.array(self.classes)

    def with_rows(self, rows_per_chunk: int) -> ParquetPlan:
        """The same plan with chunks of another size."""
        return replace(self, rows_per_chunk=rows_per_chunk)

    def pieces(self, start: int = 0) -> Iterator[Callable[[], Chunk]]:
        """A function for each chunk that decodes it, from chunk ``start`` on."""
        wanted = [column.name for column in self.columns]
        wanted += [name for name in (self.target, self.weight) if name is not None]
        number = first = 0
        for file in self.files:
            for batch in _batches(file, wanted, self.rows_per_chunk):
                if number >= start:
                    yield partial(self._decode, file, batch, first)
                number, first = number + 1, first + batch.num_rows

    def _decode(self, file: str, batch: Any, first: int) -> Chunk:
        try:
            X = np.empty((batch.num_rows, len(self.names)), dtype=self.dtype, order="F")
            at = 0
            for column in self.columns:
                width = len(column.names)
                column.write(batch.column(column.name), X[:, at : at + width])
                at += width
            y = None if self.target is None else self._codes(batch.column(self.target))
            weight = None if self.weight is None else _numbers(batch.column(self.weight))
        except Exception as error:
            raise ValueError(f"{file}, rows from {first} on: {error}") from error
        return Chunk(X, y, weight, first)

    def _codes(self, labels: Any) -> NDArray[np.int32]:
        codes = _places(_plain(labels), self.classes)
        if np.any(codes < 0):
            raise ValueError(f"the target {self.target!r} has a missing value; remove those rows or give them a label.")
        return codes.astype(np.int32)


class _Survey:
    """Counts of levels, values for medians and counts of classes, over all files."""

    def __init__(self) -> None:
        self.levels: dict[str, Counter[Any]] = {}
        self.values: dict[str, list[NDArray[np.float64]]] = {}
        self.labels: Counter[Any] = Counter()

    def column(self, name: str, words: Sequence[str], gappy: Sequence[str]) -> NumberColumn | LevelColumn:
        if name in words:
            counts = self.levels[name]
            kept = sorted(counts, key=lambda level: (-counts[level], level))[:_MOST_LEVELS]
            return LevelColumn(name, tuple(sorted(kept)), len(kept) < len(counts))
        if name not in gappy:
            return NumberColumn(name)
        values = np.concatenate(self.values[name])
        return NumberColumn(name, float(np.median(values)) if len(values) else 0.0)

    def classes(self) -> tuple[Any, ...]:
        return tuple(sorted(label for label in self.labels if label is not None))


def _survey(files: Sequence[str], words: Sequence[str], gappy: Sequence[str], target: str | None) -> _Survey:
    seen = _Survey()
    seen.levels = {name: Counter() for name in words}
    seen.values = {name: [] for name in gappy}
    wanted = [*words, *gappy, *([] if target is None else [target])]
    for file in files if wanted else ():
        for batch in _batches(file, wanted, 1 << 17):
            for name in words:
                seen.levels[name].update(_counted(_words(batch.column(name))))
            for name in gappy:
                numbers = _numbers(batch.column(name))
                numbers = numbers[~np.isnan(numbers)]
                seen.values[name].append(numbers[:: max(1, len(numbers) // _MEDIAN_VALUES)])
            if target is not None:
                seen.labels.update(_counted(_plain(batch.column(target))))
    return seen


def _files(path: Any) -> tuple[str, ...]:
    """The files of a path, a folder, a glob or a list of them, in the order of their names."""
    import glob

    several = [path] if isinstance(path, (str, Path)) else list(path)
    found: list[str] = []
    for one in several:
        here = Path(one)
        if here.is_dir():
            found += sorted(str(file) for file in here.rglob("*.parquet"))
        elif here.exists():
            found.append(str(here))
        else:
            found += sorted(glob.glob(str(one), recursive=True))
    if not found:
        raise FileNotFoundError(f"No Parquet file at {path!r}; give a file, a folder, a glob or a list of them.")
    return tuple(found)


def _about(file: str) -> Any:
    """What a file says of itself: columns, row groups, statistics."""
    import pyarrow.parquet as pq

    try:
        return pq.read_metadata(file)
    except Exception as error:
        raise ValueError(f"{file} cannot be read as Parquet: {error}") from error


def _schema(file: str) -> Any:
    return _about(file).schema.to_arrow_schema()


def _batches(file: str, columns: list[str], rows: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as source:
            missing = [name for name in columns if name not in source.schema_arrow.names]
            if missing:
                raise ValueError(f"it has no column {', '.join(map(repr, missing))}")
            yield from source.iter_batches(batch_size=rows, columns=columns)
    except GeneratorExit:
        raise
    except Exception as error:
        raise ValueError(f"{file}: {error}") from error


def _has_nulls(files: Sequence[str], name: str) -> bool:
    """Whether a column may have missing values, by what the files say of themselves; NaN counts as missing too."""
    for file in files:
        about = _about(file)
        names = about.schema.to_arrow_schema().names
        if name not in names:
            raise ValueError(f"{file} has no column {name!r}, which {files[0]} has; every file needs the same columns.")
        place = names.index(name)
        for group in range(about.num_row_groups):
            facts = about.row_group(group).column(place).statistics
            if facts is None or not facts.has_null_count or facts.null_count > 0:
                return True
    return False


def _is_number(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _numbers(values: Any) -> NDArray[Any]:
    """An Arrow column as numbers, missing ones as NaN."""
    import pyarrow as pa
    import pyarrow.types as types

    if not types.is_floating(values.type):
        values = values.cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def _words(values: Any) -> Any:
    """An Arrow column as an array of strings, missing ones as the word "missing"."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    if types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return pc.fill_null(values.cast(pa.string()), "missing")


def _plain(values: Any) -> Any:
    import pyarrow.types as types

    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def _counted(values: Any) -> dict[Any, int]:
    import pyarrow.compute as pc

    counts = pc.value_counts(values)
    return dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))


def _places(values: Any, known: Sequence[Any]) -> NDArray[np.int64]:
    """The place of each value among the known ones, -1 where it is none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.index_in(values, value_set=pa.array(list(known)).cast(values.type))
    return np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False)).astype(np.int64)
