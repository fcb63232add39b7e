"""Trees as tables over their nodes, which a graph without branches descends by looking things up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import TreeScore

__all__ = ["MOST_CODES", "NodeTables"]

Array = NDArray[Any]

MOST_CODES = 256  # of a category, as the masks of trees have bits


@dataclass(frozen=True)
class NodeTables:
    """Trees as tables over their nodes; ``members`` are the categories that go left, ``first`` where a node's begin."""

    roots: Array
    depth: int
    features: Array
    thresholds: Array
    left: Array
    right: Array
    missing_left: Array
    categorical: Array
    first: Array
    members: Array

    @classmethod
    def of(cls, trees: TreeScore) -> NodeTables:
        nodes = np.asarray(trees.nodes, dtype=np.int64)
        own, inner = np.arange(len(nodes)), nodes[:, 0] >= 0
        left, right = np.where(inner, nodes[:, 3], own), np.where(inner, nodes[:, 4], own)
        depths = np.zeros(len(nodes), dtype=int)
        for k in np.flatnonzero(inner):  # children follow their parents
            depths[[left[k], right[k]]] = depths[k] + 1
        categorical = inner & np.isnan(trees.thresholds)
        places = np.cumsum(categorical) - 1
        bits = np.unpackbits(trees.masks[categorical].astype("<u8").view(np.uint8), axis=1, bitorder="little")
        return cls(
            trees.roots[:, 0].astype(np.int64),
            int(depths.max(initial=0)),
            np.maximum(nodes[:, 0], 0),
            np.where(np.isnan(trees.thresholds), 0.0, trees.thresholds),
            left,
            right,
            nodes[:, 2] != 0,
            categorical,
            np.where(categorical, places * MOST_CODES, 0),
            bits.astype(bool).ravel(),
        )
