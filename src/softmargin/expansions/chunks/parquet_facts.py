"""What Parquet files say of themselves, and what one pass over a few of their columns adds.

Names, types, row groups, compression and counts of nulls stand in the footers of the files. The labels, and columns of
words and of numbers with gaps, are read once: :class:`Survey` counts classes with their weights, levels and values for
medians. A table of complete numbers is thereby known before any of its numbers is decoded.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FileFacts", "Survey", "batches", "numbers", "parquet_files", "plain", "scanned", "sound_weights", "words"]

_MEDIAN_VALUES = 4096  # of a batch that take part in a median
_SMALL_GROUP, _AHEAD = 1 << 26, 4  # bytes of numbers of a row group of which some may be in memory, and how many
_SURVEY_ROWS = 1 << 17  # of a batch: a few columns of them stay in cache


@dataclass(frozen=True)
class FileFacts:
    """One file, by its footer: the types of its columns, those that may miss a value, and the rows of each group."""

    file: str
    kinds: dict[str, Any]
    gappy: frozenset[str]
    groups: tuple[int, ...]
    codecs: frozenset[str]
    index: frozenset[str]

    @classmethod
    def of(cls, file: str) -> FileFacts:
        """Read the footer."""
        import pyarrow.parquet as pq

        try:
            about = pq.read_metadata(file)
            schema = about.schema.to_arrow_schema()
        except Exception as error:
            raise ValueError(f"{file} cannot be read as Parquet: {error}") from error
        groups = [about.row_group(number) for number in range(about.num_row_groups)]
        columns = [group.column(place) for group in groups if group.num_rows for place in range(group.num_columns)]
        gappy = frozenset(column.path_in_schema for column in columns if _may_miss(column.statistics))
        codecs = frozenset(column.compression for column in columns)
        kinds = dict(zip(schema.names, schema.types, strict=True))
        apart = frozenset(map(str, (schema.pandas_metadata or {}).get("index_columns", ())))
        return cls(file, kinds, gappy, tuple(group.num_rows for group in groups), codecs, apart)

    @property
    def names(self) -> list[str]:
        """The columns, without those that pandas wrote for the index of a frame."""
        return [name for name in self.kinds if name not in self.index]

    def require(self, names: Sequence[str], first: FileFacts) -> None:
        """Complain about a column that is not there."""
        for name in names:
            if name not in self.kinds:
                if self is first:
                    raise ValueError(f"{self.file} has no column {name!r}; it has {', '.join(self.kinds)}.")
                known = f"which {first.file} has; every file needs the same columns"
                raise ValueError(f"{self.file} has no column {name!r}, {known}.")

    def is_number(self, name: str) -> bool:
        """Whether a column holds numbers or booleans."""
        import pyarrow.types as types

        kind = self.kinds[name]
        return bool(
            types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)
        )

    def is_single(self, name: str) -> bool:
        """Whether a column holds numbers that single precision can."""
        return str(self.kinds[name]) in ("float", "halffloat")


@dataclass
class Survey:
    """Counts of levels, values for medians and weights of classes, over all files."""

    levels: dict[str, Counter[Any]]
    values: dict[str, list[NDArray[np.float64]]]
    labels: Counter[Any] = field(default_factory=Counter)

    @classmethod
    def of(
        cls, files: Sequence[str], wordy: Sequence[str], gappy: Sequence[str], target: str | None, weight: str | None
    ) -> Survey:
        """Read what must be known before a row can be decoded."""
        seen = cls({name: Counter() for name in wordy}, {name: [] for name in gappy})
        wanted = [*wordy, *gappy, *(name for name in (target, weight) if name is not None)]
        for file in files if wanted else ():
            for batch in batches(file, wanted, _SURVEY_ROWS):
                try:
                    seen._add(batch, target, weight)
                except Exception as error:
                    raise ValueError(f"{file}: {error}") from error
        return seen

    def _add(self, batch: Any, target: str | None, weight: str | None) -> None:
        for name, counts in self.levels.items():
            counts.update(_counted(words(batch.column(name))))
        for name, values in self.values.items():
            here = numbers(batch.column(name))
            here = here[~np.isnan(here)]
            values.append(here[:: max(1, len(here) // _MEDIAN_VALUES)])
        weights = None if weight is None else sound_weights(batch.column(weight))
        if target is not None:
            self.labels.update(_counted(plain(batch.column(target)), weights))

    @property
    def classes(self) -> tuple[Any, ...]:
        """The labels, in order."""
        labels = [label for label in self.labels if label is not None]
        try:
            if len({isinstance(label, bool) for label in labels}) > 1:
                raise TypeError("truth values beside other labels")
            return tuple(sorted(labels))
        except TypeError as error:
            raise ValueError(
                f"the target holds labels of several types, which have no order together: {labels[:10]}; store it as "
                "one type in every file."
            ) from error

    def median(self, name: str) -> float:
        """The median of a sample of a column's values; 0 where it has none."""
        values = np.concatenate([*self.values[name], np.zeros(0)])
        return float(np.median(values)) if len(values) else 0.0


def parquet_files(path: Any) -> tuple[str, ...]:
    """The files of a path, a folder, a glob or a list of them, in the order of their names."""
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


def batches(file: str, columns: list[str], rows: int, group: int | None = None) -> Iterator[Any]:
    """Record batches of some columns of a file, or of one of its row groups."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as source:
            groups = None if group is None else [group]
            yield from source.iter_batches(batch_size=rows, columns=columns, row_groups=groups)
    except GeneratorExit:
        raise
    except Exception as error:
        raise ValueError(f"{file}: {error}") from error


def scanned(one: FileFacts, columns: list[str], rows: int, ahead: bool) -> Iterator[Any]:
    """Record batches of a whole file, row groups decoded ahead by pyarrow's threads where they are small and may be."""
    import pyarrow.dataset as ds

    if not ahead or max(one.groups, default=0) * len(columns) * 8 > _SMALL_GROUP:
        yield from batches(one.file, columns, rows)
        return
    try:
        unbuffered = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False))
        source = ds.dataset(one.file, format=unbuffered)
        yield from source.to_batches(columns=columns, batch_size=rows, batch_readahead=_AHEAD, fragment_readahead=1)
    except GeneratorExit:
        raise
    except Exception as error:
        raise ValueError(f"{one.file}: {error}") from error


def numbers(values: Any) -> NDArray[Any]:
    """An Arrow column as numbers, missing ones as NaN."""
    import pyarrow as pa
    import pyarrow.types as types

    if not types.is_floating(values.type):
        values = values.cast(pa.float64())
    return np.asarray(values.to_numpy(zero_copy_only=False))


def sound_weights(values: Any) -> NDArray[np.float64]:
    """An Arrow column of weights."""
    found = numbers(values).astype(np.float64)
    if not (np.all(np.isfinite(found)) and np.all(found >= 0)):
        raise ValueError("a weight is negative, missing or infinite; weights are finite and >= 0.")
    return found


def words(values: Any) -> Any:
    """An Arrow column as an array of strings, missing ones as the word "missing"."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.fill_null(plain(values).cast(pa.string()), "missing")


def plain(values: Any) -> Any:
    """An Arrow column without a dictionary."""
    import pyarrow.types as types

    return values.dictionary_decode() if types.is_dictionary(values.type) else values


def _counted(values: Any, weights: NDArray[np.float64] | None = None) -> dict[Any, float]:
    """The weight of the rows of each value, their number where there are no weights."""
    import pyarrow.compute as pc

    if weights is None:
        counts = pc.value_counts(values)
        return dict(zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True))
    coded = pc.dictionary_encode(values, null_encoding="encode")
    totals = np.bincount(coded.indices.to_numpy(), weights=weights, minlength=len(coded.dictionary))
    return dict(zip(coded.dictionary.to_pylist(), totals.tolist(), strict=True))


def _may_miss(facts: Any) -> bool:
    return facts is None or not facts.has_null_count or facts.null_count > 0
