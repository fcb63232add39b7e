"""Rows that are never in memory together: in files, from an iterator, or on the workers of a cluster."""

from softmargin.expansions.chunks.cache import ChunkCache
from softmargin.expansions.chunks.chunk import (
    Chunk,
    ChunkVector,
    ClassCodes,
    ClassSigns,
    FoldWeights,
    RowWeights,
    SignedWeights,
)
from softmargin.expansions.chunks.coded import CodedChunks, coded_part
from softmargin.expansions.chunks.dask import DaskChunks, by_partition, is_dask, rows_of_dask
from softmargin.expansions.chunks.first_look import FirstLook
from softmargin.expansions.chunks.given import check_same_names, column_names, given_chunk
from softmargin.expansions.chunks.local import LocalChunks
from softmargin.expansions.chunks.parquet import ParquetPlan
from softmargin.expansions.chunks.parquet_facts import FileFacts
from softmargin.expansions.chunks.parts import part_of
from softmargin.expansions.chunks.passes import ChunkedFeatures, ChunkedLandmarks
from softmargin.expansions.chunks.rows import ChunkedLabels, ChunkedRows, check_fits_chunks

__all__ = [
    "Chunk",
    "ChunkCache",
    "ChunkVector",
    "ChunkedFeatures",
    "ChunkedLabels",
    "ChunkedLandmarks",
    "ChunkedRows",
    "ClassCodes",
    "ClassSigns",
    "CodedChunks",
    "DaskChunks",
    "FileFacts",
    "FirstLook",
    "FoldWeights",
    "LocalChunks",
    "ParquetPlan",
    "RowWeights",
    "SignedWeights",
    "by_partition",
    "check_fits_chunks",
    "check_same_names",
    "coded_part",
    "column_names",
    "given_chunk",
    "is_dask",
    "part_of",
    "rows_of_dask",
]
