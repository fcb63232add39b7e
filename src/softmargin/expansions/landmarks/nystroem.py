"""Landmarks: a kernel through a few of its rows, by the method of Nystroem.

``K`` is replaced by ``K_nm K_mm^+ K_mn`` for ``m`` landmark rows (:mod:`softmargin.expansions.landmarks.basis`). They
are drawn by content (:mod:`softmargin.expansions.row_lottery`), so that neither the order of rows nor repeating them
matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from softmargin._threads import usable_cores
from softmargin.expansions.kernels import Kernel
from softmargin.expansions.landmarks.basis import LandmarkBasis
from softmargin.expansions.landmarks.features import LandmarkFeatures
from softmargin.expansions.protocol import Array
from softmargin.expansions.row_lottery import row_lottery

__all__ = ["NystroemFeatures", "distinct_rows", "draw_landmarks", "nested_landmarks"]

_JITTER = 1e-6  # of the largest similarity: what single precision can tell from zero


class NystroemFeatures(LandmarkFeatures):
    """Features of training rows by some of them, the landmarks: ``chosen`` are the row numbers of those they need.

    ``error`` is the share of the kernel's trace that they leave, where it was estimated.
    """

    def __init__(self, X: Any, kernel: Kernel, landmarks: NDArray[np.intp], error: float | None = None) -> None:
        if kernel.precomputed:
            basis, kept = LandmarkBasis.of(kernel, landmarks, X[landmarks][:, landmarks])
        else:
            basis, kept = LandmarkBasis.of(kernel, X[landmarks])
        super().__init__(X, basis, usable_cores())
        self.chosen, self.error = landmarks[kept], error

    @property
    def landmarks(self) -> Any:
        return self.basis.landmarks

    def support(self, coef: Array) -> NDArray[np.intp]:
        """The training rows that prediction needs: all landmarks."""
        return self.chosen


def draw_landmarks(X: Any, kernel: Kernel, n_components: int, random_state: Any) -> NDArray[np.intp]:
    """Random distinct rows, at most ``n_components``, in the order of the rows."""
    return np.sort(distinct_rows(X, kernel, check_random_state(random_state))[:n_components])


def distinct_rows(X: Any, kernel: Kernel, random: Any) -> NDArray[np.intp]:
    """One of each set of equal rows, in an order that is random but for their content."""
    if kernel.precomputed:
        return np.asarray(random.permutation(X.shape[0]))
    return np.unique(row_lottery(X, random), return_index=True)[1]


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
