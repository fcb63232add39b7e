"""Kernels: the one place where a name and its parameters become a Gram matrix.

``rbf`` is ``exp(-gamma |x - x'|^2)``, ``poly`` is ``(gamma x'x' + coef0)^degree``. ``gamma`` may be a number or one of

* ``"scale"``: ``1 / (n_features * var(X))``, scikit-learn's default;
* ``"median"``: ``1 / median^2`` of the distances between the two classes (between all pairs of classes if more);
* ``"mean"``: ``1 / mean^2`` of all pairwise distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from softmargin.expansions.kernels.gaussian import Gaussian

__all__ = ["Kernel"]

_DISTANCE_SAMPLE = 3000


@dataclass(frozen=True)
class Kernel:
    """A positive semidefinite similarity with all its parameters decided."""

    name: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    @classmethod
    def resolve(
        cls,
        name: Any,
        X: Any,
        y: Any,
        *,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        weight: Any = None,
    ) -> Kernel:
        """Decide ``gamma`` from the training rows, counted ``weight`` times each, and check every parameter."""
        known = ("linear", "rbf", "poly", "precomputed")
        if not callable(name) and name not in known:
            raise ValueError(f"kernel must be None, a callable or one of {known}; got {name!r}.")
        if name not in ("rbf", "poly"):
            return cls(name)
        if degree < 1:
            raise ValueError(f"degree must be at least 1; got {degree!r}.")
        return cls(name, _resolve_gamma(gamma, X, y, weight), int(degree), float(coef0))

    @property
    def precomputed(self) -> bool:
        return self.name == "precomputed"

    def source(self, X: Any, dtype: Any) -> Callable[[Any], np.ndarray]:
        """A function from row numbers to those rows of the kernel matrix of ``X``."""
        if self.name == "rbf" and not sparse.issparse(X):
            return Gaussian(X, self.gamma, dtype).among
        return lambda at: self(X[at], X).astype(dtype, copy=False)

    def to(self, rows: Any, X: Any) -> Callable[[Any], np.ndarray]:
        """A function from blocks of ``X`` to their similarities to ``rows``, prepared once for all blocks."""
        if self.name == "rbf" and not sparse.issparse(X) and not sparse.issparse(rows):
            return Gaussian(rows, self.gamma, X.dtype)
        return lambda block: self(block, rows)

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """The matrix of similarities between the rows of ``A`` and ``B``, in their floating type."""
        if callable(self.name):
            return np.asarray(pairwise_kernels(A, B, metric=self.name))
        if self.precomputed:
            return np.asarray(A)
        if self.name == "rbf":
            return _rbf(A, B, self.gamma)
        K = A @ B.T
        K = K.toarray() if sparse.issparse(K) else np.asarray(K)
        if self.name == "poly":
            K *= self.gamma
            K += self.coef0
            K **= self.degree
        return K


def _rbf(A: Any, B: Any, gamma: float) -> np.ndarray:
    if not sparse.issparse(A) and not sparse.issparse(B):
        reference = Gaussian(np.asarray(B), gamma, np.result_type(A, B))
        return reference.matrix() if A is B else reference(np.asarray(A))
    K = euclidean_distances(A, B, squared=True)
    K *= -gamma
    np.exp(K, out=K)
    return K


def _resolve_gamma(gamma: Any, X: Any, y: Any, weight: Any) -> float:
    if isinstance(gamma, str):
        if gamma == "scale":
            variance = _variance(X, weight)
            return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        if gamma in ("median", "mean"):
            width = _typical_distance(gamma, X, np.asarray(y), weight)
            return 1.0 / width**2 if width > 0 else 1.0
        raise ValueError(f"gamma must be 'scale', 'median', 'mean' or a positive number; got {gamma!r}.")
    if not np.isfinite(gamma) or gamma <= 0:
        raise ValueError(f"gamma must be 'scale', 'median', 'mean' or a positive number; got {gamma!r}.")
    return float(gamma)


def _variance(X: Any, weight: Any) -> float:
    """The variance of all entries of ``X``, each row counted ``weight`` times."""
    if weight is None or np.ptp(weight) == 0:
        if not sparse.issparse(X):
            return float(np.var(X, dtype=np.float64))
        weight = np.ones(X.shape[0])
    share = np.asarray(weight, dtype=np.float64) / (np.sum(weight) * X.shape[1])
    mean = float(np.sum(share @ X))
    if sparse.issparse(X):
        return float(np.sum(share @ X.multiply(X))) - mean**2
    return float(np.sum(share @ np.square(X - mean)))


def _typical_distance(kind: str, X: Any, y: np.ndarray, weight: Any) -> float:
    weight = np.ones(X.shape[0]) if weight is None else np.asarray(weight, dtype=np.float64)
    if X.shape[0] > _DISTANCE_SAMPLE:  # the median and the mean need no more; memory stays O(sample^2)
        keep = np.random.default_rng(0).choice(X.shape[0], _DISTANCE_SAMPLE, replace=False)
        X, y, weight = X[keep], y[keep], weight[keep]
    distances = euclidean_distances(X)
    pairs = np.outer(weight, weight)
    if kind == "mean":  # a row counted w times makes w (w - 1) / 2 pairs at distance zero with itself
        total = np.sum(weight) ** 2 - np.sum(weight)
        return float(np.sum(pairs * distances) / total) if total > 0 else 0.0
    between = y[:, None] != y[None, :]
    return _weighted_median(distances[between], pairs[between]) if between.any() else 0.0


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The median of ``values`` repeated ``weights`` times."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    half = 0.5 * reached[-1]
    low = np.searchsorted(reached, half * (1 - 1e-12))
    high = np.searchsorted(reached, half * (1 + 1e-12), side="right")
    return 0.5 * float(values[order[low]] + values[order[min(high, len(order) - 1)]])
