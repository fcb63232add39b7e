"""The functions that landmarks span, in coordinates where their kernel norm is the sum of squares.

With ``K_mm = L L'`` the features ``Phi = K_nm L^-T`` have the Gram matrix ``K_nm K_mm^+ K_mn`` of Nystroem's method,
and ``|beta|^2`` is the kernel norm of ``f = Phi beta``. The factor is pivoted: landmarks whose distance from the span
of those before them is rounding (of ``K_mm``, or of similarities in single precision) add no function and are left out.

A triangle costs ``m^3 / 3``, a small part of what eigenvectors cost, and products with ``Phi`` need a triangular solve
of one vector: ``Phi beta = K_nm (L^-T beta)`` and ``Phi'g = L^-1 (K_mn g)``. Features
themselves, ``n m^2`` multiplications, are made only where something asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.expansions import memory
from softmargin.expansions.kernels import Kernel, KernelScore
from softmargin.expansions.kernels.gram import require_semidefinite
from softmargin.expansions.protocol import Array

__all__ = ["LandmarkBasis"]

_REMEDY = "Use fewer landmarks (n_components)."
_SINGLE = 8 * float(np.finfo(np.float32).eps)  # of the largest similarity: what single precision tells from zero


@dataclass(frozen=True)
class LandmarkBasis:
    """Landmark rows (their numbers, for a precomputed kernel), in the order ``order`` of the triangle ``lower``."""

    kernel: Kernel
    landmarks: Any
    order: NDArray[np.intp]
    lower: Array

    @classmethod
    def of(cls, kernel: Kernel, rows: Any, inner: Any = None) -> tuple[LandmarkBasis, NDArray[np.intp]]:
        """The basis of some rows, and which of them it needs; ``inner`` are their similarities where they are given."""
        m = len(rows) if inner is not None else rows.shape[0]
        memory.require_memory(m * m * 8, f"The {m} x {m} matrix of similarities between the landmarks", _REMEDY)
        between: Any = kernel(rows, rows) if inner is None else inner
        between = between.toarray() if sparse.issparse(between) else between
        single = np.asarray(between).dtype == np.float32
        inner = np.array(between, dtype=np.float64)
        inner = 0.5 * (inner + inner.T)
        kept, lower = _pivoted(inner, single)
        order = np.argsort(np.argsort(kept))
        kept = np.sort(kept)
        return cls(kernel, rows[kept], order, lower), kept

    def __len__(self) -> int:
        return len(self.lower)

    def scorer(self, coef: Array) -> KernelScore:
        """The score of new rows under coefficients of the features."""
        dual = self.dual(np.asarray(coef, dtype=np.float64))
        return KernelScore(self.kernel, self.landmarks, dual.astype(coef.dtype, copy=False))

    def dual(self, coef: Array) -> Array:
        """The coefficients of the landmarks' similarities: ``L^-T beta`` in the order of the landmarks."""
        out = np.empty(coef.shape)
        out[self.order] = linalg.solve_triangular(self.lower, coef, lower=True, trans="T", check_finite=False)
        return out

    def pull(self, sums: Array) -> Array:
        """``Phi'g`` from ``K_mn g``."""
        return np.asarray(linalg.solve_triangular(self.lower, sums[self.order], lower=True, check_finite=False))

    def features(self, similarities: Array) -> Array:
        """``K_nm L^-T`` of some rows, in their precision."""
        turned = similarities[:, self.order].T.astype(np.float64, copy=False)
        found = linalg.solve_triangular(self.lower, turned, lower=True, check_finite=False)
        return np.asarray(found.T, dtype=similarities.dtype)


def _pivoted(inner: Array, single: bool) -> tuple[NDArray[np.intp], Array]:
    """Which rows a pivoted Cholesky factor takes, in its order, and their triangle."""
    m = len(inner)
    largest = float(np.diagonal(inner).max(initial=0.0))
    finest = max(m * float(np.finfo(np.float64).eps), _SINGLE if single else 0.0)
    factor, pivots, rank, _ = linalg.lapack.dpstrf(inner, tol=finest * largest, lower=1)
    if rank < m:
        require_semidefinite(inner, float(np.finfo(np.float32 if single else np.float64).eps))
    if not largest > 0:  # landmarks similar to nothing span no function: one feature that is zero everywhere
        return np.zeros(1, dtype=np.intp), np.ones((1, 1))
    rank = max(int(rank), 1)
    return pivots[:rank].astype(np.intp) - 1, np.asfortranarray(np.tril(factor[:rank, :rank]))
