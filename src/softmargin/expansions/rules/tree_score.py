"""Scores of new rows under boosted trees: ``b_k + sum of the leaves a row ends in``.

A table becomes a matrix of numbers once, categories by their place in the training list, and one compiled loop sends
every row down every tree. Missing values go the way they went in training, or with the larger part where training saw
none; so do categories that training did not see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.trees import score_trees
from softmargin.expansions.rules.table import Table

__all__ = ["TreeScore"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class TreeScore:
    """Trees as arrays over all their nodes.

    ``nodes`` are (feature or -1, code, side of missing values, left, right), ``roots`` (first node, channel) of each
    tree, ``categories`` the listed values of categorical columns and whether unlisted ones had a code of their own.
    """

    intercept: Array
    nodes: NDArray[np.int32]
    thresholds: Array
    masks: NDArray[np.uint64]
    values: Array
    roots: NDArray[np.int32]
    categories: dict[int, tuple[tuple[Any, ...], bool]]

    def __call__(self, table: Table) -> Array:
        """Scores (rows, channels)."""
        out = np.tile(self.intercept, (len(table), 1))
        self.add_to(out, self.numbers(table))
        return out

    def staged(self, table: Table) -> Iterator[Array]:
        """Scores after 0, 1, 2, ... rounds, a tree per channel each."""
        out, numbers = np.tile(self.intercept, (len(table), 1)), self.numbers(table)
        yield out.copy()
        for first in range(0, len(self.roots), len(self.intercept)):
            replace(self, roots=self.roots[first : first + len(self.intercept)]).add_to(out, numbers)
            yield out.copy()

    def add_to(self, out: Array, numbers: Array) -> None:
        """Add the leaves of all trees to ``out``, for rows already turned into numbers."""
        score_trees(numbers, self.nodes, self.thresholds, self.masks, self.values, self.roots, out)

    def numbers(self, table: Table) -> Array:
        """The columns of a table as numbers: categories by their code, missing and unseen values NaN."""
        matrix = table.matrix
        if matrix is not None:
            return matrix
        columns = np.empty((len(table), table.shape[1]))
        for j in range(table.shape[1]):
            column = table.column(j)
            if not column.categorical:
                columns[:, j] = column.values
                continue
            listed, pooled = self.categories[j]
            code = {value: place for place, value in enumerate(listed)}
            unseen = float(len(listed)) if pooled else np.nan
            columns[:, j] = [
                np.nan if gap else code.get(value, unseen)
                for value, gap in zip(column.values, column.missing, strict=True)
            ]
        return columns
