"""Decoded chunks on disk: written by one pass, memory-mapped by those after it.

Decoding a compressed file costs several times what reading the numbers costs, and a fit may read them often. Each
chunk is a handful of ``.npy`` files in a temporary directory, mapped while a task works on it and let go afterwards, so
memory holds the chunks at work and the operating system decides what else stays. Chunks beyond ``limit`` bytes are not
kept and decoded again by every pass.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from softmargin.expansions.chunks.chunk import Chunk

__all__ = ["ChunkCache"]

_SPARSE = ("data", "indices", "indptr")
_FREE_SHARE = 0.5  # of the free space of the disk that may be taken where no limit is given


class ChunkCache:
    """The first chunks of a source, as many as ``limit`` bytes hold; ``mapped`` ones are not let go between tasks."""

    def __init__(self, limit: int | None = None, directory: str | None = None, mapped: bool = False) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="softmargin-chunks-", dir=directory))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._room = int(shutil.disk_usage(self._folder).free * _FREE_SHARE) if limit is None else limit
        self._mapped: dict[int, Chunk] | None = {} if mapped else None
        self._about: dict[int, tuple[int, tuple[int, int]]] = {}
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
        for name, array in arrays.items():
            np.save(self._file(number, name), array, allow_pickle=False)
        self._about[number] = (chunk.first, (int(chunk.X.shape[0]), int(chunk.X.shape[1])))

    def get(self, number: int) -> Chunk:
        """A chunk, mapped from its files."""
        if self._mapped is None:
            return self._read_chunk(number)
        if number not in self._mapped:
            self._mapped[number] = self._read_chunk(number)
        return self._mapped[number]

    def _read_chunk(self, number: int) -> Chunk:
        first, shape = self._about[number]
        if self._file(number, "X").exists():
            X: Any = self._read(number, "X")
        else:
            X = sparse.csr_array(tuple(self._read(number, name) for name in _SPARSE), shape=shape)
        return Chunk(X, self._read(number, "y"), self._read(number, "weight"), first)

    def _file(self, number: int, name: str) -> Path:
        return self._folder / f"{number:06d}.{name}.npy"

    def _read(self, number: int, name: str) -> Any:
        path = self._file(number, name)
        if not path.exists():
            return None
        empty = path.stat().st_size < 256 and np.load(path, allow_pickle=False).size == 0  # nothing to map
        return np.asarray(np.load(path, mmap_mode=None if empty else "r", allow_pickle=False))


def _arrays(chunk: Chunk) -> dict[str, np.ndarray]:
    parts: dict[str, Any] = {"y": chunk.y, "weight": chunk.weight}
    if sparse.issparse(chunk.X):
        parts |= {name: getattr(chunk.X, name) for name in _SPARSE}
    else:
        parts["X"] = chunk.X
    return {name: np.asarray(array) for name, array in parts.items() if array is not None}
