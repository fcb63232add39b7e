"""A table of columns: what rules are written about.

A rule asks one column at a time, so a table keeps columns as they are: numbers (NaN is missing) or categories (strings,
booleans, or whatever a pandas categorical holds; None, NaN and NA are missing). A matrix, dense or sparse, is a table
of numeric columns. Frames decide column by column:

* numeric dtypes are numbers; ``bool``, ``category`` and text are categories;
* a column of Python objects is text, booleans or numbers if all its present values are, and an error otherwise.

What a column was at ``fit`` it is at ``predict``, in whatever container: ``kinds`` are decided once and handed on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from softmargin.expansions.rules.cells import as_levels, as_numbers, held

__all__ = ["Column", "Table", "needs_table"]


@dataclass(frozen=True)
class Column:
    """The values of one feature; ``values`` is float64 for numbers and an object array for categories."""

    values: np.ndarray
    missing: np.ndarray
    categorical: bool


def needs_table(X: Any, kinds: Sequence[bool | str] | None = None) -> bool:
    """Whether ``X`` is a frame with a column that is not plainly numeric, or was not at fit (``kinds``)."""
    return _is_frame(X) and (any(kinds or ()) or any(not _plainly_numeric(_dtype(X, j)) for j in range(X.shape[1])))


class Table:
    """Rows of named columns, over a matrix or a data frame, without copying it.

    ``kinds`` says what the columns are: False for numbers; for categories what their levels are, "text", "boolean" or
    "number", and True where that is not one of them. None decides from the data.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, X: Any, kinds: Sequence[bool | str] | None = None, rows: np.ndarray | None = None) -> None:
        self._source = sparse.csc_array(X) if sparse.issparse(X) else X
        self._rows = rows
        self._frame = _is_frame(X)
        self.shape = (X.shape[0] if rows is None else len(rows), X.shape[1])
        self.kinds = list(kinds) if kinds is not None else [self._kind(j) for j in range(X.shape[1])]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: np.ndarray) -> Table:
        rows = np.asarray(rows)
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return Table(self._source, self.kinds, rows if self._rows is None else self._rows[rows])

    @property
    def matrix(self) -> np.ndarray | None:
        """The rows as float64 numbers where they are a dense matrix; None otherwise."""
        if self._frame or not isinstance(self._source, np.ndarray) or any(self.kinds):
            return None
        rows = self._source if self._rows is None else self._source[self._rows]
        return rows.astype(np.float64, copy=False) if rows.dtype.kind in "fiub" else None

    def numbers(self) -> np.ndarray:
        """The rows as a dense float64 matrix without gaps; anything else is refused by name."""
        for j, categorical in enumerate(self.kinds):
            if categorical:
                raise ValueError(f"Column {self._name(j)} holds categories; given hypotheses are columns of numbers.")
        matrix = self.matrix
        if matrix is None:
            matrix = np.column_stack([self.column(j).values for j in range(self.shape[1])])
        gaps = np.flatnonzero(np.isnan(matrix).any(axis=0))
        if len(gaps):
            raise ValueError(
                f"Column {self._name(int(gaps[0]))} contains NaN; given hypotheses need a value on every row. "
                "Fill the gaps, or use learner='rules' or 'trees', which read them as they are."
            )
        return matrix

    def column(self, j: int) -> Column:
        """Feature ``j`` of the rows of this table."""
        if self.kinds[j]:
            return Column(*as_levels(self._raw(j, _as_objects), self.kinds[j], self._name(j)), True)
        values = as_numbers(self._raw(j, _to_numpy), self._name(j))
        return Column(values, np.isnan(values), False)

    def _raw(self, j: int, read: Callable[[Any], np.ndarray]) -> np.ndarray:
        if self._frame:
            series = self._source.iloc[:, j] if hasattr(self._source, "iloc") else self._source[:, j]
            if self._rows is not None:  # before cells become Python objects
                series = series.iloc[self._rows] if hasattr(series, "iloc") else series[self._rows]
            return read(series)
        if sparse.issparse(self._source):
            first, last = self._source.indptr[j : j + 2]
            raw = np.zeros(self._source.shape[0])
            raw[self._source.indices[first:last]] = self._source.data[first:last]
        else:
            raw = self._source[:, j]
        return raw if self._rows is None else raw[self._rows]

    def _name(self, j: int) -> str:
        return repr(list(self._source.columns)[j]) if self._frame else str(j)

    def _kind(self, j: int) -> bool | str:
        if not self._frame or _plainly_numeric(_dtype(self._source, j)):
            return False
        dtype = str(_dtype(self._source, j)).lower()
        if dtype.startswith("bool"):
            return "boolean"
        found = (
            {"date"} if dtype.startswith(("date", "time", "duration", "period")) else held(self._raw(j, _as_objects))
        )
        kind = next(iter(found)) if len(found) == 1 and found <= {"text", "boolean", "number"} else True
        if dtype.startswith(("categor", "enum")):
            return kind
        if found and kind is True:
            self._refuse(j, found, dtype)
        return False if kind == "number" else kind

    def _refuse(self, j: int, found: set[str], dtype: str) -> None:
        if found == {"date"}:
            raise ValueError(
                f"Column {self._name(j)} holds dates or times ({dtype}); rules compare numbers and categories. "
                "Convert it to a number (for example days since a fixed date) first."
            )
        raise ValueError(
            f"Column {self._name(j)} mixes {' and '.join(sorted(found))} values; rules need one kind per column. "
            "Convert it to a single type (all text, all numbers or all booleans, None where missing)."
        )


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and not sparse.issparse(X)


def _dtype(X: Any, j: int) -> Any:
    return X.dtypes.iloc[j] if hasattr(X, "iloc") else X.dtypes[j]


def _plainly_numeric(dtype: Any) -> bool:
    return re.match(r"(sparse\[)?(u?int|float)\d", str(dtype).lower()) is not None  # an interval is none


def _to_numpy(series: Any) -> np.ndarray:
    values = series.to_numpy()
    return values if values.dtype.kind in "fiub" else _as_objects(series)


def _as_objects(series: Any) -> np.ndarray:
    """The cells as they are: a gap makes floats of integers otherwise, and NumPy makes integers of dates."""
    if hasattr(series, "iloc"):
        return np.asarray(series.astype(object))
    cells = np.empty(len(series), dtype=object)
    cells[:] = series.to_list()
    return cells
