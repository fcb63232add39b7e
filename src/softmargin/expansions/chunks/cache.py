"""Decoded chunks on disk: written by one pass, memory-mapped by those after it.

Decoding a compressed file costs several times what reading the numbers costs, and a fit may read them often. Each
chunk is a handful of files of plain numbers in a temporary directory, mapped while a task works on it and let go
afterwards, so memory holds the chunks at work and the operating system decides what else stays. Chunks beyond ``limit``
bytes are not kept and decoded again by every pass. What the files hold is remembered rather than written: headers of
``.npy`` files are parsed as Python, which threads of Python 3.11 cannot do at the same time.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from softmargin.expansions.chunks.chunk import Chunk

__all__ = ["ChunkCache"]

_SPARSE = ("data", "indices", "indptr")
_FREE_SHARE = 0.5  # of the free space of the disk that may be taken where no limit is given


class _Stored(NamedTuple):
    """What a file holds."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    by_columns: bool


class ChunkCache:
    """The first chunks of a source, as many as ``limit`` bytes hold; ``mapped`` ones are not let go between tasks."""

    def __init__(self, limit: int | None = None, directory: str | None = None, mapped: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="softmargin-chunks-", dir=directory))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._room = int(shutil.disk_usage(self._folder).free * _FREE_SHARE) if limit is None else limit
        self._mapped: dict[int, Chunk] | None = {} if mapped else None
        self._about: dict[int, tuple[int, tuple[int, int], dict[str, _Stored]]] = {}
        self._closed = False  # once a chunk was refused no later one is kept
        self._lock = threading.Lock()

    def __contains__(self, number: int) -> bool:
        return number in self._about

    def beside(self) -> ChunkCache:
        """An empty cache on the same disk, with the room that is left, for chunks that are asked very often."""
        return ChunkCache(self._room, str(self._folder.parent), mapped=True)

    def put(self, number: int, chunk: Chunk) -> None:
        """Keep a chunk, unless there is no room for it."""
        arrays = _arrays(chunk)
        size = sum(array.nbytes for array in arrays.values())
        with self._lock:
            self._closed = self._closed or size > self._room
            if self._closed:
                return
            self._room -= size
        stored = {name: _write(self._file(number, name), array) for name, array in arrays.items()}
        self._about[number] = (chunk.first, (int(chunk.X.shape[0]), int(chunk.X.shape[1])), stored)

    def get(self, number: int) -> Chunk:
        """A chunk, mapped from its files."""
        if self._mapped is None:
            return self._read_chunk(number)
        if number not in self._mapped:
            self._mapped[number] = self._read_chunk(number)
        return self._mapped[number]

    def _read_chunk(self, number: int) -> Chunk:
        first, shape, stored = self._about[number]
        parts = {name: _map(self._file(number, name), about) for name, about in stored.items()}
        if "X" in parts:
            X: Any = parts["X"]
        else:
            X = sparse.csr_array(tuple(parts[name] for name in _SPARSE), shape=shape)
        return Chunk(X, parts.get("y"), parts.get("weight"), first)

    def _file(self, number: int, name: str) -> Path:
        return self._folder / f"{number:06d}.{name}"


def _write(path: Path, array: np.ndarray) -> _Stored:
    by_columns = array.flags.f_contiguous and not array.flags.c_contiguous
    (array.T if by_columns else array).tofile(path)
    return _Stored(array.dtype, array.shape, by_columns)


def _map(path: Path, about: _Stored) -> np.ndarray:
    if 0 in about.shape:  # nothing to map
        return np.empty(about.shape, dtype=about.dtype)
    return np.asarray(np.memmap(path, about.dtype, "r", shape=about.shape, order="F" if about.by_columns else "C"))


def _arrays(chunk: Chunk) -> dict[str, np.ndarray]:
    parts: dict[str, Any] = {"y": chunk.y, "weight": chunk.weight}
    if sparse.issparse(chunk.X):
        parts |= {name: getattr(chunk.X, name) for name in _SPARSE}
    else:
        parts["X"] = chunk.X
    return {name: np.asarray(array) for name, array in parts.items() if array is not None}
