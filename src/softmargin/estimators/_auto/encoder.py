"""From a raw table to numbers: what each column is, and the features it becomes.

A column is a number, a category, a date or a text, or it is dropped because it says nothing (one value) or names rows
instead of describing them. Numbers come in several forms: standardised ("plain"), as normal scores of their weighted
ranks, which neither skewness nor outliers bend ("ranks"), and as cubic splines of those ("splines"). Missing numbers
become medians with an indicator; missing names are a category of their own. A weight of two counts as two rows
throughout, and the order of the rows never matters.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from softmargin.expansions import Column, Table

__all__ = ["ColumnDecision", "KeptColumns", "SparseEncoder", "SwappedColumn", "TableEncoder"]

Array = NDArray[np.floating[Any]]

_NAMELIKE = 0.9  # share of distinct values from which words name rows
_WORDS = 3.0  # mean number of words from which strings are text
_MOST_LEVELS = 40  # of a category; rarer ones are one level together
_MOST_TERMS, _TOPICS = 5000, 50
_MOST_KNOTS = 500  # of the ranks of one column
_KNOTS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])  # of splines, in standard deviations of the normal scores
_FAR = 20.0  # standard deviations at which a plain number is cut off, so that one cell cannot own a model


@dataclass(frozen=True)
class ColumnDecision:
    """What one column was taken for, and why."""

    name: str
    kind: str
    reason: str


@dataclass(frozen=True)
class NormalScores:
    """Values to normal quantiles of their mid-ranks, linear in between and constant beyond."""

    values: Array
    scores: Array

    @classmethod
    def learn(cls, column: Array, weight: Array) -> NormalScores:
        """The map of one column."""
        values, place = np.unique(column, return_inverse=True)
        mass = np.bincount(place, weights=weight)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), _MOST_KNOTS)).round().astype(np.intp))
        return cls(values[kept], np.clip(ndtri(middle[kept]), -4.0, 4.0))

    def __call__(self, column: Array) -> Array:
        return np.interp(column, self.values, self.scores)


class TableEncoder:
    """Learns the columns of a table; ``transform`` gives one of its forms."""

    def __init__(self, names: Sequence[str], dates: Sequence[int] = ()) -> None:
        self.names, self.dates = list(names), list(dates)

    def fit(self, table: Table, weight: Array) -> TableEncoder:
        """Decide what the columns are and learn medians, scales, ranks, levels and words."""
        self.decisions = [_decide(table, j, name) for j, name in enumerate(self.names)]
        for j in self.dates:
            if self.decisions[j].kind == "number":
                self.decisions[j] = replace(self.decisions[j], reason="a date, as days")
        numbers = self._numbers(table)
        self.medians = np.array([_weighted_median(column, weight) for column in numbers.T])
        self.gappy = np.flatnonzero(np.isnan(numbers).any(axis=0))
        filled = self._filled(numbers)
        self.means = np.average(filled, axis=0, weights=weight) if filled.size else np.zeros(filled.shape[1])
        self.scales = _spread(filled - self.means, weight) if filled.size else np.ones(filled.shape[1])
        self.ranks = [NormalScores.learn(column, weight) for column in filled.T]
        self.splines = None
        if filled.shape[1]:
            knots = np.repeat(_KNOTS[:, None], filled.shape[1], axis=1)
            self.splines = SplineTransformer(knots=knots, include_bias=False, extrapolation="linear").fit(knots)
        self._fit_words(table)
        return self

    def _fit_words(self, table: Table) -> None:
        categories = self._categories(table)
        self.onehot = None
        if categories.shape[1]:
            self.onehot = OneHotEncoder(
                handle_unknown="infrequent_if_exist", min_frequency=3, max_categories=_MOST_LEVELS, drop="if_binary"
            ).fit(categories)
        self.texts: list[tuple[int, TfidfVectorizer, TruncatedSVD | None]] = []
        for j in self._of("text"):
            words = TfidfVectorizer(max_features=_MOST_TERMS, ngram_range=(1, 2), sublinear_tf=True)
            terms = words.fit_transform(_strings(table, j))
            topics = min(_TOPICS, terms.shape[1] - 1, terms.shape[0] - 1)
            svd = TruncatedSVD(topics, random_state=0).fit(terms) if topics > 1 else None
            self.texts.append((j, words, svd))

    def transform(self, table: Table, form: str = "plain") -> Any:
        """The features of a table: dense "plain", "ranks" or "splines" with texts as topics, or sparse "words".

        "columns" is the table itself without what was dropped, texts as topics: for machines that read names and gaps.
        """
        if form == "columns":
            return self._columns(table)
        numbers, blocks = self._numbers(table), []
        if numbers.shape[1]:
            blocks.append(self._numeric(self._filled(numbers), form))
            blocks.append(np.isnan(numbers[:, self.gappy]).astype(float))
        if self.onehot is not None:
            with warnings.catch_warnings():  # a level never seen counts as a rare one: decided, not a surprise
                warnings.simplefilter("ignore", UserWarning)
                levels = self.onehot.transform(self._categories(table))
            blocks.append(levels if form == "words" else levels.toarray())
        blocks += self._text_blocks(table, form)
        if form == "words":
            return sparse.csr_array(sparse.hstack([sparse.csr_array(block) for block in blocks]))
        return np.column_stack(blocks) if blocks else np.zeros((len(table), 0))

    def _text_blocks(self, table: Table, form: str) -> list[Any]:
        blocks = []
        for j, words, svd in self.texts:
            terms = words.transform(_strings(table, j))
            if form != "words":
                terms = terms.toarray() if svd is None else svd.transform(terms) * np.sqrt(_TOPICS)
            blocks.append(terms)
        return blocks

    def _columns(self, table: Table) -> Table:
        kept = sorted(self._of("number") + self._of("category"))
        if len(kept) == table.shape[1]:
            return table
        topics = self._text_blocks(table, "columns")
        return KeptColumns(table, kept, np.column_stack(topics) if topics else np.zeros((len(table), 0)))

    @property
    def has_text(self) -> bool:
        """Whether some column is text."""
        return bool(self.texts)

    @property
    def n_numbers(self) -> int:
        """The numeric columns."""
        return len(self._of("number"))

    def _numeric(self, filled: Array, form: str) -> Array:
        if form in ("plain", "words"):
            return np.clip((filled - self.means) / self.scales, -_FAR, _FAR)
        scores = np.column_stack([rank(column) for rank, column in zip(self.ranks, filled.T, strict=True)])
        if form == "ranks" or self.splines is None:
            return scores
        return np.column_stack([scores, self.splines.transform(scores)])

    def _of(self, kind: str) -> list[int]:
        return [j for j, decision in enumerate(self.decisions) if decision.kind == kind]

    def _numbers(self, table: Table) -> Array:
        columns = [table.column(j).values for j in self._of("number")]
        return np.column_stack(columns) if columns else np.zeros((len(table), 0))

    def _categories(self, table: Table) -> NDArray[Any]:
        columns = [_strings(table, j) for j in self._of("category")]
        return np.column_stack(columns).astype(object) if columns else np.zeros((len(table), 0), dtype=object)

    def _filled(self, numbers: Array) -> Array:
        return np.where(np.isnan(numbers), self.medians, numbers) if numbers.size else numbers


def _spread(apart: Array, weight: Array) -> Array:
    """The standard deviation of each column about zero, 1 where that is zero; squares of 1e155 do not overflow."""
    largest = np.abs(apart).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return np.where(largest > 0, largest * np.sqrt(np.average(np.square(apart / unit), axis=0, weights=weight)), 1.0)


def _weighted_median(column: Array, weight: Array) -> float:
    present = ~np.isnan(column)
    order = np.argsort(column[present], kind="stable")
    mass = np.cumsum(weight[present][order])
    below, above = np.searchsorted(mass, mass[-1] / 2, "left"), np.searchsorted(mass, mass[-1] / 2, "right")
    values = column[present][order]
    return float((values[below] + values[min(above, len(values) - 1)]) / 2)


def _strings(table: Table, j: int) -> NDArray[Any]:
    column = table.column(j)
    return np.array(
        ["" if gone else str(value) for value, gone in zip(column.values, column.missing, strict=True)], dtype=object
    )


def _decide(table: Table, j: int, name: str) -> ColumnDecision:
    column = table.column(j)
    present = column.values[~column.missing]
    if not len(present):
        return ColumnDecision(name, "dropped", "every value is missing")
    distinct = len(np.unique(present.astype(str) if column.categorical else present))
    if distinct == 1 and not column.missing.any():
        return ColumnDecision(name, "dropped", "one value only")
    if not column.categorical:
        return ColumnDecision(name, "number", f"{distinct} distinct numbers")
    words = float(np.mean([len(str(value).split()) for value in present[:2000]]))
    if words >= _WORDS and distinct > 0.2 * len(present):
        return ColumnDecision(name, "text", f"{words:.0f} words in a row")
    if distinct > _NAMELIKE * len(present) and len(present) > 20:
        return ColumnDecision(name, "dropped", f"{distinct} names in {len(present)} rows: it names rows")
    return ColumnDecision(name, "category", f"{distinct} levels")


class SparseEncoder:
    """The same for a sparse matrix of numbers: its columns scaled ("words"), and their leading directions ("plain")."""

    texts, n_numbers, has_text, dates = (), 0, True, ()

    def __init__(self, names: Sequence[str], dates: Sequence[int] = ()) -> None:
        self.decisions = [ColumnDecision(name, "number", "a column of a sparse matrix") for name in names]

    def fit(self, X: Any, weight: Array) -> SparseEncoder:
        """Learn the size of each column and the leading directions."""
        square = np.asarray(X.multiply(X).T @ weight).ravel() / weight.sum()
        self.scales = np.where(square > 0, np.sqrt(square), 1.0)
        self.svd = None
        if X.shape[1] > _TOPICS:
            topics = min(_TOPICS, X.shape[0])
            self.svd = TruncatedSVD(topics, random_state=0).fit(self.transform(X, "words"))
        return self

    def transform(self, X: Any, form: str = "plain") -> Any:
        """Scaled columns, sparse ("words"), or coordinates along the leading directions, dense."""
        scaled = sparse.csr_array(X @ sparse.diags_array(1 / self.scales))
        if form == "words":
            return scaled
        return scaled.toarray() if self.svd is None else self.svd.transform(scaled)


class SwappedColumn(Table):
    """One row of a table, repeated, with one column taken from other rows."""

    def __init__(self, table: Table, row: int, others: NDArray[np.intp], swapped: int) -> None:
        self.kinds, self.shape, self._swapped = table.kinds, (len(others), table.shape[1]), swapped
        self._same, self._others = table[np.full(len(others), row)], table[others]

    matrix = None

    def column(self, j: int) -> Column:
        return (self._others if j == self._swapped else self._same).column(j)


class KeptColumns(Table):
    """Some columns of a table, then columns of numbers."""

    matrix = None

    def __init__(self, table: Table, kept: Sequence[int], numbers: Array) -> None:
        self._table, self._kept, self._further = table, list(kept), numbers
        self.shape = (len(table), len(self._kept) + numbers.shape[1])
        self.kinds = [table.kinds[j] for j in self._kept] + [False] * numbers.shape[1]

    def __getitem__(self, rows: NDArray[Any]) -> KeptColumns:
        return KeptColumns(self._table[rows], self._kept, self._further[rows])

    def column(self, j: int) -> Column:
        if j < len(self._kept):
            return self._table.column(self._kept[j])
        values = np.ascontiguousarray(self._further[:, j - len(self._kept)])
        return Column(values, np.isnan(values), False)
