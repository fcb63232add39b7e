"""Scores of new rows under a list of rules: ``b_k + sum_t a_kt h_t(x)``.

Over a dense matrix of numbers every rule is a run of comparisons ``low < x_j <= high`` (or "x_j is missing"), which one
compiled loop reads row by row, so that a single row costs microseconds. Frames and sparse matrices are asked column by
column instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.coverage import score_rows
from softmargin.expansions.rules.columns import cover
from softmargin.expansions.rules.literals import ABOVE, AT_MOST, MISSING, Rule
from softmargin.expansions.rules.table import Table

__all__ = ["ColumnScore", "RuleScore"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class RuleScore:
    """Coefficients (channels, rules) of rules worth +1 or -1, and an intercept per channel."""

    rules: tuple[Rule, ...]
    coef: Array
    intercept: Array

    @cached_property
    def _program(self) -> tuple[NDArray[Any], ...] | None:
        return _compile(self.rules)

    def __call__(self, table: Table) -> Array:
        """Scores (rows, channels)."""
        matrix = table.matrix
        if matrix is None or self._program is None:
            return self._by_columns(table)
        out = np.empty((len(matrix), len(self.coef)))
        points = np.ascontiguousarray(2 * self.coef.T, dtype=np.float64)
        score_rows(matrix, *self._program, points, self.intercept - self.coef.sum(axis=1), out)
        return out

    def first(self, table: Table) -> Array:
        """Scores of the first channel."""
        return self(table)[:, 0]

    def _by_columns(self, table: Table) -> Array:
        columns = cover(self.rules, table)
        return np.column_stack([b + columns.apply(a) for a, b in zip(self.coef, self.intercept, strict=True)])


@dataclass(frozen=True)
class ColumnScore:
    """Coefficients (channels, columns) of the columns of a table themselves, and an intercept per channel."""

    coef: Array
    intercept: Array

    def __call__(self, table: Table) -> Array:
        """Scores (rows, channels)."""
        return table.numbers() @ self.coef.T + self.intercept


def _compile(rules: tuple[Rule, ...]) -> tuple[NDArray[Any], ...] | None:
    """The literals of all rules in a row (features, ops, thresholds), and where rules start; None with categories."""
    literals = [literal for rule in rules for literal in rule.literals]
    if any(literal.op not in (AT_MOST, ABOVE, MISSING) for literal in literals):
        return None
    starts = np.concatenate([[0], np.cumsum([len(rule.literals) for rule in rules])])
    return (
        np.array([literal.feature for literal in literals], dtype=np.int32),
        np.array([literal.op for literal in literals], dtype=np.int32),
        np.array([0.0 if literal.op == MISSING else literal.value for literal in literals], dtype=np.float64),
        starts.astype(np.int32),
    )
