"""Tables from files: CSV with its delimiter and encoding found out, Parquet, Arrow, JSON lines, folders and globs.

Everything is read by pyarrow; what pyarrow cannot read is refused in one line that names the file.
"""

from __future__ import annotations

import csv
import glob
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["BadInput", "read_batches", "read_table", "table_files"]

_SNIFFED = 1 << 16
_DELIMITERS = ",;\t|"
_MOST_WORDS = 1000  # of a column in a block of a file, beyond which it is text
_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".jsonl", ".ndjson", ".gz", ".zst")


class BadInput(ValueError):
    """What a user gave cannot be used; the message is one line with the remedy."""


def read_table(source: str, types: Mapping[str, str] | None = None) -> Any:
    """The whole table as a pandas frame; ``types`` as below."""
    import pandas as pd

    parts = list(read_batches(source, types))
    if not parts or not sum(len(part) for part in parts):
        raise BadInput(f"{source} has no rows.")
    return parts.pop() if len(parts) == 1 else pd.concat(parts, ignore_index=True)


def read_batches(source: str, types: Mapping[str, str] | None = None) -> Iterator[Any]:
    """The table of a file, a folder or a glob, a frame at a time.

    With ``types`` ("number", "boolean", "date" or "text" by column) large CSV files come in parts: what a column is
    need not be found out from all of it. Dates come as the text that says them.
    """
    for path in table_files(source):
        try:
            for frame in _frames(path, types):
                _refuse_twins(frame, path)
                _refuse_nested(frame, path)
                yield frame
        except BadInput:
            raise
        except Exception as error:  # pyarrow raises its own kinds for each format
            raise BadInput(f"{path} cannot be read: {_reason(error)}") from error


def _refuse_twins(frame: Any, path: Path) -> None:
    twins = frame.columns[frame.columns.duplicated()]
    if len(twins):
        raise BadInput(f"{path} has several columns called {str(twins[0])!r}; rename all but one of them.")


def _refuse_nested(frame: Any, path: Path) -> None:
    """Lists, records and bytes in a cell are neither numbers nor words; a column of a typed file holds one kind."""
    for name in [name for name, dtype in frame.dtypes.items() if dtype.kind == "O"]:
        first = frame[name].first_valid_index()
        cell = None if first is None else frame[name].loc[first]
        if isinstance(cell, (list, tuple, dict, bytes, np.ndarray)):
            kind = type(cell).__name__
            raise BadInput(
                f"{path} holds a {'list' if kind == 'ndarray' else kind} in each cell of the column {str(name)!r}; "
                "write numbers or words, or leave the column out of the file."
            )


def _reason(error: Exception) -> str:
    """One line about what pyarrow could not read, with the remedy where it is known."""
    said = str(error).splitlines()[0][:200]
    ragged = re.search(r"Expected (\d+) columns, got (\d+): (.*)", said)
    if ragged:
        header, here, row = ragged.groups()
        return f"the header names {header} columns, but a row has {here} values; mend the row {row[:60]!r}."
    mixed = re.search(r"Column\((.*?)\) (?:was|changed from) (.*?) (?:to|in) ", said)
    if mixed:
        name = mixed.group(1).strip("/")
        if not name:
            return f"it is one JSON value and not one object in each line; write JSON lines ({said})."
        return f"the column {name!r} mixes {mixed.group(2)}s with other values; write one kind of value ({said})."
    return f"{said.rstrip('.')}. Give a CSV, Parquet, Arrow or JSON-lines file."


def table_files(source: str) -> list[Path]:
    """The files that a path, a folder or a pattern means, in the order of their names."""
    path = Path(source)
    if path.is_dir():
        found = sorted(file for file in path.iterdir() if file.name.lower().endswith(_ENDINGS))
    elif path.is_file():
        found = [path]
    else:
        found = sorted(Path(name) for name in glob.glob(source))
    if not found:
        what = "holds no table" if path.is_dir() else "does not exist"
        raise BadInput(f"{source} {what}; give a file, a folder or a pattern such as 'data/*.parquet'.")
    for file in found:
        if file.stat().st_size == 0:
            raise BadInput(f"{file} is empty.")
    return found


def _frames(path: Path, types: Mapping[str, str] | None) -> Iterator[Any]:
    name = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith(".parquet"):
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(path).iter_batches(batch_size=1 << 17):
            yield batch.to_pandas()
    elif name.endswith((".arrow", ".feather")):
        import pyarrow.feather as feather

        yield feather.read_table(path).to_pandas()  # mapped, not copied, before it is a frame
    elif name.endswith((".jsonl", ".ndjson", ".json")):
        from pyarrow import json

        with _opened(path) as file:
            yield json.read_json(file).to_pandas()
    else:
        yield from _csv_frames(path, types)


def _opened(path: Path) -> Any:
    """The bytes of a file, unpacked where its ending says that it is packed."""
    import pyarrow

    return pyarrow.input_stream(str(path), compression="detect")


def _csv_frames(path: Path, types: Mapping[str, str] | None) -> Iterator[Any]:
    import pyarrow
    from pyarrow import csv as arrow

    start, encoding = _start(path)
    if "\x00" in start:
        raise BadInput(f"{path} is no table: it holds binary data. Give a CSV, Parquet, Arrow or JSON-lines file.")
    if not start.strip():
        raise BadInput(f"{path} is empty.")
    options = arrow.ReadOptions(encoding=encoding, block_size=1 << 24)
    parsing = arrow.ParseOptions(delimiter=_delimiter(start), newlines_in_values=True)
    words = pyarrow.string()
    kinds = {"number": pyarrow.float64(), "boolean": pyarrow.bool_(), "date": words, "text": words}
    converting = arrow.ConvertOptions(
        strings_can_be_null=True,
        null_values=["", "NA", "N/A", "NaN", "nan", "null", "?"],
        auto_dict_encode=types is None,  # words that come again and again are kept once
        auto_dict_max_cardinality=_MOST_WORDS,
        column_types={name: kinds[kind] for name, kind in (types or {}).items()},
    )
    if types is None:
        frame = arrow.read_csv(path, options, parsing, converting).to_pandas(split_blocks=True, self_destruct=True)
        pyarrow.default_memory_pool().release_unused()  # parsing took three times the file
        yield frame
        return
    with arrow.open_csv(path, options, parsing, converting) as batches:
        for batch in batches:
            if batch.num_rows:
                yield batch.to_pandas()


def _start(path: Path) -> tuple[str, str]:
    """The first characters and the encoding that reads them."""
    with _opened(path) as file:
        raw = file.read(_SNIFFED)
    for encoding in ("utf-8", "cp1252"):
        try:
            return raw.decode(encoding), encoding
        except UnicodeDecodeError as error:
            if encoding == "utf-8" and error.start > len(raw) - 4:  # the sample cut a character in two
                return raw[: error.start].decode("utf-8"), "utf-8"
    return raw.decode("latin-1"), "latin-1"


def _delimiter(start: str) -> str:
    line = start.splitlines()[0] if start.strip() else ""
    counts = {mark: line.count(mark) for mark in _DELIMITERS}
    best = max(counts, key=lambda mark: counts[mark])
    if not counts[best]:
        return ","
    try:
        return csv.Sniffer().sniff(start[:8192], delimiters="".join(m for m, c in counts.items() if c)).delimiter
    except csv.Error:
        return best
