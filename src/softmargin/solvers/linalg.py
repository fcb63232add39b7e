"""The linear algebra that solvers share: factors, the bordered system of an intercept, backtracking.

*Bordered systems.* An unpenalised intercept adds a row and a column to every Newton system,

    [A, u; v', m] (x, b) = (r, t)    =>    b = (t - v'A^-1 r) / (m - v'A^-1 u),    x = A^-1 r - b A^-1 u:

one more solve with ``A`` and a division by the Schur complement (the *pivot*), which is positive at a minimum.

*Shifted Cholesky.* A Hessian of a convex problem is positive definite but for rounding. Where its factorisation fails,
the smallest shift of the diagonal that rounding can ask for makes it succeed; steps from it still descend, and whoever
needs the solution itself refines it. Large matrices are factorised a block of columns at a time, so that signals are
served in between.

*Conjugate gradients* for systems that are only multiplied with, preconditioned by whatever is nearly their inverse.

*Backtracking.* Armijo's rule: a step is halved until it brings a share of the decrease that its slope promises. The
searches that stay apart do something else: ``ridge/line_search`` finds a root of the slope, ``nonconvex/
growing_samples`` also lengthens steps. The numerical rank of a spectrum is decided in :mod:`softmargin.expansions`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = [
    "Bordered",
    "Cholesky",
    "PivotedCholesky",
    "Step",
    "add_to_diagonal",
    "backtrack",
    "bordered_solve",
    "conjugate_gradients",
    "definite_cholesky",
    "pivoted_cholesky",
    "shifted_cholesky",
]

Array = NDArray[np.floating[Any]]

_EPS = float(np.finfo(np.float64).eps)
T = TypeVar("T")

_SHIFTS = {np.dtype(np.float64): (0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7), np.dtype(np.float32): (0.0, 1e-6)}
_SUFFICIENT = 1e-4  # share of the decrease a slope promises that a step must bring (Armijo's rule)
# Rows up to which one call of LAPACK makes a factor: half a second without a look at signals. Beyond, so many columns
# are factorised at once, for a half more (``python -m benchmarks thresholds`` times both ways).
_WHOLE, _BLOCK = 4000, 512
_CORNER = 64  # of a matrix to be mirrored: what lies outside such corners is copied whole


@dataclass(frozen=True, slots=True)
class Cholesky:
    """A lower triangular factor; calling it solves with the matrix."""

    lower: Array

    def __call__(self, r: Array) -> Array:
        if r.size == 0 or r.dtype != self.lower.dtype:
            return linalg.cho_solve((self.lower, True), r, check_finite=False)
        potrs = linalg.lapack.dpotrs if r.dtype == np.float64 else linalg.lapack.spotrs
        return potrs(self.lower, r, lower=1)[0]  # what stands around it in SciPy takes longer than a small system

    def triangle(self) -> Array:
        """The factor with zeros above its diagonal, where other things may have stood."""
        for rows in _blocks(len(self.lower)):
            self.lower[: rows.start, rows] = 0
            self.lower[rows, rows] = np.tril(self.lower[rows, rows])
        return self.lower

    def inverse(self) -> Array:
        """The inverse of the matrix in C order, both triangles; the factor may be used up."""
        L, n = self.lower, len(self.lower)
        if n == 0:  # of which LAPACK complains on standard output
            return np.empty((0, 0))
        if n <= _WHOLE:
            potri = linalg.lapack.dpotri if L.dtype == np.float64 else linalg.lapack.spotri
            return _mirrored(potri(L, lower=1, overwrite_c=1)[0].T)  # the upper triangle in C order
        inverse = np.zeros((n, n))
        for rows in _blocks(n):
            unit = np.eye(n - rows.start, rows.stop - rows.start)
            below = L[rows.start :, rows.start :]
            inverse[rows.start :, rows] = linalg.solve_triangular(below, unit, lower=True, check_finite=False)
        out = np.empty((n, n))
        for rows in _blocks(n):
            out[rows, : rows.stop] = inverse[rows.start :, rows].T @ inverse[rows.start :, : rows.stop]
            out[: rows.start, rows] = out[rows, : rows.start].T
        return out


def add_to_diagonal(A: Array, values: float | Array) -> None:
    """Add a number, or one for each row, to the diagonal of a matrix in its place."""
    diagonal = np.einsum("ii->i", A)  # a view, made in a fraction of the time of indices
    diagonal += values


def shifted_cholesky(A: Array) -> Cholesky:
    """The factor of a symmetric matrix, made in its place, with the smallest shift that rounding asks for.

    Above the diagonal the factor keeps what the matrix had there.
    """
    work = A.T
    diagonal = A.diagonal().copy()
    for shift in _SHIFTS[A.dtype]:
        if shift > 0:  # a failed attempt leaves the strict upper triangle as it was
            upper = np.triu(work, 1)
            work[...] = upper + upper.T
            np.fill_diagonal(work, diagonal + shift * diagonal.max())
        factor = _factorised(work)
        if factor is not None:
            return Cholesky(factor)
    raise linalg.LinAlgError(
        "a matrix of the fit is not positive definite to working precision: check that the kernel is one (symmetric, "
        "positive semidefinite), scale the features, or lower C."
    )


def _mirrored(A: Array) -> Array:
    """A matrix whose upper triangle is filled, with the lower one made its mirror image, in its place."""
    for rows in _blocks(len(A), _CORNER):
        corner = np.triu(A[rows, rows])
        A[rows, rows] = corner + np.triu(corner, 1).T
        A[rows.stop :, rows] = A[rows, rows.stop :].T
    return A


def _blocks(n: int, size: int = _BLOCK) -> list[slice]:
    return [slice(first, min(first + size, n)) for first in range(0, n, size)]


def _factorised(F: Array) -> Array | None:
    """The lower triangle of a matrix in Fortran order, replaced by its factor; None if a pivot is not positive."""
    potrf = linalg.lapack.dpotrf if F.dtype == np.float64 else linalg.lapack.spotrf
    if len(F) <= _WHOLE:
        factor, failed = potrf(F, lower=1, clean=0, overwrite_a=1)
        return None if failed or not np.isfinite(factor.diagonal()).all() else factor
    for rows in _blocks(len(F)):
        first, last = rows.start, rows.stop
        panel = F[first:, rows]
        if first:  # the triangle above the panel stays: a second attempt starts from it
            above = np.triu(panel[: last - first], 1)
            panel -= F[first:, :first] @ F[rows, :first].T
            panel[: last - first] = np.tril(panel[: last - first]) + above
        corner, failed = potrf(panel[: last - first], lower=1, clean=0)
        if failed or not np.isfinite(corner.diagonal()).all():
            return None
        panel[: last - first] = corner
        if last < len(F):
            below = linalg.solve_triangular(corner, panel[last - first :].T, lower=True, check_finite=False)
            panel[last - first :] = below.T
    return F


def definite_cholesky(A: Array) -> Cholesky | None:
    """The factor of a symmetric matrix, None unless it is positive definite."""
    potrf = linalg.lapack.spotrf if A.dtype == np.float32 else linalg.lapack.dpotrf
    factor, failed = potrf(A, lower=1, clean=1)
    return None if failed else Cholesky(factor)


class PivotedCholesky:
    """``A = ZZ' + E`` from the columns of ``A`` that are asked for, that of the largest remainder next.

    ``E`` is semidefinite and its largest entry on the diagonal; ``Z`` are the ``columns``, and ``Z[pivots]`` is lower
    triangular. What is found is kept when more columns are asked for.
    """

    def __init__(self, column: Callable[[int], Array], diagonal: Array, precision: float = _EPS) -> None:
        self._column, self._left = column, np.array(diagonal, dtype=np.float64)
        self._Z, self._pivots = np.zeros((len(self._left), 0)), np.empty(0, dtype=np.intp)
        self.rank = 0
        self.rounding = len(self._left) * precision * float(self._left.max(initial=0.0))

    @property
    def columns(self) -> Array:
        return np.ascontiguousarray(self._Z[:, : self.rank])

    @property
    def pivots(self) -> NDArray[np.intp]:
        return self._pivots[: self.rank]

    def grow(self, error: float, most: int) -> bool:
        """Take columns until no more than such an error is left, or rounding; False where ``most`` do not do."""
        enough, left = max(error, self.rounding), self._left
        n, most = len(left), min(most, len(left))
        Z, pivots = self._Z, self._pivots
        while n and left.max() > enough:
            k = self.rank
            if k >= most:
                return False
            if k == len(pivots):  # room for twice as many, which take a quarter of the time that all will
                room = min(max(64, 2 * k), most)
                Z = self._Z = np.hstack([Z, np.zeros((n, room - k))])
                pivots = self._pivots = np.append(pivots, np.zeros(room - k, dtype=np.intp))
            pivots[k] = pivot = int(np.argmax(left))
            Z[:, k] = (self._column(pivot) - Z[:, :k] @ Z[pivot, :k]) / np.sqrt(left[pivot])
            left -= np.square(Z[:, k])
            left[pivot] = 0.0
            Z[pivots[:k], k] = 0.0
            self.rank += 1
        return True


def pivoted_cholesky(
    column: Callable[[int], Array], diagonal: Array, most: int, precision: float = _EPS
) -> tuple[Array, NDArray[np.intp]] | None:
    """``Z`` and pivots with ``A = ZZ'`` up to rounding; None where ``most`` columns do not do."""
    found = PivotedCholesky(column, diagonal, precision)
    return (found.columns, found.pivots) if found.grow(0.0, most) else None


def bordered_solve(inner: Array, image: Array, row: Array, corner: float, total: float) -> tuple[Array, float]:
    """``(x, b)`` from ``inner = A^-1 r``, ``image = A^-1 u``, the last row ``(v, m)`` and its right side ``t``.

    Without a pivot the last equation says nothing about ``b``, which is then left alone.
    """
    pivot = corner - float(row @ image)
    if pivot == 0:
        return inner, 0.0
    b = (total - float(row @ inner)) / pivot
    return inner - b * image, b


class Bordered:
    """The symmetric bordered system ``[A, u; u', m]``, by solves with ``A``.

    Where the pivot is not positive (no curvature along the intercept) the intercept is left alone.
    """

    def __init__(self, solve: Callable[[Array], Array], border: Array | None, corner: float) -> None:
        self.inner, self.border, self.corner = solve, border, corner
        self.image = None if border is None else solve(border)
        self.pivot = 0.0 if border is None or self.image is None else corner - float(border @ self.image)

    def solve(self, r: Array, total: float) -> tuple[Array, float]:
        """The solution for a vector of the coefficients and a number for the intercept."""
        inner = self.inner(r)
        if self.border is None or self.image is None or self.pivot <= 0:
            return inner, 0.0
        return bordered_solve(inner, self.image, self.border, self.corner, total)

    def __call__(self, r: Array) -> Array:
        """The same for both in one vector, the intercept's last."""
        return np.append(*self.solve(r[:-1], float(r[-1])))


def conjugate_gradients(
    product: Callable[[Array], tuple[Array, Any]],
    precondition: Callable[[Array], Array],
    right: Array,
    enough: Callable[[Array, float], bool],
    most: int,
) -> tuple[Array, Any] | None:
    """The solution of ``A x = right`` by preconditioned conjugate gradients, as far as ``enough(residual, rho)`` asks.

    ``product(d)`` is ``A d`` with anything linear in ``d`` that the caller wants of the solution as well, both made for
    this call; ``rho`` is the squared residual, measured by the preconditioner. None where a direction of negative
    curvature is met.
    """
    solution, direction, residual = np.zeros_like(right), np.zeros_like(right), right.copy()
    carried, before = None, 0.0
    for _ in range(most):
        scaled = precondition(residual)
        rho = float(residual @ scaled)
        if enough(residual, rho):
            break
        direction *= rho / before if before > 0 else 0.0
        direction += scaled
        image, extra = product(direction)
        curvature = float(direction @ image)
        if not curvature > 0:
            return None
        length, before = rho / curvature, rho
        image *= length
        residual -= image
        np.multiply(direction, length, out=image)
        solution += image
        extra *= length
        carried = extra if carried is None else carried + extra
    return solution, carried


class Step(NamedTuple, Generic[T]):
    """How far a line search went, the objective there, and what the caller keeps of that place."""

    length: float
    value: float
    there: T


def backtrack(
    at: Callable[[float], tuple[float, T]],
    start: float,
    slope: float,
    *,
    noise: float = 0.0,
    shortest: float = 1e-15,
    longest: float = 1.0,
) -> Step[T] | None:
    """The first of the lengths ``longest``, 1/2, 1/4, ... of it that brings Armijo's share of the decrease.

    ``at(t)`` is the objective at length ``t`` with whatever is worth keeping of it, ``start`` the objective at 0 and
    ``slope`` (not positive) the decrease a whole step promises; ``noise`` is forgiven. None where no length does.
    """
    length = longest
    while length > shortest:
        value, there = at(length)
        if value <= start + _SUFFICIENT * length * slope + noise:
            return Step(length, value, there)
        length *= 0.5
    return None
