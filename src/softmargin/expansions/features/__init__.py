"""Linear features, dense and sparse."""

from softmargin.expansions.features.base import Features, LinearScore
from softmargin.expansions.features.dense import DenseFeatures
from softmargin.expansions.features.sparse import SparseFeatures, canonical_sparse

__all__ = ["DenseFeatures", "Features", "LinearScore", "SparseFeatures", "canonical_sparse"]
