"""Dask collections as chunks: every partition stays with its worker, tasks go there, totals are added in a tree.

Under a distributed scheduler the partitions are persisted once, so that passes do not read files again; under a local
one they are made again by every pass, and memory holds what is at work. A worker that dies is Dask's business: it makes
the lost partitions again on another one.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from softmargin.expansions.chunks.chunk import Chunk
from softmargin.expansions.chunks.given import column_names, given_chunk, given_rows
from softmargin.expansions.chunks.rows import ChunkedLabels, ChunkedRows

__all__ = ["DaskChunks", "by_partition", "is_dask", "rows_of_dask"]

_FAN_IN = 8  # totals added by one task


def is_dask(value: Any) -> bool:
    """Whether a value is a Dask array or data frame; Dask is not imported to find out."""
    return type(value).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(value, "__dask_graph__")


class DaskChunks:
    """Partitions of rows with the same partitions of labels and weights."""

    decodes = False  # partitions are kept by their workers

    def __init__(self, X: Any, y: Any = None, weight: Any = None) -> None:
        dask = _module("dask")
        columns = [_partitions(part) for part in (X, y, weight) if part is not None]
        sizes = [len(parts) for parts in columns]
        if len(set(sizes)) > 1:
            raise ValueError(
                f"X, y and sample_weight have {sizes} partitions; give them the same, with rechunk or repartition."
            )
        given = [name for name, part in (("X", X), ("y", y), ("weight", weight)) if part is not None]
        names, chunk = column_names(X), dask.delayed(_chunk, pure=True)
        parts = [chunk(given, names, number, *row) for number, row in enumerate(zip(*columns, strict=True))]
        self._parts = list(dask.persist(*parts)) if _is_distributed() else parts
        self.n_chunks: int | None = len(self._parts)

    def mapped(self, function: Callable[[Chunk], Chunk]) -> DaskChunks:
        """The chunks that a function makes of these, numbered and kept where they are made."""
        dask = _module("dask")
        run = dask.delayed(_numbered, pure=False)
        other = copy(self)
        other._parts = list(dask.persist(*[run(function, part, number) for number, part in enumerate(self._parts)]))
        return other

    def collect(self, task: Callable[[Chunk], Any]) -> list[Any]:
        """``[task(chunk) for chunk in chunks]``, brought here."""
        dask = _module("dask")
        run = dask.delayed(task, pure=False)
        return list(dask.compute(*[run(part) for part in self._parts]))

    def total(self, task: Callable[[Chunk], Any]) -> Any:
        """The sum of the results, added on the workers."""
        dask = _module("dask")
        run, add = dask.delayed(task, pure=False), dask.delayed(_add, pure=False)
        level = [run(part) for part in self._parts]
        while len(level) > 1:
            level = [add(level[at : at + _FAN_IN]) for at in range(0, len(level), _FAN_IN)]
        return level[0].compute()


def rows_of_dask(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[ChunkedRows, ChunkedLabels]:
    """Dask collections as chunked rows and labels."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(f"X must have two dimensions, rows and columns; got {getattr(X, 'ndim', type(X).__name__)}.")
    kinds = set(X.dtypes) if hasattr(X, "dtypes") else {X.dtype}
    single = kinds == {np.dtype(np.float32)}
    rows = ChunkedRows(DaskChunks(X, y, sample_weight), X.shape[1], np.float32 if single else np.float64)
    rows.feature_names = column_names(X)
    return rows, ChunkedLabels(rows)


def by_partition(function: Callable[[Any], Any], X: Any, n_columns: int | None, dtype: Any = float) -> Any:
    """``function`` of each partition of ``X`` as a lazy array; ``n_columns`` is None for a vector."""
    da = _module("dask.array")
    run = partial(_of_matrix, function, column_names(X))
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1})
        if n_columns is None:
            return X.map_blocks(run, drop_axis=1, meta=np.empty(0, dtype=dtype))
        return X.map_blocks(run, chunks=(X.chunks[0], (n_columns,)), meta=np.empty((0, n_columns), dtype=dtype))
    shape = (np.nan,) if n_columns is None else (np.nan, n_columns)
    return da.concatenate([da.from_delayed(_lazily(run, part), shape, dtype=dtype) for part in X.to_delayed()])


def _module(name: str) -> Any:
    """Dask, imported when it is needed: it is an optional extra, and untyped."""
    return import_module(name)


def _lazily(run: Callable[[Any], Any], part: Any) -> Any:
    dask = _module("dask")
    return dask.delayed(run)(part)


def _of_matrix(function: Callable[[Any], Any], names: Any, part: Any) -> Any:
    return function(given_rows(part, names, "a partition"))


def _partitions(collection: Any) -> list[Any]:
    """The delayed partitions of an array or a data frame, whole rows each."""
    da = _module("dask.array")
    if isinstance(collection, da.Array):
        whole = collection.rechunk({1: -1}) if collection.ndim == 2 else collection
        return list(whole.to_delayed().ravel())
    if not is_dask(collection):
        raise ValueError(f"X is a Dask collection, so y and sample_weight must be Dask too; got {type(collection)!r}.")
    return list(collection.to_delayed())


def _is_distributed() -> bool:
    try:
        from distributed import get_client

        get_client()
    except (ImportError, ValueError):
        return False
    return True


def _chunk(given: list[str], names: Any, number: int, *parts: Any) -> Chunk:
    found = dict(zip(given, parts, strict=True))
    return given_chunk(found["X"], found.get("y"), found.get("weight"), names, f"partition {number}")


def _numbered(function: Callable[[Chunk], Chunk], chunk: Chunk, number: int) -> Chunk:
    return replace(function(chunk), first=number)


def _add(totals: list[Any]) -> Any:
    total = None
    for one in totals:
        if one is not None:
            total = deepcopy(one) if total is None else total.plus(one)  # a task that is run again must find its input
    return total
