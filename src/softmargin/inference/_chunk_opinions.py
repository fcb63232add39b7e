"""What models say about chunked rows they have not seen: by folds that the chunks draw.

A judge is fitted to all folds but one and judges that one chunk by chunk; features stay in their chunks, and what is
gathered is one vector of class probabilities per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from softmargin.expansions import (
    Chunk,
    ChunkedLabels,
    ChunkedRows,
    FoldWeights,
    check_fits_chunks,
    is_dask,
    part_of,
    rows_of_dask,
)
from softmargin.inference._opinions import Opinions
from softmargin.probability import mixture_weights

__all__ = ["chunked_data", "left_out_opinions_of_chunks"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class FoldsOf:
    """The task that tells the fold of each row."""

    folds: FoldWeights

    def __call__(self, chunk: Chunk) -> NDArray[np.int64]:
        return self.folds.folds(chunk)


def chunked_data(X: Any, y: Any, sample_weight: Any) -> tuple[ChunkedRows, ChunkedLabels] | None:
    """Chunked rows with their labels; None where the rows are in memory."""
    if is_dask(X):
        return rows_of_dask(X, y, sample_weight)
    if not isinstance(X, ChunkedRows):
        return None
    if not isinstance(y, ChunkedLabels) or sample_weight is not None:
        raise ValueError("y must be the labels that came with these chunked rows, and weights a column of theirs.")
    return X, y


def left_out_opinions_of_chunks(judges: list[Any], X: ChunkedRows, y: ChunkedLabels, cv: Any, seed: int) -> Opinions:
    """The panel's probabilities of every row and class, by models that did not see the row."""
    if not isinstance(cv, (int, np.integer)):
        raise ValueError(
            f"Chunked rows are judged by folds that chunks draw: cv must be a number of folds; got {cv!r}."
        )
    folds = np.concatenate(X.source.collect(FoldsOf(FoldWeights(n_folds=int(cv), seed=seed))))
    classes = y.classes
    codes = np.searchsorted(classes, np.asarray(y))
    opinions = np.zeros((len(judges), len(folds), len(classes)))
    for place, judge in enumerate(judges):
        if not hasattr(judge, "predict_proba"):
            raise ValueError(
                f"{type(judge).__name__} has no probabilities; wrap it in ScoreCalibrator to judge chunks."
            )
        check_fits_chunks(judge)
        for fold in range(int(cv)):
            model = clone(judge).fit(*part_of(X, y, int(cv), fold, held=False, seed=seed))
            held = part_of(X, y, int(cv), fold, held=True, seed=seed)[0]
            seen = np.searchsorted(classes, model.classes_)
            opinions[place][np.ix_(np.flatnonzero(folds == fold), seen)] = model.predict_proba(held)
    votes = mixture_weights(opinions[:, np.arange(len(codes)), codes], None)
    return Opinions(np.tensordot(votes, opinions, axes=1), votes)
