"""Fits along a grid of C on precomputed kernels, and their cross-validated scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, pdist
from sklearn.model_selection import StratifiedKFold

from softmargin import MarginClassifier
from softmargin.paths import cost_path, margin_path

__all__ = [
    "Fit",
    "between_class_distances",
    "cv_scores",
    "folds",
    "gaussian",
    "hinge_fit",
    "mean_distance",
    "smooth_fit",
]

Array = NDArray[np.floating[Any]]
Fit = Callable[[Array, Array, Array, Array], Array]  # (train kernel, labels, test kernel, Cs) -> scores (rows, Cs)


def gaussian(X: Array, Z: Array, gamma: float) -> Array:
    """``exp(-gamma |x - z|^2)``."""
    return np.asarray(np.exp(-gamma * cdist(X, Z, "sqeuclidean")))


def between_class_distances(X: Array, y: Array) -> Array:
    """All distances between rows of different classes (two classes, -1 and +1)."""
    return np.asarray(cdist(X[y > 0], X[y <= 0]).ravel())


def mean_distance(X: Array) -> float:
    """The mean distance between rows."""
    return float(pdist(X).mean())


def hinge_fit(K: Array, y: Array, K_test: Array, Cs: Array) -> Array:
    """Scores of the SVM at every C, from its exact path."""
    path = cost_path(K, y, kernel="precomputed")
    return np.asarray(path.decision_function(K_test, np.clip(Cs, *path.range)))


def smooth_fit(loss: Any, *, l1_ratio: float = 0.0, kernel: str | None = "precomputed", tol: float = 1e-5) -> Fit:
    """Scores of a smooth loss at every C, each fit started from the one before."""

    def fit(K: Array, y: Array, K_test: Array, Cs: Array) -> Array:
        if K.shape[1] > 10 * len(K):  # thousands of genes: a path would work with all their products
            single = MarginClassifier(loss=loss, l1_ratio=l1_ratio, tol=tol)
            fits = [single.set_params(C=float(C)).fit(K, y).decision_function(K_test) for C in Cs]
            return np.column_stack(fits)
        order = np.argsort(Cs)
        path = margin_path(K, y, loss=loss, Cs=Cs, l1_ratio=l1_ratio, kernel=kernel, tol=tol)
        scores = np.empty((len(K_test), len(Cs)))
        scores[:, order] = path.decision_function(K_test)
        return scores

    return fit


def folds(y: Array, count: int, rng: np.random.Generator) -> list[tuple[Array, Array]]:
    """Stratified folds, fewer where a class is small."""
    count = max(2, min(count, int(np.bincount((y > 0).astype(int)).min())))
    splitter = StratifiedKFold(count, shuffle=True, random_state=int(rng.integers(2**31)))
    return list(splitter.split(np.zeros(len(y)), y))


def cv_scores(
    fit: Fit, K: Array, y: Array, Cs: Array, parts: Sequence[tuple[Array, Array]], *, features: bool = False
) -> Array:
    """Scores of every row by the fits of the folds that left it out, shape (rows, Cs).

    ``Cs`` are those of the whole training set: folds have fewer rows, and each penalty per row stays what it is.
    """
    scores = np.empty((len(y), len(Cs)))
    for train, test in parts:
        inner = K[train] if features else K[np.ix_(train, train)]
        outer = K[test] if features else K[np.ix_(test, train)]
        scores[test] = fit(inner, y[train], outer, Cs * len(y) / len(train))
    return scores
