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
    def resolve(cls, name: Any, X: Any, y: Any, *, gamma: Any = "scale", degree: int = 3, coef0: float = 0.0) -> Kernel:
        """Decide ``gamma`` from the training data and check every parameter."""
        known = ("linear", "rbf", "poly", "precomputed")
        if not callable(name) and name not in known:
            raise ValueError(f"kernel must be None, a callable or one of {known}; got {name!r}.")
        if name not in ("rbf", "poly"):
            return cls(name)
        if degree < 1:
            raise ValueError(f"degree must be at least 1; got {degree!r}.")
        return cls(name, _resolve_gamma(gamma, X, y), int(degree), float(coef0))

    @property
    def precomputed(self) -> bool:
        return self.name == "precomputed"

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
    K = euclidean_distances(A, B, squared=True)
    K *= -gamma
    np.exp(K, out=K)
    return K


def _resolve_gamma(gamma: Any, X: Any, y: Any) -> float:
    if isinstance(gamma, str):
        if gamma == "scale":
            variance = X.multiply(X).mean() - X.mean() ** 2 if sparse.issparse(X) else np.var(X, dtype=np.float64)
            return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        if gamma in ("median", "mean"):
            width = _typical_distance(gamma, X, np.asarray(y))
            return 1.0 / width**2 if width > 0 else 1.0
        raise ValueError(f"gamma must be 'scale', 'median', 'mean' or a positive number; got {gamma!r}.")
    if not np.isfinite(gamma) or gamma <= 0:
        raise ValueError(f"gamma must be 'scale', 'median', 'mean' or a positive number; got {gamma!r}.")
    return float(gamma)


def _typical_distance(kind: str, X: Any, y: np.ndarray) -> float:
    if X.shape[0] > _DISTANCE_SAMPLE:  # the median and the mean need no more; memory stays O(sample^2)
        keep = np.random.default_rng(0).choice(X.shape[0], _DISTANCE_SAMPLE, replace=False)
        X, y = X[keep], y[keep]
    distances = euclidean_distances(X)
    if kind == "mean":
        return float(distances[np.triu_indices_from(distances, 1)].mean()) if len(y) > 1 else 0.0
    between = y[:, None] != y[None, :]
    return float(np.median(distances[between])) if between.any() else 0.0
