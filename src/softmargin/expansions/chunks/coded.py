"""Chunked rows as bytes: every column cut at thresholds settled on the sample, one code per cell.

A search for rules asks for histograms of these codes and for nothing else, some hundred times, so chunks are coded once
and kept beside the others. Thresholds are those of :class:`~softmargin.expansions.rules.bins.BinnedTable` on the rows
of the first look: midpoints where a column has few values, weighted quantiles otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.rules import bin_column
from softmargin.expansions.chunks.chunk import Chunk, RowWeights
from softmargin.expansions.chunks.rows import ChunkedRows
from softmargin.expansions.rules.bins import BinnedTable
from softmargin.expansions.rules.table import Table

__all__ = ["CodedChunks", "coded_part"]


@dataclass(frozen=True)
class Coder:
    """The task that codes a chunk: ``X`` becomes the transpose of a contiguous matrix (columns, rows) of bytes."""

    binned: BinnedTable

    def __call__(self, chunk: Chunk) -> Chunk:
        table = Table(chunk.X)
        codes = np.empty(table.shape[::-1], dtype=np.uint8)
        for j, cuts in enumerate(self.binned.cuts):
            bin_column(table.column(j).values, cuts, -1, codes[j])
        return Chunk(codes.T, chunk.y, chunk.weight, chunk.first)


@dataclass(frozen=True)
class CodedChunks:
    """Coded chunks with what their codes mean (``binned`` has no rows), and the sample coded alike."""

    source: Any
    binned: BinnedTable
    sample: Chunk
    times: NDArray[np.floating[Any]]

    @classmethod
    def of(cls, rows: ChunkedRows, weight: RowWeights, max_bins: int) -> CodedChunks:
        """Settle the cuts on the sample and code every chunk."""
        sample = rows.sample
        share = weight.of(sample.chunk) * sample.times
        seen = np.flatnonzero(share > 0)
        table = Table(sample.chunk.X)[seen]
        binned = BinnedTable.from_table(table, share[seen], max_bins)
        binned = replace(binned, codes=np.empty((len(binned.cuts), 0), dtype=np.uint8))
        coder = Coder(binned)
        return cls(rows.source.mapped(coder), binned, coder(sample.chunk), sample.times)


def coded_part(binned: BinnedTable, chunk: Chunk) -> BinnedTable:
    """The table of a coded chunk."""
    return replace(binned, codes=np.ascontiguousarray(chunk.X.T))
