"""Kernel expansions: one column per training row (``KernelColumns``) or a few landmarks (``NystroemFeatures``).

``KernelColumns`` is ``f = K beta`` with the penalty ``beta' K beta``. ``NystroemFeatures`` replaces ``K`` by
``K_nm K_mm^+ K_mn``: with ``K_mm = U diag(e) U'`` the dense features ``Phi = K_nm U e^(-1/2)`` have that Gram matrix
and their Euclidean penalty is the kernel penalty. Both predict by the same function, ``sum_j a_j k(x_j, x)`` over
support rows or landmarks, evaluated in blocks of new rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.expansions.features.linear import DenseFeatures
from softmargin.expansions.kernels.kernel import Kernel
from softmargin.expansions.protocol import Array, Response

__all__ = ["KernelColumns", "KernelScore", "NystroemFeatures", "check_gram"]

_BLOCK_BYTES = 1 << 21  # similarities of a block of new rows stay in cache
_INDEFINITE = 1e-8


@dataclass(frozen=True)
class KernelScore:
    """``sum_j coef_j k(rows_j, x)``; for a precomputed kernel ``rows`` are column numbers of the matrix given.

    ``coef`` may have a column for each of several functions on the same rows.
    """

    kernel: Kernel
    rows: Any
    coef: Array

    def __call__(self, X: Any) -> Array:
        scores = np.empty((X.shape[0], *self.coef.shape[1:]), dtype=X.dtype)
        coef = self.coef.astype(X.dtype, copy=False)
        similarities = self._similarities(X)
        step = max(64, _BLOCK_BYTES // max(8 * len(coef), 1))
        for first in range(0, X.shape[0], step):
            part = slice(first, min(first + step, X.shape[0]))
            scores[part] = similarities(X[part]) @ coef
        return scores

    def _similarities(self, X: Any) -> Callable[[Any], Array]:
        if self.kernel.precomputed:
            return lambda block: block[:, self.rows]
        return self.kernel.to(self.rows, X)


class KernelColumns:
    """``f = K beta`` on the training rows; ``rows`` are those rows, or their numbers when ``K`` was given.

    The matrix is computed when first asked for: solvers that need a few of its rows take them from ``source``.
    """

    is_kernel = True
    is_sparse = False

    def __init__(self, K: Any, kernel: Kernel, rows: Any) -> None:
        self._K = None if K is None else np.asarray(K)
        self.kernel = kernel
        self.rows = rows

    @property
    def K(self) -> Array:  # noqa: N802
        if self._K is None:
            self._K = self.kernel(self.rows, self.rows)
        return self._K

    @property
    def has_matrix(self) -> bool:
        """Whether the whole matrix is at hand."""
        return self._K is not None

    def source(self, dtype: Any) -> Callable[[NDArray[np.int64]], Array]:
        """A function from row numbers to those rows of the matrix, in the given precision."""
        return self.kernel.source(self.rows, dtype)

    @classmethod
    def from_rows(cls, X: Any, kernel: Kernel) -> KernelColumns:
        """Kernel columns of the training rows ``X`` (the Gram matrix itself for a precomputed kernel)."""
        if kernel.precomputed:
            return cls(check_gram(X), kernel, np.arange(X.shape[0]))
        return cls(check_gram(kernel(X, X)) if callable(kernel.name) else None, kernel, X)

    @property
    def shape(self) -> tuple[int, int]:
        n = self.rows.shape[0]
        return n, n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype if self._K is None else self._K.dtype

    def apply(self, coef: Array) -> Array:
        return (self.K @ coef.astype(self.dtype, copy=False)).astype(np.float64, copy=False)

    def transpose(self, r: Array) -> Array:
        return self.apply(r)

    def sweep(self, coef: Array, respond: Response) -> tuple[Array, float]:
        return DenseFeatures(self.K).sweep(coef, respond)

    def gram(self, weights: Array) -> Array:
        return DenseFeatures(self.K).gram(weights)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        return DenseFeatures(self.K).moments(weights)

    def outer(self) -> Array:
        return self.K

    def squared_norms(self, weights: Array | None = None) -> Array:
        return DenseFeatures(self.K).squared_norms(weights)

    def take(self, rows: NDArray[np.intp]) -> KernelColumns:
        return KernelColumns(self.K[np.ix_(rows, rows)], self.kernel, self.rows[rows])

    def quadratic(self, coef: Array) -> float:
        return float(coef @ self.apply(coef))

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        support = self.support(coef)
        return KernelScore(self.kernel, self.rows[support], coef[support])

    def support(self, coef: Array) -> NDArray[np.intp]:
        """The training rows that prediction needs."""
        return np.flatnonzero(coef if coef.ndim == 1 else np.any(coef != 0, axis=1))

    def require_semidefinite(self) -> None:
        """Refuse a given matrix with an eigenvalue below ``-1e-8`` of its largest: the ridge part would be concave."""
        if self.kernel.precomputed or callable(self.kernel.name):
            _require_semidefinite(self.K)


class NystroemFeatures(DenseFeatures):
    """Dense features of ``n_components`` landmark rows; ``basis`` maps similarities to features."""

    def __init__(self, X: Any, kernel: Kernel, landmarks: NDArray[np.intp]) -> None:
        self.kernel = kernel
        self.chosen = landmarks
        self.landmarks = landmarks if kernel.precomputed else X[landmarks]
        between: Any = X[:, landmarks] if kernel.precomputed else kernel(X, self.landmarks)
        between = between.toarray() if sparse.issparse(between) else between
        inner = np.asarray(between[landmarks], dtype=np.float64)
        values, vectors = linalg.eigh(0.5 * (inner + inner.T))
        largest = max(float(values[-1]), 0.0)
        if values[0] < -_INDEFINITE * largest:
            raise ValueError(_indefinite_message(float(values[0]), largest))
        kept = values > largest * len(values) * np.finfo(np.float64).eps
        self.basis = vectors[:, kept] / np.sqrt(values[kept])
        super().__init__(between @ self.basis.astype(between.dtype, copy=False))

    def take(self, rows: NDArray[np.intp]) -> DenseFeatures:
        return DenseFeatures(self.X[rows])

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return KernelScore(self.kernel, self.landmarks, self.basis.astype(coef.dtype, copy=False) @ coef)

    def support(self, coef: Array) -> NDArray[np.intp]:
        """The training rows that prediction needs: all landmarks."""
        return self.chosen


def check_gram(K: Any) -> Array:
    """A square, symmetric, dense Gram matrix, or a ValueError that says what is wrong and how to mend it."""
    K = K.toarray() if sparse.issparse(K) else np.asarray(K)
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ValueError(
            f"The kernel matrix must be square, n_samples x n_samples, when fitting; got shape {K.shape}. "
            'Pass kernel(X_train, X_train) to fit with kernel="precomputed".'
        )
    scale = float(np.abs(K).max(initial=0.0))
    skew = float(np.abs(K - K.T).max(initial=0.0))
    if skew > (1e-10 if K.dtype == np.float64 else 1e-5) * scale:
        raise ValueError(
            f"The kernel matrix is not symmetric: entries differ from their transposes by up to {skew:.3g}. "
            "Pass (K + K.T) / 2 if the difference is rounding."
        )
    return K


def _require_semidefinite(K: Array) -> None:
    n = K.shape[0]
    vector = np.ones(n)
    for _ in range(8):  # a lower bound of the largest eigenvalue is all the test needs
        image = K @ vector
        vector = image / max(float(np.linalg.norm(image)), np.finfo(np.float64).tiny)
    largest = max(abs(float(vector @ (K @ vector))), float(np.abs(np.diagonal(K)).max(initial=0.0)))
    tolerance = max(_INDEFINITE, 10 * n * float(np.finfo(K.dtype).eps))
    shifted = np.array(K, dtype=np.float64, order="F")
    shifted[np.diag_indices(n)] += tolerance * largest
    _, failed = linalg.lapack.dpotrf(shifted, lower=1, overwrite_a=1)
    if failed:
        values = linalg.eigvalsh(K)
        if values[0] < -tolerance * max(abs(values[0]), values[-1]):
            raise ValueError(_indefinite_message(float(values[0]), float(values[-1])))


def _indefinite_message(smallest: float, largest: float) -> str:
    return (
        f"The kernel matrix is indefinite: its eigenvalues run from {smallest:.3g} to {largest:.3g}. "
        "A kernel must be positive semidefinite; clip negative eigenvalues, use another kernel, "
        "or l1_ratio=1, which needs no kernel norm."
    )
