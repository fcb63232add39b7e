"""How far does one row pull its own score? The diagonal of the influence matrix of a ridge fit.

At a minimum of ``sum_i w_i phi(u_i) + (ridge/2) |beta|^2`` with curvatures ``W = diag(w_i phi''(u_i))``, raising the
derivative of row ``i`` by one moves the scores by column ``i`` of

    features:  H = B (B'WB + ridge E)^-1 B',          B = [1 Phi],  E = diag(0, 1, ..., 1)
    kernels:   H = (K - K_R S A^-1 S K_R') / ridge + e e' / (ridge 1'S A^-1 S 1),
               A = S K_RR S + ridge I,  e = 1 - K_R S A^-1 S 1

with ``S = W^(1/2)`` on the rows ``R`` that have curvature. A robust loss bends the other way at rows it has nearly
given up; they count as rows without curvature, which keeps ``H`` positive whatever the fit. Where no row has any (a
constant that gave up a class), no single row moves the intercept. Neither ``K^-1`` nor the ``n x n`` matrix ``H`` is
formed for features; the trace of ``W H`` is the degrees of freedom.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.expansions import row_blocks
from softmargin.solvers import shifted_cholesky

__all__ = ["KernelInfluence", "influence"]

Array = NDArray[np.floating[Any]]

_LARGE = 1e9  # cubed rows from where precision has a price
_SINGLE_CONDITION = 100.0  # of the factor: 1e-5 at worst, 1e-7 as a rule
_PARTS = 8
_FIRM = 1e-6  # relative curvature below which dividing by it would cost digits


def influence(
    expansion: Any,
    curvature: Array,
    ridge: float = 1.0,
    *,
    fit_intercept: bool = True,
    active: NDArray[np.intp] | None = None,
) -> Array:
    """The diagonal of ``H``; ``active`` restricts features to the columns a sparse fit kept."""
    n, p = expansion.shape
    curvature = np.maximum(curvature, 0)
    fit_intercept = fit_intercept and bool(curvature.any())
    if expansion.is_kernel or (active is None and p > n):
        return KernelInfluence(expansion.outer(), curvature, ridge, fit_intercept, single=True).diagonal()
    features = expansion
    if active is not None:
        features = expansion.select(active)
    if features.shape[1] > n:
        return KernelInfluence(features.outer(), curvature, ridge, fit_intercept, single=True).diagonal()
    return _feature_influence(features, curvature, ridge, fit_intercept)


def _cholesky(A: Array) -> Array:
    """The lower factor of a matrix that is positive definite but for rounding, made in its place."""
    try:
        return shifted_cholesky(A).triangle()
    except np.linalg.LinAlgError as error:
        raise ValueError(
            "the curvature of a candidate is not positive definite to working precision, so its influences are "
            "unknown; scale the features, lower C, or use criterion='cv'."
        ) from error


def _feature_influence(features: Any, curvature: Array, ridge: float, fit_intercept: bool) -> Array:
    n, p = features.shape
    first = int(fit_intercept)
    hessian = np.empty((p + first, p + first))
    hessian[first:, first:] = features.gram(curvature)
    hessian[np.arange(first, p + first), np.arange(first, p + first)] += ridge
    if fit_intercept:
        hessian[0, 0] = curvature.sum()
        hessian[0, 1:] = hessian[1:, 0] = features.transpose(curvature)
    # b'A^-1 b as a sum of squares: positive in any precision, so rows in single precision stay so
    factor = _cholesky(hessian).astype(features.dtype, copy=False)
    diagonal = np.empty(n)
    for rows in row_blocks(n, 8 * p):
        X = features.rows(rows)
        B = np.ones((X.shape[0], p + first), dtype=features.dtype)
        B[:, first:] = X.toarray() if sparse.issparse(X) else X
        seen = linalg.solve_triangular(factor, B.T, lower=True, overwrite_b=True, check_finite=False)
        diagonal[rows] = np.einsum("ij,ij->j", seen, seen)
    return diagonal


class KernelInfluence:
    """The matrix ``A`` of one fit, factored: its influences, and the fit itself where the loss is squared."""

    def __init__(self, K: Array, curvature: Array, ridge: float, fit_intercept: bool, *, single: bool = False) -> None:
        if ridge == 0:
            raise ValueError(
                "the influence of a row on a kernel fit is known where the penalty has a ridge (l1_ratio below 1); "
                "use criterion='cv'."
            )
        self.K, self.curvature, self.ridge, self.fit_intercept = K, curvature, ridge, fit_intercept
        self.active = np.flatnonzero(curvature > 0)
        self.root = np.sqrt(curvature[self.active])
        A = K if len(self.active) == len(K) else K[np.ix_(self.active, self.active)]
        root: Array = self.root.astype(np.float32 if single and self._spares_digits() else np.float64)
        A = np.multiply(A, root, dtype=root.dtype)
        A *= root[:, None]
        A[np.diag_indices_from(A)] += ridge
        self.factor = _cholesky(A)
        self.ones = root  # of no active row: SciPy before 1.14 refuses empty systems
        if len(root):
            self.ones = linalg.solve_triangular(self.factor, root, lower=True, check_finite=False)

    def fit(self, target: Array) -> tuple[Array, float]:
        """Coefficients and intercept of the least ``sum_i W_i (target_i - f_i)^2 / 2 + ridge |f|^2 / 2``."""
        half = linalg.solve_triangular(self.factor, self.root * target[self.active], lower=True, check_finite=False)
        intercept = float(self.ones @ half) / float(self.ones @ self.ones) if self.fit_intercept else 0.0
        half -= intercept * self.ones
        coef = np.zeros(len(self.curvature))
        coef[self.active] = self.root * linalg.solve_triangular(
            self.factor, half, lower=True, trans="T", check_finite=False
        )
        return coef, intercept

    def diagonal(self) -> Array:
        """The diagonal of ``H``; the factor is used up."""
        active, root, ridge, curvature = self.active, self.root, self.ridge, self.curvature
        if not len(active):
            return np.diagonal(self.K) / ridge
        total = ridge * float(self.ones @ self.ones)
        firm = curvature[active] > _FIRM * curvature.max()
        rows, bend = active[firm], curvature[active[firm]]
        diagonal = np.empty(len(curvature))
        rest = np.setdiff1d(np.arange(len(curvature)), rows, assume_unique=True)
        if len(rest):
            right = root[:, None] * self.K[np.ix_(active, rest)]
            seen = linalg.solve_triangular(self.factor, right, lower=True, check_finite=False)
            diagonal[rest] = (np.diagonal(self.K)[rest] - np.square(seen).sum(axis=0)) / ridge
            if self.fit_intercept:
                diagonal[rest] += np.square(1 - self.ones @ seen) / total

        # where a row has curvature of its own, K S A^-1 S K and e need no more than A^-1 on that row
        if self.fit_intercept:
            pull = linalg.solve_triangular(self.factor, self.ones, lower=True, trans="T", check_finite=False)
            pull *= ridge / root
        diagonal[rows] = (1 - ridge * self._inverse_diagonal()[firm]) / bend
        if self.fit_intercept:
            diagonal[rows] += np.square(pull[firm]) / total
        return diagonal

    def _spares_digits(self) -> bool:
        """Whether single precision will do: for large matrices, where it is no worse than the accuracy of a fit."""
        condition = 1 + float(self.curvature @ np.diagonal(self.K)) / self.ridge
        return len(self.active) ** 3 > _LARGE and bool(np.sqrt(condition) < _SINGLE_CONDITION)

    def _inverse_diagonal(self) -> Array:
        """The diagonal of ``A^-1``: squared columns of the inverted factor.

        Single precision gives it to ``cond(A)^(1/2)`` times 1e-7, relative.
        """
        if len(self.factor) == 0:
            return np.zeros(0)
        if self._spares_digits():
            inverse, _ = linalg.lapack.strtri(self.factor.astype(np.float32, copy=False), lower=1, overwrite_c=1)
        else:
            inverse, _ = linalg.lapack.dtrtri(self.factor, lower=1, overwrite_c=1)
        diagonal = np.zeros(len(inverse))
        for part in np.array_split(inverse, _PARTS):  # short sums, so that single precision loses nothing more
            diagonal += np.einsum("ij,ij->j", part, part)
        return diagonal
