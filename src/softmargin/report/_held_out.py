"""The rows a report is about: what the model says of them, and their columns one at a time.

A column is replaced by values of the same column in other rows, so that its type, categories and missing values stay
what the model was fitted to, whatever they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin._constraints import check_lengths, said_of
from softmargin.expansions import is_missing, with_rows

__all__ = ["Column", "HeldOut", "as_table", "shorten"]

Array = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]

_MOST_LEVELS = 12


def shorten(text: Any, most: int = 80) -> str:
    """Names and labels on the page: text of bounded length, whatever they were."""
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def as_table(X: Any) -> Any:
    """Rows that can be taken by number: a list of them is an array, of objects where they hold text."""
    if not isinstance(X, (list, tuple, memoryview)):
        return with_rows(X)
    with said_of("X"):
        check_lengths(X)
        table = np.asarray(X)
    return np.asarray(X, dtype=object) if table.dtype.kind in "US" else table


@dataclass(frozen=True)
class Column:
    """One column: numbers, or categories of which the frequent ones are ``levels``; ``other`` is neither."""

    name: str
    kind: str
    values: NDArray[Any]
    levels: tuple[str, ...] = ()

    @classmethod
    def read(cls, name: Any, values: NDArray[Any]) -> Column:
        if values.dtype.kind in "iufb":
            return cls(shorten(name), "number", values.astype(np.float64))
        missing = is_missing(values)
        text = np.where(missing, "", [str(value) for value in values])
        found, counts = np.unique(text[~missing], return_counts=True)
        if len(found) > max(_MOST_LEVELS, len(text) // 5):
            return cls(shorten(name), "other", text)
        return cls(shorten(name), "category", text, tuple(found[np.argsort(-counts, kind="stable")][:_MOST_LEVELS]))


@dataclass(frozen=True)
class HeldOut:
    """A fitted classifier, rows it has not seen, their class codes and its probabilities of them."""

    model: Any
    X: Any
    codes: Rows
    classes: NDArray[Any]
    P: Array
    seed: int = 0

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def names(self) -> list[str]:
        return [shorten(label, 200) for label in self.classes]

    def sample(self, most: int, purpose: int = 0) -> Rows:
        """At most ``most`` rows, in order; another purpose, another draw."""
        if len(self) <= most:
            return np.arange(len(self))
        rng = np.random.default_rng([self.seed, purpose])
        return np.sort(rng.choice(len(self), most, replace=False))

    @cached_property
    def columns(self) -> list[Column]:
        """Every column; none where rows are sparse or not a table."""
        X = self.X
        if sparse.issparse(X) or getattr(X, "ndim", 0) != 2:
            return []
        if hasattr(X, "iloc"):
            return [Column.read(name, _plain(X.iloc[:, j])) for j, name in enumerate(X.columns)]
        X = np.asarray(X)
        return [Column.read(f"x{j}", X[:, j]) for j in range(X.shape[1])]

    def number(self, row: int) -> int:
        """What the row is called: its label in a frame numbered by whole numbers, its position otherwise."""
        if hasattr(self.X, "iloc") and getattr(self.X.index.dtype, "kind", "O") in "iu":
            return int(self.X.index[row])
        return row

    def take(self, rows: Rows) -> Any:
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def with_column_from(self, rows: Rows, j: int, source: Rows) -> Any:
        """The rows, with the values of column ``j`` in the rows ``source``."""
        part = self.take(rows).copy()
        if hasattr(part, "iloc"):
            part.isetitem(j, self.X.iloc[source, j].set_axis(part.index))
        else:
            part[:, j] = self.X[source, j]
        return part

    def probability(self, X: Any) -> Array:
        return np.asarray(self.model.predict_proba(X), dtype=np.float64)


def _plain(series: Any) -> NDArray[Any]:
    """Numbers, nullable ones included, as floats; everything else is compared as text."""
    if getattr(series.dtype, "kind", "O") in "iufb":
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(series.astype(object))
