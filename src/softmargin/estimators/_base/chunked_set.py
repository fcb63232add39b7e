"""From chunked rows to what a solver by passes sees: classes, weights and signs, none of them a vector in memory."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from softmargin.estimators._base.training_set import check_class_weight, check_targets, weigh_classes
from softmargin.expansions import (
    ChunkedLabels,
    ChunkedRows,
    ClassCodes,
    ClassSigns,
    RowWeights,
    by_partition,
    check_fits_chunks,
    check_same_names,
    column_names,
    is_dask,
    part_of,
    rows_of_dask,
)
from softmargin.solvers import Solution

__all__ = ["ChunkedTrainingSet", "by_chunks", "chunked_rows", "chunked_training_set", "held_out_fit", "is_chunked"]


@dataclass
class ChunkedTrainingSet:
    """The counterpart of ``TrainingSet`` for rows that are elsewhere."""

    X: ChunkedRows
    labels: ChunkedLabels
    weight: RowWeights
    shared: Any = None
    start: Solution | None = None
    is_resident: bool = field(default=False, init=False)

    @property
    def total_weight(self) -> float:
        """The weight of all rows, class weights included."""
        weights = self.labels.weights
        return float(weights @ np.asarray(self.weight.by_class or np.ones(len(weights))))

    def signs(self, positive: int = 1) -> ClassSigns:
        """+1 for one class, -1 for all others."""
        return ClassSigns(self.labels.values[positive])

    @property
    def codes(self) -> ClassCodes:
        """The number of each row's class."""
        return ClassCodes(tuple(self.labels.values))

    def numbered(self, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Row numbers of ``fit``: chunks know theirs."""
        return chosen

    def typical(self) -> tuple[Any, NDArray[np.intp], NDArray[np.floating[Any]]]:
        """Rows in memory with their class codes and weights, from which widths of kernels are measured."""
        sample = self.X.sample
        codes = np.searchsorted(self.labels.values, sample.chunk.labels)
        return sample.chunk.X, codes, sample.chunk.weights * sample.times

    def typical_weight(self) -> NDArray[np.floating[Any]]:
        """The weights of those rows, class weights included."""
        _, codes, counts = self.typical()
        return counts * np.asarray(self.weight.by_class or np.ones(len(self.labels.values)))[codes]


def is_chunked(X: Any) -> bool:
    """Whether rows come in chunks: from files, an iterator or Dask."""
    return isinstance(X, ChunkedRows) or is_dask(X)


def chunked_rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Dask collections as chunked rows, made once for all the fits to come; anything else as it is."""
    return (*rows_of_dask(X, y, sample_weight), None) if is_dask(X) else (X, y, sample_weight)


def chunked_training_set(estimator: Any, X: Any, y: Any, sample_weight: Any) -> ChunkedTrainingSet:
    """Look at the rows once, and keep classes, feature names and class weights on the estimator."""
    if is_dask(X):
        X, y = rows_of_dask(X, y, sample_weight)
    elif sample_weight is not None:
        raise ValueError("sample_weight of chunked rows is a column of theirs: name it where the chunks are made.")
    if not isinstance(y, ChunkedLabels) or y.rows is not X:
        raise ValueError(f"y must be the labels that came with these chunked rows; got {type(y).__name__}.")
    estimator.n_features_in_ = X.n_columns
    vars(estimator).pop("feature_names_in_", None)
    if X.feature_names is not None:
        estimator.feature_names_in_ = X.feature_names
    classes = y.classes
    check_targets(np.repeat(classes, 3))  # rows repeat their labels; where they did not, a warning would say so
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only ({', '.join(map(repr, classes.tolist()))}, among rows of positive weight); "
            "a classifier needs at least two classes."
        )
    estimator.classes_ = classes
    weight = RowWeights()
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is not None:
        check_class_weight(class_weight, classes)
        by_class = weigh_classes(class_weight, classes, np.arange(len(classes)), y.weights)
        estimator.class_weight_ = by_class
        weight = RowWeights(values=tuple(y.values), by_class=tuple(by_class.tolist()))
    return ChunkedTrainingSet(X, y, weight)


def held_out_fit(estimator: Any, X: ChunkedRows, y: ChunkedLabels, cv: Any) -> tuple[tuple[Any, Any, Any], Any]:
    """Scores, labels and weights of a sample of rows the classifier has not seen, and its fit to all rows.

    With this many rows one fold of ``cv`` is sample enough; ``cv="prefit"`` takes the classifier as it is.
    """
    if isinstance(cv, str):
        check_is_fitted(estimator)
        judge, held, labels, final = estimator, X, y, estimator
    else:
        check_fits_chunks(estimator)
        n_folds = cv if isinstance(cv, int) else 5
        judge = clone(estimator).fit(*part_of(X, y, n_folds, 0, held=False))
        held, labels = part_of(X, y, n_folds, 0, held=True)
        final = clone(estimator).fit(X, y)
    sample = held.sample
    given = sample.chunk.labels
    given = given if labels.coded is None else labels.coded[given]
    scores = np.asarray(_without_names(judge).decision_function(sample.chunk.X), dtype=float)
    return (scores, given, sample.chunk.weights * sample.times), final


def by_chunks(width: Callable[[Any], int | None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method of rows in memory as one of chunked rows too; ``width(estimator)`` is the number of its columns."""

    def extend(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def extended(self: Any, X: Any) -> Any:
            if not is_chunked(X):
                return method(self, X)
            check_is_fitted(self)
            apply = OfChunk(_nameless(self, X), method.__name__)
            if isinstance(X, ChunkedRows):
                return X.collect(apply)
            return by_partition(apply, X, width(self), self.classes_.dtype if method.__name__ == "predict" else float)

        return extended

    return extend


def _nameless(estimator: Any, X: Any) -> Any:
    """The estimator for chunks, which have no names; those of all rows are compared here, once."""
    known = getattr(estimator, "feature_names_in_", None)
    names = X.feature_names if isinstance(X, ChunkedRows) else column_names(X)
    check_same_names(known, names, "X", "fit")
    return estimator if known is None else _without_names(estimator)


def _without_names(estimator: Any) -> Any:
    """The same fit that knows no names, and within it the one it wraps."""
    other = copy(estimator)
    vars(other).pop("feature_names_in_", None)
    for inner in ("estimator_", "best_estimator_"):
        if inner in vars(other):
            setattr(other, inner, _without_names(getattr(other, inner)))
    return other


@dataclass(frozen=True)
class OfChunk:
    """A fitted estimator's method as a function of the rows of a chunk."""

    estimator: Any
    method: str

    def __call__(self, X: Any) -> Any:
        return getattr(self.estimator, self.method)(X)
