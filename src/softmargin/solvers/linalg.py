"""The linear algebra that solvers share: factors, the bordered system of an intercept, backtracking, numerical rank.

*Bordered systems.* An unpenalised intercept adds a row and a column to every Newton system,

    [A, u; v', m] (x, b) = (r, t)    =>    b = (t - v'A^-1 r) / (m - v'A^-1 u),    x = A^-1 r - b A^-1 u:

one more solve with ``A`` and a division by the Schur complement (the *pivot*), which is positive at a minimum.

*Shifted Cholesky.* A Hessian of a convex problem is positive definite but for rounding. Where its factorisation fails,
the smallest shift of the diagonal that rounding can ask for makes it succeed; steps from it still descend.

*Numerical rank.* Eigenvalues below ``size * eps`` times the largest are rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["Bordered", "Cholesky", "backtrack", "bordered_solve", "definite_cholesky", "is_nonzero", "shifted_cholesky"]

Array = NDArray[np.floating[Any]]

_SHIFTS = {np.dtype(np.float64): (0.0, 1e-15, 1e-13, 1e-11, 1e-9), np.dtype(np.float32): (0.0, 1e-6)}
_SUFFICIENT = 1e-4  # share of the decrease a slope promises that a step must bring (Armijo's rule)


@dataclass(frozen=True, slots=True)
class Cholesky:
    """A lower triangular factor; calling it solves with the matrix."""

    lower: Array

    def __call__(self, r: Array) -> Array:
        return linalg.cho_solve((self.lower, True), r, check_finite=False)


def shifted_cholesky(A: Array) -> Cholesky:
    """The factor of a symmetric matrix, made in its place, with the smallest shift that rounding asks for."""
    work = A.T
    diagonal = A.diagonal().copy()
    potrf = linalg.lapack.dpotrf if A.dtype == np.float64 else linalg.lapack.spotrf
    for shift in _SHIFTS[A.dtype]:
        if shift > 0:  # a failed attempt leaves the strict upper triangle as it was
            upper = np.triu(work, 1)
            work[...] = upper + upper.T
            np.fill_diagonal(work, diagonal + shift * diagonal.max())
        factor, failed = potrf(work, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return Cholesky(factor)
    raise linalg.LinAlgError("The matrix is not positive definite: its entries are not finite or too large.")


def definite_cholesky(A: Array) -> Cholesky | None:
    """The factor of a symmetric matrix, None unless it is positive definite."""
    try:
        return Cholesky(linalg.cholesky(A, lower=True, check_finite=False))
    except linalg.LinAlgError:
        return None


def bordered_solve(inner: Array, image: Array, row: Array, corner: float, total: float) -> tuple[Array, float]:
    """``(x, b)`` from ``inner = A^-1 r``, ``image = A^-1 u``, the last row ``(v, m)`` and its right side ``t``."""
    b = (total - float(row @ inner)) / (corner - float(row @ image))
    return inner - b * image, b


class Bordered:
    """The symmetric bordered system ``[A, u; u', m]``, by solves with ``A``.

    Where the pivot is not positive (no curvature along the intercept) the intercept is left alone.
    """

    def __init__(self, solve: Callable[[Array], Array], border: Array | None, corner: float) -> None:
        self._solve, self.border, self.corner = solve, border, corner
        self.image = None if border is None else solve(border)
        self.pivot = 0.0 if border is None or self.image is None else corner - float(border @ self.image)

    def solve(self, r: Array, total: float) -> tuple[Array, float]:
        """The solution for a vector of the coefficients and a number for the intercept."""
        inner = self._solve(r)
        if self.border is None or self.image is None or self.pivot <= 0:
            return inner, 0.0
        return bordered_solve(inner, self.image, self.border, self.corner, total)

    def __call__(self, r: Array) -> Array:
        """The same for both in one vector, the intercept's last."""
        return np.append(*self.solve(r[:-1], float(r[-1])))


def backtrack(
    value: Callable[[float], float], start: float, slope: float, *, noise: float = 0.0, shortest: float = 1e-15
) -> float | None:
    """The first of the lengths 1, 1/2, 1/4, ... that brings Armijo's share of the decrease, up to ``noise``.

    ``value(t)`` is the objective at length ``t``, ``start`` that at 0 and ``slope`` (not positive) the decrease a
    whole step promises. None where no length does.
    """
    length = 1.0
    while length > shortest:
        if value(length) <= start + _SUFFICIENT * length * slope + noise:
            return length
        length *= 0.5
    return None


def is_nonzero(values: Array) -> NDArray[np.bool_]:
    """Which eigenvalues (or singular values) of a matrix of that size are more than rounding."""
    largest = float(np.abs(values).max(initial=0.0))
    return np.asarray(values > largest * len(values) * np.finfo(np.float64).eps)
