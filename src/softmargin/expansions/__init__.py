"""Which functions can f be?"""

from softmargin._threads import in_threads, usable_cores
from softmargin.expansions.build import expand
from softmargin.expansions.chunks import (
    Chunk,
    ChunkCache,
    ChunkedLabels,
    ChunkedRows,
    ClassCodes,
    ClassSigns,
    CodedChunks,
    DaskChunks,
    FileFacts,
    FoldWeights,
    LocalChunks,
    ParquetPlan,
    RowWeights,
    SignedWeights,
    by_partition,
    check_fits_chunks,
    check_same_names,
    coded_part,
    column_names,
    given_chunk,
    is_dask,
    part_of,
    rows_of_dask,
)
from softmargin.expansions.features import (
    DenseFeatures,
    Features,
    LinearScore,
    SparseFeatures,
    canonical_sparse,
    with_rows,
)
from softmargin.expansions.kernels import AdditiveColumns, AdditiveSplines, Kernel, KernelColumns, KernelScore
from softmargin.expansions.kernels import available as available_kernels
from softmargin.expansions.kernels.gram import require_gram_shape
from softmargin.expansions.landmarks import NystroemFeatures, most_landmarks, nested_landmarks
from softmargin.expansions.memory import fits, require_memory, require_square
from softmargin.expansions.protocol import Expansion, Response, RowPasses, Totals, row_blocks
from softmargin.expansions.rank import is_nonzero
from softmargin.expansions.row_lottery import row_lottery
from softmargin.expansions.rules.bins import BinnedTable
from softmargin.expansions.rules.cells import as_levels, held, is_missing
from softmargin.expansions.rules.columns import RuleColumns, cover, pack
from softmargin.expansions.rules.literals import ABOVE, AT_MOST, EQUAL, MISSING, UNEQUAL, Literal, Rule
from softmargin.expansions.rules.score import ColumnScore, RuleScore
from softmargin.expansions.rules.sql import Dialect, dialect_of
from softmargin.expansions.rules.table import Column, Table, needs_table
from softmargin.expansions.rules.tree_score import TreeScore

__all__ = [
    "ABOVE",
    "AT_MOST",
    "EQUAL",
    "MISSING",
    "UNEQUAL",
    "AdditiveColumns",
    "AdditiveSplines",
    "BinnedTable",
    "Chunk",
    "ChunkCache",
    "ChunkedLabels",
    "ChunkedRows",
    "ClassCodes",
    "ClassSigns",
    "CodedChunks",
    "DaskChunks",
    "FileFacts",
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
    "Column",
    "ColumnScore",
    "DenseFeatures",
    "Dialect",
    "Expansion",
    "Features",
    "Kernel",
    "KernelColumns",
    "KernelScore",
    "LinearScore",
    "Literal",
    "NystroemFeatures",
    "Response",
    "RowPasses",
    "Rule",
    "RuleColumns",
    "RuleScore",
    "SparseFeatures",
    "Table",
    "Totals",
    "TreeScore",
    "as_levels",
    "available_kernels",
    "canonical_sparse",
    "cover",
    "dialect_of",
    "expand",
    "fits",
    "held",
    "in_threads",
    "is_missing",
    "is_nonzero",
    "needs_table",
    "most_landmarks",
    "nested_landmarks",
    "pack",
    "require_gram_shape",
    "require_memory",
    "require_square",
    "row_blocks",
    "row_lottery",
    "usable_cores",
    "with_rows",
]
