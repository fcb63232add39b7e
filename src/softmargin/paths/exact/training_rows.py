"""The rows a path is traced on, in units that suit arithmetic: centred, and of mean squared length one.

With ``sum u = 0`` moving all rows by a constant changes nothing but the intercept, and dividing the Gram matrix by a
number multiplies the bounds by it. So the engine sees ``K' = P K P / scale`` (P centres) with bounds times ``scale``,
whatever the offset and the units of the data; ``u = u' / scale``, and with ``r`` the row means of K the caller's
intercept is ``b' - r'u``. Linear features are centred themselves, which loses no digits where a Gram matrix of offset
rows would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from softmargin.expansions import Kernel
from softmargin.paths.exact.products import path_products

__all__ = ["TrainingRows"]

Array = np.ndarray
_EPS = float(np.finfo(np.float64).eps)
_LARGEST = 1e150  # squared lengths beyond this, or below its inverse, leave no room for products in double precision


@dataclass
class TrainingRows:
    """The caller's rows with equal ones merged, their weights, and how they map back.

    ``matrix`` holds scaled features where ``linear`` (few columns), else the scaled Gram matrix, whose entries carry
    errors of about ``rounding``. ``bound`` is the weight of each row in the engine's units.
    """

    X: Any
    kernel: Kernel | None
    y: Array
    weight: Array
    member: Array  # of each of the caller's rows; -1 for rows of zero weight
    share: Array

    def __post_init__(self) -> None:
        features = self.kernel is None or self.kernel.name == "linear"
        if features and sparse.issparse(self.X) and self.X.shape[1] < len(self.y):  # smaller than their Gram matrix
            self.X = self.X.toarray()
        dense = features and not sparse.issparse(self.X)
        self.linear = dense and self.X.shape[1] < len(self.y)
        self.centre: Array | None = None
        self.means, self.rounding = np.zeros(len(self.y)), _EPS
        if dense:
            self.centre = np.mean(self.X, axis=0)
            self.matrix, self.scale = _scaled_features(self.X - self.centre, gram=not self.linear)
        else:
            K = np.array((self.kernel or Kernel("linear"))(self.X, self.X), dtype=np.float64)
            largest = float(np.abs(K).max())
            self.means = _centre(K)
            self.scale = _check_scale(float(np.mean(np.diagonal(K))))
            self.matrix = np.ascontiguousarray(K / self.scale)
            self.rounding = _EPS * largest / self.scale
        self.bound = self.weight * self.scale

    def product(self, u: Array) -> Array:
        """K' u' for a vector or rows of vectors u', never through an n x n matrix if features are few."""
        return (u @ self.matrix) @ self.matrix.T if self.linear else u @ self.matrix

    def intercept(self, u: Array, b: Array) -> Array:
        """The caller's intercepts, from multipliers ``u`` (rows) in the caller's units and the engine's ``b``."""
        if self.centre is None:
            return b - u @ self.means
        return b - (u @ (self.X - self.centre)) @ self.centre

    def expand(self, u: Array) -> Array:
        """Multipliers of merged rows, divided among the rows the caller gave."""
        return np.where(self.member >= 0, u[self.member] * self.share, 0.0)

    def coefficients(self, u: Array) -> Array:
        """``X'u`` of linear features, ``u`` in the caller's units, free of the rows' offset."""
        return np.asarray(self.X.T @ u if self.centre is None else (self.X - self.centre).T @ u)

    def feature_scores(self, X: Any, coef: Array, b: Array) -> Array:
        """f(x) for ``coefficients`` of dense features and intercepts ``b`` of the engine."""
        assert self.centre is not None
        if sparse.issparse(X):
            return np.asarray(X @ coef) + (b - self.centre @ coef)
        return np.asarray((X - self.centre) @ coef) + b

    def scores(self, X: Any, t: Array, u: Array, b: Array) -> Array:
        """f(x), a column for each ascending value ``t``, with multipliers ``u`` and the engine's intercepts ``b``."""
        if self.centre is not None:
            return self.feature_scores(X, self.coefficients(np.ascontiguousarray(u.T)), b)
        b = self.intercept(u, b)
        support = np.flatnonzero(u.any(axis=0))
        if not self.on_similarities:
            return np.asarray(X @ self.coefficients(np.ascontiguousarray(u.T))) + b
        if not len(support):  # costs that vanish leave a constant
            return np.zeros((X.shape[0], 1)) + b
        return path_products(self.similarities(X, support), t, u[:, support]).T + b

    @property
    def on_similarities(self) -> bool:
        """Whether scores are sums over similarities, for want of coefficients of features."""
        return self.kernel is not None and self.kernel.name != "linear"

    def similarities(self, X: Any, at: Any = slice(None)) -> Array:
        """Of the training rows, or those at ``at``, and the rows of ``X``."""
        assert self.kernel is not None
        precomputed = self.kernel.precomputed
        found: Any = X[:, np.flatnonzero(self.member >= 0)[at]] if precomputed else self.kernel(X, self.X[at])
        return np.ascontiguousarray((found.toarray() if sparse.issparse(found) else found).T)


def _scaled_features(X: Array, *, gram: bool) -> tuple[Array, float]:
    """Centred features (or their Gram matrix) divided to mean squared length one, and the scale of the Gram matrix."""
    largest = float(np.abs(X).max(initial=0.0)) or 1.0
    X = np.ascontiguousarray(X / largest)
    length = float(np.sqrt(np.mean(np.einsum("ij,ij->i", X, X)))) or 1.0
    X /= length
    scale = _check_scale((largest * length) ** 2 if largest < _LARGEST else np.inf)
    return (np.ascontiguousarray(X @ X.T) if gram else X), scale


def _centre(K: Array) -> Array:
    """Replace K by P K P in place; returns its means, with ``K u = P K P u + 1 (means'u)`` where sum u = 0."""
    means = K.mean(axis=0)
    K -= means[:, None]
    K -= means[None, :] - float(means.mean())
    return means


def _check_scale(scale: float) -> float:
    if scale == 0:
        return 1.0
    if scale < 0:
        raise ValueError("the kernel matrix is not positive semidefinite; use a kernel that is.")
    if not 1 / _LARGEST < scale < _LARGEST:
        raise ValueError(
            f"the rows have a mean squared length of {scale:.3g} after centring, too extreme for double precision; "
            "scale the features (StandardScaler, say) or the kernel."
        )
    return scale
