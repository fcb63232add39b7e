"""What a user holds of chunked data: ``X`` and ``y`` that can be fitted and predicted, and nothing is in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions.chunks.chunk import Chunk, Source
from softmargin.expansions.chunks.first_look import Census, FirstLook, Look, Sample

__all__ = ["ChunkedLabels", "ChunkedRows", "check_fits_chunks"]


def check_fits_chunks(estimator: Any) -> None:
    """Refuse a classifier, or the one inside it, that asks for its rows in memory."""
    inner = estimator
    while hasattr(inner, "estimator"):
        inner = inner.estimator
    if not getattr(inner, "_fits_chunks", False):
        raise ValueError(
            f"{type(inner).__name__} fits rows in memory only: give it arrays, or use MarginClassifier, "
            "CoherenceClassifier, RobustSVC, TruncatedLogisticRegression, BalancingSVC, RuleBoostClassifier or "
            "CompositeLeastSquaresClassifier, which fit chunked rows."
        )


class Ahead(Protocol):
    """What a source can tell before any pass."""

    @property
    def census(self) -> Census | None:
        """Rows and classes."""
        ...

    def glimpse(self, room: int | None) -> Sample | None:
        """A few rows of some places within ``room`` bytes, None where they do not show every class."""
        ...


class ChunkedRows:
    """Rows of numbers in chunks; ``shape[0]`` makes a first pass where nobody knows the number of rows yet."""

    ndim = 2

    def __init__(
        self, source: Source, n_columns: int, dtype: Any = np.float64, names: Sequence[str] | None = None
    ) -> None:
        self.source = source
        self.dtype = np.dtype(dtype)
        self.feature_names = None if names is None else np.asarray(names, dtype=object)
        self._n_columns = n_columns
        self.ahead: Ahead | None = None
        self._look: Look | None = None
        self._glimpse: Sample | None = None
        self.unfinished: dict[str, tuple[NDArray[np.floating[Any]], float]] = {}  # where interrupted fits were
        self.memory_limit: int | None = None  # bytes that a fit may keep of these rows between passes

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self.census.n_rows, self._n_columns

    @property
    def n_columns(self) -> int:
        """The number of columns, which takes no pass to know."""
        return self._n_columns

    @property
    def census(self) -> Census:
        """Rows and classes, without a pass where the source can tell."""
        known = None if self._look is not None or self.ahead is None else self.ahead.census
        return self.look if known is None else known

    @property
    def look(self) -> Look:
        """The first look at all rows, made once."""
        if self._look is None:
            task = FirstLook(self._n_columns, self.source.n_chunks, self.memory_limit)
            self._look = Look.merged(self.source.collect(task))
        return self._look

    @property
    def sample(self) -> Sample:
        """Some rows of every chunk, in memory."""
        sample = self.look.sample
        assert sample is not None
        return sample

    @property
    def glimpse(self) -> Sample:
        """Some rows in memory that are good enough to start a fit from, without a pass where the source can."""
        if self._look is None and self._glimpse is None and self.ahead is not None:
            self._glimpse = self.ahead.glimpse(self.memory_limit)
        return self.sample if self._look is not None or self._glimpse is None else self._glimpse

    def restricted(self, source: Source) -> ChunkedRows:
        """The rows of a source that shows a part of these, of which nothing is known yet."""
        rows = copy(self)
        rows.source, rows.ahead, rows._look, rows._glimpse = source, None, None, None
        rows.unfinished = {}
        return rows

    def collect(self, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
        """``function(X)`` of each chunk, put together in the order of the rows."""
        parts = self.source.collect(OfRows(function))
        return np.concatenate([part for part in parts if part is not None])

    def __repr__(self) -> str:
        n = "?" if self._look is None and self.ahead is None else self.shape[0]
        return f"ChunkedRows({n} rows, {self._n_columns} columns, {self.dtype})"


class OfRows:
    """The task that applies a function to the rows of a chunk."""

    def __init__(self, function: Callable[[Any], NDArray[Any]]) -> None:
        self.function = function

    def __call__(self, chunk: Chunk) -> NDArray[Any] | None:
        return None if len(chunk) == 0 else self.function(chunk.X)


class ChunkedLabels:
    """The labels of the same chunks; ``classes`` are given where chunks hold codes of them."""

    def __init__(self, rows: ChunkedRows, classes: NDArray[Any] | None = None) -> None:
        self.rows = rows
        self._classes = classes

    @property
    def coded(self) -> NDArray[Any] | None:
        """The classes that codes stand for, where chunks hold codes."""
        return self._classes

    @property
    def values(self) -> NDArray[Any]:
        """How chunks write each class that has a row of positive weight."""
        census = self.rows.census
        if isinstance(census, Look) and census.sample is not None:
            census.sample.chunk.labels  # noqa: B018 - refuses rows without labels
        return census.values[census.weights > 0]

    @property
    def classes(self) -> NDArray[Any]:
        """The labels themselves, in the same order."""
        return self.values if self._classes is None else self._classes[self.values]

    @property
    def weights(self) -> NDArray[np.floating[Any]]:
        """The total weight of the rows of each class."""
        weights = self.rows.census.weights
        return weights[weights > 0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All labels: for scores and confusion matrices."""
        values = np.concatenate(self.rows.source.collect(_labels_of))
        return values if self._classes is None else self._classes[values]

    def __len__(self) -> int:
        return self.rows.shape[0]

    def __repr__(self) -> str:
        return f"ChunkedLabels of {self.rows!r}"


def _labels_of(chunk: Chunk) -> NDArray[Any]:
    return np.array(chunk.labels)
