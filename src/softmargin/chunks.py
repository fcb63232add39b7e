"""Rows in chunks: files larger than memory, any iterator, or the partitions of a Dask collection.

Every function returns ``(X, y)`` for ``fit``; ``X`` goes to ``predict``, ``predict_proba`` and ``decision_function``.
The fit minimises the same objective over all rows as one in memory, and its certificate is measured over all rows.

    X, y = chunks.from_parquet("rides/*.parquet", target="late")
    model = MarginClassifier().fit(X, y)

A fit that is interrupted (by a key, a full disk, a lost cluster) leaves the decoded chunks and its last point in ``X``:
the next ``fit`` of the same model to the same ``X, y`` goes on from there. ``verbose=1`` tells each pass with its rows
per second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import GeneratorType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import COUNT, JOBS, NONE, PATH, TEXT, Constraint, check_each, integer, several
from softmargin.expansions import (
    Chunk,
    ChunkCache,
    ChunkedLabels,
    ChunkedRows,
    LocalChunks,
    ParquetPlan,
    column_names,
    given_chunk,
    is_dask,
    rows_of_dask,
    usable_cores,
)

__all__ = ["from_arrays", "from_dask", "from_parquet"]

_CHUNK_BYTES = 1 << 25
_PATIENCE = (
    3  # decodings of plain numbers before they are kept: writing costs two to four, a smooth ridge fit takes three
)
_COPIES = 4  # of a chunk that are in memory while it is worked on: decoded, as numbers, scaled, and a cached one
_PARQUET = {
    "path": PATH | several("a list of paths", PATH.allows, least=0),
    "target": NONE | TEXT,
    "features": NONE | several("a list of column names", TEXT.allows),
    "weight": NONE | TEXT,
}
_SIZES = {
    "rows_per_chunk": NONE | COUNT,
    "memory_limit": NONE | COUNT,
    "cache_limit": NONE | integer(0),
    "cache_directory": NONE
    | Constraint("the path of a folder", lambda value: PATH.allows(value) and Path(value).is_dir()),
}
_MAKE = Constraint("a function that returns a new iterator over chunks", callable)
_DASK = Constraint("a Dask array or data frame", is_dask)


def from_parquet(
    path: Any,
    *,
    target: str | None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
    like: ChunkedRows | None = None,
    rows_per_chunk: int | None = None,
    memory_limit: int | None = None,
    cache_limit: int | None = None,
    cache_directory: str | None = None,
    n_jobs: int | None = None,
) -> tuple[ChunkedRows, ChunkedLabels]:
    """Rows of Parquet files, streamed.

    Parameters
    ----------
    path : path, glob, folder or list of them
        The files; rows keep the order of the files' names.
    target : str or None
        The column of the labels; None for rows to predict.
    features : list of str or None
        The columns to use; all others but target and weight by default. Numbers stay, missing ones become the median
        beside an indicator; words and categories become indicators of their 40 most frequent levels.
    weight : str or None
        The column of sample weights.
    like : rows of an earlier call, or None
        Read the columns as these were: their medians and levels, whatever the files at hand would suggest. Rows to
        predict are read like the training rows; where gaps and words were not, the model refuses them by their names.
    rows_per_chunk : int or None
        Rows decoded at once; about 32 MB of numbers by default.
    memory_limit : int or None
        Bytes that the chunks at work may take, so chunks and the sample a fit starts from are made small enough and
        nothing is read ahead, and as many again for what a fit of rules keeps of them between passes. Some 50 MB of
        buffers come on top.
    cache_limit, cache_directory : int or None, str or None
        Decoded chunks are kept in a temporary directory up to this many bytes (half of the free disk by default), so
        that later passes read numbers instead of decoding; 0 keeps none. Plain numbers are kept by the fourth pass,
        as writing them costs as much as decoding them a few times; all else by the first.
    n_jobs : int or None
        Threads that decode and compute; all processors by default.
    """
    check_each(_PARQUET, path=path, target=target, features=features, weight=weight)
    check_each(_SIZES, rows_per_chunk=rows_per_chunk, memory_limit=memory_limit)
    n_threads, cache = _threads(n_jobs), _cache(cache_limit, cache_directory)
    plan = ParquetPlan.of(path, target, features, weight, _plan_of(like, features))
    rows = rows_per_chunk or _rows_per_chunk(len(plan.names), np.dtype(plan.dtype).itemsize, memory_limit, n_threads)
    plan = plan.with_rows(rows, reads_ahead=memory_limit is None)
    patience = _PATIENCE if plan.is_quick else 0
    source = LocalChunks(plan.pieces, cache=cache, n_threads=n_threads, patience=patience)
    X = ChunkedRows(source, len(plan.names), plan.dtype, plan.names)
    X.memory_limit, X.ahead = memory_limit, plan
    return X, ChunkedLabels(X, plan.labels)


def _plan_of(like: Any, features: Any) -> ParquetPlan | None:
    """How the rows ``like`` were read."""
    if like is None:
        return None
    plan = getattr(like, "ahead", None)
    if not isinstance(plan, ParquetPlan):
        raise ValueError(f"like must be the X of an earlier from_parquet, or None; got {like!r}.")
    if features is not None:
        raise ValueError(f"features={features!r} and like= both say which columns to use; give one of them.")
    return plan


def from_arrays(
    make: Callable[[], Iterable[Any]],
    *,
    cache_limit: int | None = None,
    cache_directory: str | None = None,
    n_jobs: int | None = None,
) -> tuple[ChunkedRows, ChunkedLabels]:
    """Rows from any source: ``make()`` returns a new iterator over ``(X, y)`` or ``(X, y, weight)`` of some rows each.

    ``X`` is a dense or sparse matrix of numbers, or a data frame whose columns have the same names in the same order in
    every chunk and in every prediction; ``y`` may be None for rows to predict. The iterator runs once where
    the decoded chunks fit into the cache, once per pass otherwise.
    """
    _MAKE.check("make", make)
    n_threads, cache = _threads(n_jobs), _cache(cache_limit, cache_directory)
    given = make()
    if not isinstance(given, Iterable):
        raise ValueError(f"make() must return an iterator over (X, y) or (X, y, weight); got {given!r}.")
    begun = iter(given)
    first = next(begun, None)
    if first is None:
        raise ValueError("make() gave an iterator without chunks; it must yield (X, y) or (X, y, weight).")
    if isinstance(begun, GeneratorType):
        begun.close()  # lets go of what it holds open
    names = column_names(first[0]) if isinstance(first, tuple) and first else None
    about = _chunk_of(first, 0, names)
    source = LocalChunks(_Arrays(make, begun if begun is given else None, names), cache=cache, n_threads=n_threads)
    rows = ChunkedRows(source, about.X.shape[1], about.X.dtype)
    rows.feature_names = names
    return rows, ChunkedLabels(rows)


def from_dask(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[ChunkedRows, ChunkedLabels]:
    """Dask arrays or data frames; giving them to ``fit`` directly is the same."""
    _DASK.check("X", X)
    return rows_of_dask(X, y, sample_weight)


@dataclass(frozen=True)
class _Arrays:
    """The pieces of an iterator factory; ``begun`` is an iterator that has been read."""

    make: Callable[[], Iterable[Any]]
    begun: Iterator[Any] | None
    names: NDArray[Any] | None

    def __call__(self, start: int) -> Iterator[Callable[[], Chunk]]:
        chunks = iter(self.make())
        if chunks is self.begun:
            raise ValueError("make() returned the same iterator twice, which has been read; it must return a new one.")
        first = 0
        for number, one in enumerate(chunks):
            if number >= start:
                yield partial(_chunk_of, one, first, self.names)
            first += _n_rows(one)


def _n_rows(given: Any) -> int:
    """Of what may be a chunk; what is none is refused where it is decoded."""
    X = given[0] if isinstance(given, tuple) and given else ()
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return int(shape[0]) if shape else 0


def _chunk_of(given: Any, first: int, names: NDArray[Any] | None) -> Chunk:
    if not isinstance(given, tuple) or not 2 <= len(given) <= 3:
        raise ValueError(f"make() must yield tuples (X, y) or (X, y, weight); got {type(given).__name__}.")
    X, y, weight = given if len(given) == 3 else (*given, None)
    return given_chunk(X, y, weight, names, f"the chunk from row {first} on", first)


def _cache(limit: int | None, directory: str | None) -> ChunkCache | None:
    check_each(_SIZES, cache_limit=limit, cache_directory=directory)
    return None if limit == 0 else ChunkCache(limit, directory)


def _threads(n_jobs: int | None) -> int:
    JOBS.check("n_jobs", n_jobs)
    return usable_cores() if n_jobs is None or n_jobs < 1 else n_jobs


def _rows_per_chunk(n_columns: int, itemsize: int, memory_limit: int | None, n_threads: int) -> int:
    room = _CHUNK_BYTES if memory_limit is None else memory_limit // (_COPIES * 2 * n_threads)
    rows = max(min(room, _CHUNK_BYTES) // (n_columns * itemsize), 64)
    return 1 << (rows.bit_length() - 1)  # row groups are often powers of two, and chunks do not reach across them
