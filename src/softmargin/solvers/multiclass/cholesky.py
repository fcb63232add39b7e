"""Cholesky factors of symmetric matrices that ought to be positive definite, in their place.

Large matrices are factorised a block of columns at a time, so that signals are served in between. Where rounding left a
pivot without a digit the factor is that of ``M + shift I``, with the smallest shift among ``eps trace(M) 4^t`` that
serves; whoever needs the solution of ``M x = r`` refines it, and the certificate of the fit says what came of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["inverse_of_factored", "shifted_cholesky"]

Array = NDArray[np.floating[Any]]

_BLOCK = 512
_LARGEST_SHIFT = 1e-6  # of the trace


def shifted_cholesky(M: Array) -> Array:
    """The lower factor, in Fortran order, of a symmetric matrix in C order, which may be overwritten."""
    kept = M.copy()
    diagonal = np.einsum("ii->i", kept)
    if _factorise(M.T):
        return M.T
    trace = float(np.abs(diagonal).sum()) / len(M)
    shift = float(np.finfo(M.dtype).eps) * trace
    while shift <= _LARGEST_SHIFT * trace:
        M[:] = kept
        M[np.diag_indices_from(M)] = diagonal + shift
        if _factorise(M.T):
            return M.T
        shift *= 4
    raise ValueError(
        "a matrix of the fit is not positive semidefinite to working precision: check that the kernel is one "
        "(symmetric, positive semidefinite), scale the features, or lower C."
    )


def inverse_of_factored(L: Array) -> Array:
    """``(L L')^-1`` in C order, both triangles, from a lower factor, which may be overwritten."""
    n = len(L)
    if n <= 2 * _BLOCK:
        out = linalg.lapack.dpotri(L, lower=1, overwrite_c=1)[0].T  # the upper triangle in C order
        return np.triu(out) + np.triu(out, 1).T
    inverse = np.zeros((n, n))
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        unit = np.zeros((n - first, last - first))
        unit[np.diag_indices(last - first)] = 1
        inverse[first:, first:last] = linalg.solve_triangular(L[first:, first:], unit, lower=True, check_finite=False)
    out = np.empty((n, n))
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        out[first:last, :last] = inverse[first:, first:last].T @ inverse[first:, :last]
        out[:first, first:last] = out[first:last, :first].T
    return out


def _factorise(F: Array) -> bool:
    """Overwrite the lower triangle of a matrix in Fortran order by its factor; False if a pivot is not positive."""
    potrf = linalg.lapack.spotrf if F.dtype == np.float32 else linalg.lapack.dpotrf
    n = len(F)
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        panel = F[first:, first:last]
        if first:
            panel -= F[first:, :first] @ F[first:last, :first].T
        corner, failed = potrf(panel[: last - first], lower=1, clean=1)
        if failed or not np.all(np.isfinite(np.einsum("ii->i", corner))):
            return False
        panel[: last - first] = corner
        if last < n:
            below = linalg.solve_triangular(corner, panel[last - first :].T, lower=True, check_finite=False)
            panel[last - first :] = below.T
    return True
