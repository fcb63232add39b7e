"""A part of chunked rows: those of one fold, or all others, seen through the same chunks.

Chunks draw the fold of each of their rows (:class:`~softmargin.expansions.chunks.chunk.FoldWeights`), always the same,
so a part takes no memory and no pass; a task gets a copy of its rows of a chunk. Any fit of chunked rows is thereby a
fit of a part of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin.expansions.chunks.chunk import Chunk, FoldWeights, Source
from softmargin.expansions.chunks.rows import ChunkedLabels, ChunkedRows

__all__ = ["part_of"]


@dataclass(frozen=True)
class Selected:
    """A task on the rows of a part."""

    folds: FoldWeights
    task: Callable[[Chunk], Any]

    def __call__(self, chunk: Chunk) -> Any:
        inside = self.folds.folds(chunk) == self.folds.fold
        return self.task(chunk.take(np.flatnonzero(inside == self.folds.held)))


@dataclass
class PartOfChunks:
    """The source of a part."""

    source: Source
    folds: FoldWeights

    @property
    def n_chunks(self) -> int | None:
        """As many as the whole has; some may be empty."""
        return self.source.n_chunks

    @property
    def decodes(self) -> bool:
        """Whether a pass over the whole decodes files."""
        return self.source.decodes

    def collect(self, task: Callable[[Chunk], Any]) -> list[Any]:
        """``[task(chunk) for chunk in chunks]``."""
        return self.source.collect(Selected(self.folds, task))

    def total(self, task: Callable[[Chunk], Any]) -> Any:
        """The sum of ``task(chunk)``."""
        return self.source.total(Selected(self.folds, task))

    def mapped(self, function: Callable[[Chunk], Chunk]) -> Source:
        """The chunks that ``function`` makes of these."""
        return self.source.mapped(Selected(self.folds, function))


def part_of(
    X: ChunkedRows, y: ChunkedLabels, n_folds: int, fold: int, *, held: bool, seed: int = 0
) -> tuple[ChunkedRows, ChunkedLabels]:
    """The rows of one fold (``held``) or all others, with their labels."""
    folds = FoldWeights(n_folds=n_folds, fold=fold, held=held, seed=seed)
    rows = X.restricted(PartOfChunks(X.source, folds))
    return rows, ChunkedLabels(rows, y.coded)
