"""The columns a model reads, as formulas: one matrix where all are numbers, otherwise one input per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin.export._formula import Affine, Column, Formula, Levels, Matrix, NotExportable, concat, is_truth, kind_of
from softmargin.export._functions import is_missing, where

__all__ = ["Rows", "as_number", "check_distinct"]


@dataclass(frozen=True)
class Rows:
    """The columns of a table; ``whole`` is their matrix where they come as one."""

    columns: tuple[Formula, ...]
    names: tuple[str, ...]
    whole: Formula | None = None

    @classmethod
    def read(cls, columns: Sequence[Column]) -> Rows:
        """The columns of a table as it is given; numbers come as one matrix."""
        names = tuple(column.name for column in columns)
        if all(column.kind == "number" for column in columns):
            return cls.of(Matrix(names), names)
        check_distinct(names)
        return cls(tuple(columns), names)

    @classmethod
    def of(cls, matrix: Formula, names: Sequence[str] | None = None) -> Rows:
        """The columns of a formula."""
        named = tuple(names) if names is not None else tuple(f"x{j}" for j in range(matrix.width))
        return cls(tuple(matrix[[j]] for j in range(matrix.width)), named, matrix)

    @property
    def matrix(self) -> Formula:
        """All columns as numbers."""
        if self.whole is not None:
            return self.whole
        for column, name in zip(self.columns, self.names, strict=True):
            if kind_of(column) == "text":
                raise NotExportable(f"Column {name!r} is text where numbers are needed; encode it in the pipeline.")
        return concat([as_number(column) for column in self.columns])

    def take(self, places: Sequence[int]) -> Rows:
        """Some of the columns."""
        columns, names = tuple(self.columns[j] for j in places), tuple(self.names[j] for j in places)
        return Rows(columns, names, None if self.whole is None else self.whole[np.asarray(places, dtype=np.intp)])

    def codes(self, j: int, listed: Sequence[Any], pooled: bool) -> Formula:
        """The place of a category in a list; unlisted ones are the next or missing."""
        column = self.columns[j]
        unseen: Any = float(len(listed)) if pooled else np.nan
        if not listed:
            return where(is_missing(column), np.nan, unseen)
        levels = Levels(column, tuple(listed))
        place = Affine(levels, np.arange(1.0, len(listed) + 1)[:, None])
        return where(is_missing(column), np.nan, where(place > 0.0, place - 1.0, unseen))


def check_distinct(names: Sequence[str]) -> None:
    """Refuse columns of one name, which only their place would tell apart."""
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise NotExportable(f"Two columns are called {twice!r}; give each a name of its own and fit again.")


def as_number(x: Formula) -> Formula:
    """Truth values as one and zero."""
    return where(x, 1.0, 0.0) if is_truth(x) else x
