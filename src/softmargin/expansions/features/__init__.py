"""Linear features, dense and sparse."""

from softmargin.expansions.features.base import (
    FEW_NUMBERS,
    Features,
    LinearScore,
    ManyTerm,
    Sums,
    parts_of,
    totals_of,
)
from softmargin.expansions.features.dense import DenseFeatures
from softmargin.expansions.features.sparse import SparseFeatures, canonical_sparse, with_rows

__all__ = [
    "FEW_NUMBERS",
    "DenseFeatures",
    "Features",
    "LinearScore",
    "ManyTerm",
    "SparseFeatures",
    "Sums",
    "canonical_sparse",
    "with_rows",
    "parts_of",
    "totals_of",
]
