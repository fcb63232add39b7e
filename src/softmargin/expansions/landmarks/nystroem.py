"""Landmarks: a kernel through a few of its rows, by the method of Nystroem.

``K`` is replaced by ``K_nm K_mm^+ K_mn`` for ``m`` landmark rows: with ``K_mm = U diag(e) U'`` the dense features
``Phi = K_nm U e^(-1/2)`` have that Gram matrix, and their Euclidean penalty is the kernel penalty. Landmarks are drawn
by content (:mod:`softmargin.expansions.row_lottery`), so that neither the order of rows nor repeating them matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from softmargin.expansions.features import DenseFeatures
from softmargin.expansions.kernels import Kernel, KernelScore
from softmargin.expansions.kernels.gram import INDEFINITE, indefinite_message
from softmargin.expansions.protocol import Array
from softmargin.expansions.rank import is_nonzero
from softmargin.expansions.row_lottery import row_lottery

__all__ = ["NystroemFeatures", "draw_landmarks", "nested_landmarks"]

_JITTER = 1e-6  # of the largest similarity: what single precision can tell from zero


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
        if values[0] < -INDEFINITE * largest:
            raise ValueError(indefinite_message(float(values[0]), largest))
        kept = is_nonzero(values)
        # landmarks similar to nothing span no function: one feature that is zero everywhere
        self.basis = vectors[:, kept] / np.sqrt(values[kept]) if kept.any() else np.zeros((len(values), 1))
        super().__init__(between @ self.basis.astype(between.dtype, copy=False))

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return KernelScore(self.kernel, self.landmarks, self.basis.astype(coef.dtype, copy=False) @ coef)

    def support(self, coef: Array) -> NDArray[np.intp]:
        """The training rows that prediction needs: all landmarks."""
        return self.chosen


def draw_landmarks(X: Any, kernel: Kernel, n_components: int, random_state: Any) -> NDArray[np.intp]:
    """Random distinct rows, at most ``n_components``."""
    random = check_random_state(random_state)
    if kernel.precomputed:
        return np.sort(random.permutation(X.shape[0])[:n_components])
    _, first = np.unique(row_lottery(X, random), return_index=True)
    return np.sort(first[:n_components])


def nested_landmarks(X: Any, kernel: Kernel, n_components: int, random_state: Any) -> Array:
    """Features of random landmarks in single precision; the first ``m`` of them are those of the first ``m`` landmarks.

    With ``K_mm = LL'`` they are ``K_nm L^-T``; the triangle makes them nested. For looking, not for fitting: landmarks
    that nearly repeat others are kept apart by a jitter of ``K_mm``.
    """
    random = check_random_state(random_state)
    chosen = random.permutation(draw_landmarks(X, kernel, n_components, random))
    between: Any = X[:, chosen] if kernel.precomputed else kernel(X, X[chosen])
    between = np.asarray(between.toarray() if sparse.issparse(between) else between)
    inner = np.array(between[chosen], dtype=np.float64)
    inner[np.diag_indices_from(inner)] += _JITTER * max(float(np.diagonal(inner).max()), np.finfo(np.float64).tiny)
    lower = np.linalg.cholesky(0.5 * (inner + inner.T)).astype(np.float32)
    work = between.astype(np.float32)
    return np.ascontiguousarray(linalg.solve_triangular(lower, work.T, lower=True, check_finite=False).T)
