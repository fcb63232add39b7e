"""How far does one row pull its own score? The diagonal of the influence matrix of a ridge fit.

At a minimum of ``sum_i w_i phi(u_i) + (ridge/2) |beta|^2`` with curvatures ``W = diag(w_i phi''(u_i))``, raising the
derivative of row ``i`` by one moves the scores by column ``i`` of

    features:  H = B (B'WB + ridge E)^-1 B',          B = [1 Phi],  E = diag(0, 1, ..., 1)
    kernels:   H = (K - K_R S A^-1 S K_R') / ridge + e e' / (ridge 1'S A^-1 S 1),
               A = S K_RR S + ridge I,  e = 1 - K_R S A^-1 S 1

with ``S = W^(1/2)`` on the rows ``R`` that have curvature. Neither ``K^-1`` nor the ``n x n`` matrix ``H`` is formed
for features; the trace of ``W H`` is the degrees of freedom.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.expansions._base import row_blocks

__all__ = ["influence"]

Array = NDArray[np.floating[Any]]


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
    if expansion.is_kernel or (active is None and p > n):
        return _kernel_influence(expansion.outer(), curvature, ridge, fit_intercept)
    X = expansion.X if active is None else expansion.X[:, active]
    if X.shape[1] > n:
        return _kernel_influence(_dense(X @ X.T), curvature, ridge, fit_intercept)
    return _feature_influence(X, curvature, ridge, fit_intercept)


def _feature_influence(X: Any, curvature: Array, ridge: float, fit_intercept: bool) -> Array:
    n, p = X.shape
    first = int(fit_intercept)
    hessian = np.zeros((p + first, p + first))
    blocks = list(row_blocks(n, 8 * (p + first)))
    for rows in blocks:
        design = _design(X[rows], fit_intercept)
        hessian += design.T @ (design * curvature[rows, None])
    hessian[np.diag_indices_from(hessian)] += np.r_[np.zeros(first), np.full(p, ridge)]
    factor = linalg.cholesky(hessian, lower=True)
    diagonal = np.empty(n)
    for rows in blocks:
        seen = linalg.solve_triangular(factor, _design(X[rows], fit_intercept).T, lower=True)
        diagonal[rows] = np.square(seen).sum(axis=0)
    return diagonal


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=float)


def _design(X: Any, fit_intercept: bool) -> Array:
    X = _dense(X)
    return np.column_stack([np.ones(len(X)), X]) if fit_intercept else X


def _kernel_influence(K: Array, curvature: Array, ridge: float, fit_intercept: bool) -> Array:
    active = np.flatnonzero(curvature > 0)
    root = np.sqrt(curvature[active])
    A = K[np.ix_(active, active)] * root[:, None] * root
    A[np.diag_indices_from(A)] += ridge
    factor = linalg.cholesky(A, lower=True)
    seen = linalg.solve_triangular(factor, root[:, None] * K[active], lower=True)
    diagonal = (np.diagonal(K) - np.square(seen).sum(axis=0)) / ridge
    if fit_intercept:
        ones = linalg.solve_triangular(factor, root, lower=True)
        diagonal = diagonal + np.square(1 - ones @ seen) / (ridge * float(ones @ ones))
    return diagonal
