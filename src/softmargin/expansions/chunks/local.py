"""Chunks of one machine: decoded and worked on by a few threads, added up in the order of the rows.

The main thread hands out pieces and adds up results; a thread decodes a piece, keeps it in the cache, and runs the task
on it. At most two pieces per thread are under way, which bounds memory and reads ahead of the computation. Adding up
in the order of the rows makes every sum the same in every run.

Whether chunks should be kept depends on how often they will be asked for, which nobody knows. So a source says how many
times a chunk may be decoded before it is kept: none where decoding is dear, a few where it costs less than writing.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, reduce
from itertools import islice
from typing import Any

from softmargin._threads import one_blas_thread, usable_cores
from softmargin.expansions.chunks.cache import ChunkCache
from softmargin.expansions.chunks.chunk import Chunk

__all__ = ["LocalChunks"]

_AHEAD = 2  # pieces under way per thread


class LocalChunks:
    """``pieces(start)`` yields functions that decode one chunk each, from number ``start`` on."""

    def __init__(
        self,
        pieces: Callable[[int], Iterator[Callable[[], Chunk]]],
        n_chunks: int | None = None,
        *,
        cache: ChunkCache | None = None,
        n_threads: int | None = None,
        patience: int = 0,
    ) -> None:
        self._pieces, self._cache = pieces, cache
        self._patience, self._seen = patience, Counter[int]()
        self.n_chunks = n_chunks
        self._n_threads = usable_cores() if n_threads is None else n_threads

    @property
    def decodes(self) -> bool:
        """Whether a chunk will have to be decoded again."""
        return self._cache is None or self.n_chunks is None or self.n_chunks - 1 not in self._cache

    def collect(self, task: Callable[[Chunk], Any]) -> list[Any]:
        """``[task(chunk) for chunk in chunks]``, in the order of the rows."""
        return list(self._results(task))

    def total(self, task: Callable[[Chunk], Any]) -> Any:
        """The sum of the results of all chunks that have rows."""
        return reduce(lambda a, b: a.plus(b), (result for result in self._results(task) if result is not None))

    def mapped(self, function: Callable[[Chunk], Chunk]) -> LocalChunks:
        """The chunks that a function makes of these, kept in a cache of their own."""
        cache = None if self._cache is None else self._cache.beside()
        return LocalChunks(partial(self._pieces_of, function), self.n_chunks, cache=cache, n_threads=self._n_threads)

    def _pieces_of(self, function: Callable[[Chunk], Chunk], start: int) -> Iterator[Callable[[], Chunk]]:
        for load in islice(self._loads(), start, None):
            yield partial(_run, function, load)

    def _results(self, task: Callable[[Chunk], Any]) -> Iterator[Any]:
        under_way: deque[Future[Any]] = deque()
        pool = ThreadPoolExecutor(self._n_threads, thread_name_prefix="softmargin-chunks")
        count = 0
        try:
            with one_blas_thread():
                for load in self._loads():
                    under_way.append(pool.submit(_run, task, load))
                    count += 1
                    if len(under_way) >= _AHEAD * self._n_threads:
                        yield under_way.popleft().result()
                while under_way:
                    yield under_way.popleft().result()
            self.n_chunks = count
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _loads(self) -> Iterator[Callable[[], Chunk]]:
        """A function for each chunk: from the cache where it is kept, from its source otherwise."""
        number = 0
        while self._cache is not None and number in self._cache:
            yield partial(self._cache.get, number)
            number += 1
        if self.n_chunks is not None and number == self.n_chunks:
            return
        for later, decode in enumerate(self._pieces(number), start=number):
            yield partial(self._decoded, later, decode)

    def _decoded(self, number: int, decode: Callable[[], Chunk]) -> Chunk:
        chunk = decode()
        if self._cache is not None and self._seen[number] >= self._patience:
            self._cache.put(number, chunk)
        self._seen[number] += 1
        return chunk


def _run(task: Callable[[Chunk], Any], load: Callable[[], Chunk]) -> Any:
    return task(load())
