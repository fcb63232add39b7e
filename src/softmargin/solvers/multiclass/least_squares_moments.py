"""Composite least squares from class moments: one Gram matrix per class serves every mix and every penalty.

With targets ``z_ij = 1`` (own class) or ``-1/(k-1)`` and weights ``w_ij = s_i mix`` or ``s_i (1 - mix)``, minimise

    sum_j sum_i w_ij (z_ij - h_j(x_i))^2 + lam sum_j |theta_j|^2,    sum_j theta_j = 0,    h_j(x) = theta_j'[1, x].

``M_j = (1-mix) sum_l S_l + (2 mix - 1) S_j + lam G`` is made of the class Grams ``S_j`` alone, and stationarity is

    M_j theta_j = r_j + u for every j,    sum_j theta_j = 0   =>   u = -(sum_j M_j^-1)^-1 sum_j M_j^-1 r_j.

At ``mix = 1/2`` all ``M_j`` are equal, ``u = 0`` and one factorisation does (ridge regression of the indicators). One
step of iterative refinement follows, and the certificate is the largest residual of the stationarity equations.
``f = (k-1) h`` is the scale of everything public. Leaving sample i out is a closed form too, coupling included:

    e_i^(-i) = (I - H_i Om_i)^-1 e_i,    H_i = diag(d_i) - V_i' T^-1 V_i,    V_i = [M_1^-1 phi_i, ..., M_k^-1 phi_i],

with ``T = sum_j M_j^-1``, ``d_ij = phi_i' M_j^-1 phi_i``, ``Om_i = diag(w_i.)`` and ``e_i`` the residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.expansions import row_blocks
from softmargin.solvers.linalg import add_to_diagonal, shifted_cholesky

__all__ = ["ClassMoments", "LeaveOneOut", "leave_one_out", "solve_moments", "solve_rows"]

Array = NDArray[np.floating[Any]]

_CACHE_ENTRIES = 1 << 25  # class matrices kept in memory up to 256 MB, recomputed beyond
_CHUNK_ENTRIES = 1 << 21


@dataclass
class LeaveOneOut:
    """Scores ``h`` (n, k) of every row by the fit without it, the degrees of freedom, and their generalised CV.

    ``rss`` computes the weighted squares of the residuals with every row in: only ``gcv`` needs them.
    """

    scores: Array
    df: float
    n_rows: float
    rss: Callable[[], float]

    @property
    def gcv(self) -> float:
        """``(rss / n) / (1 - df / (n (k-1)))^2``."""
        share = max(1 - self.df / (self.n_rows * (self.scores.shape[1] - 1)), np.finfo(float).tiny)
        return self.rss() / self.n_rows / share**2


class ClassMoments:
    """Weighted class Grams ``S_j`` and class sums ``c_j`` of the features ``[1, Z]``; rows are sorted by class once.

    A free intercept lets the features be centred first, which keeps the Grams well conditioned.
    """

    def __init__(self, Z: Any, codes: NDArray[np.intp], weight: Array, n_classes: int, intercept: str) -> None:
        self.codes, self.weight, self.k = codes, weight, n_classes
        self.has_intercept, self.free = intercept != "none", intercept == "free"
        self.counts = np.bincount(codes, weight, minlength=n_classes)
        self.center = np.zeros(Z.shape[1])
        if self.free and not sparse.issparse(Z):
            self.center = weight @ Z / weight.sum()
        self.Z = Z
        ends = np.cumsum(np.bincount(codes, minlength=n_classes))
        self.slices = [slice(a, b) for a, b in zip(np.r_[0, ends[:-1]], ends, strict=True)]
        sums = self._indicators().T @ Z - np.outer(self.counts, self.center)
        self.sums = np.column_stack([self.counts, sums]) if self.has_intercept else np.asarray(sums)
        self.m = self.sums.shape[1]
        self.penalized = np.ones(self.m)
        if self.free:
            self.penalized[0] = 0

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows, sorted by class."""
        return np.argsort(self.codes, kind="stable")

    def features(self, rows: Any = slice(None)) -> Array:
        """``[1, Z - center]`` of the given rows, dense."""
        Z = self.Z[rows]
        Z = (Z.toarray() if sparse.issparse(Z) else Z) - self.center
        return np.column_stack([np.ones(len(Z)), Z]) if self.has_intercept else Z

    def _indicators(self) -> Any:
        n = len(self.codes)
        return sparse.csr_array((self.weight, self.codes, np.arange(n + 1)), shape=(n, self.k))

    @cached_property
    def total(self) -> Array:
        """``sum_j S_j``."""
        if sparse.issparse(self.Z):
            return self._gram_of(slice(None))
        out = np.zeros((self.m, self.m))
        for rows in row_blocks(len(self.codes), 8 * self.m, self.m):
            scaled = self._scaled(rows)
            out += scaled.T @ scaled
        return out

    @cached_property
    def _stored(self) -> Array:
        if sparse.issparse(self.Z):
            return np.stack([self._gram_of(part) for part in self.slices])
        rows = self._scaled(self.order)
        out = np.empty((self.k, self.m, self.m))
        for part, gram in zip(self.slices, out, strict=True):
            np.matmul(rows[part].T, rows[part], out=gram)
        return out

    def gram(self, j: int) -> Array:
        """``S_j``."""
        if self.k * self.m**2 <= _CACHE_ENTRIES:
            return self._stored[j]
        return self._gram_of(self.slices[j])

    def _scaled(self, rows: NDArray[np.intp] | slice) -> Array:
        """The features of dense rows times the roots of their weights."""
        root = np.sqrt(self.weight[rows])
        out = np.empty((len(root), self.m))
        start = int(self.has_intercept)
        np.subtract(self.Z[rows], self.center, out=out[:, start:])
        out[:, :start] = 1
        out *= root[:, None]
        return out

    def _gram_of(self, part: slice) -> Array:
        rows = self.order[part]
        if not sparse.issparse(self.Z):
            scaled = self._scaled(rows)
            return scaled.T @ scaled
        root = np.sqrt(self.weight[rows])
        Z = self.Z[rows].multiply(root[:, None]).tocsr()
        inner = (Z.T @ Z).toarray()
        if not self.has_intercept:
            return inner
        edge = np.asarray(Z.T @ root)
        return np.block([[np.array([[root @ root]]), edge[None, :]], [edge[:, None], inner]])

    def right_sides(self, mix: float) -> Array:
        """``r_j = Zt' W_j z_j`` as rows."""
        return mix * self.sums - (1 - mix) / (self.k - 1) * (self.sums.sum(axis=0) - self.sums)

    def matrix(self, j: int, mix: float, lam: float) -> Array:
        """``M_j``."""
        M = (1 - mix) * self.total
        if mix != 0.5:
            M += (2 * mix - 1) * self.gram(j)
        add_to_diagonal(M, lam * self.penalized)
        return M

    def matrices(self, classes: range, mix: float, lam: float) -> Array:
        """``M_j`` of several classes, stacked."""
        kept = self.k * self.m**2 <= _CACHE_ENTRIES
        grams = self._stored[classes.start : classes.stop] if kept else np.stack([self.gram(j) for j in classes])
        M = (2 * mix - 1) * grams
        M += (1 - mix) * self.total
        M[:, np.arange(self.m), np.arange(self.m)] += lam * self.penalized
        return M

    def inverses(self, mix: float, lam: float) -> Iterator[Array]:
        """``M_j^-1`` for each class in turn; the same matrix k times when the mix is one half."""
        if mix == 0.5:
            one = _inverse(self.matrix(0, mix, lam))
            for _ in range(self.k):
                yield one
            return
        for j in range(self.k):
            yield _inverse(self.matrix(j, mix, lam))


def solve_moments(moments: ClassMoments, mix: float, lam: float) -> tuple[Array, Array]:
    """Coefficients (m, k) of the features as given and intercepts at one ``(mix, lam)``, on the f scale."""
    f = (moments.k - 1) * (_solve_half(moments, lam) if mix == 0.5 else _solve_coupled(moments, mix, lam))
    coef = f[:, 1:] if moments.has_intercept else f
    return coef.T, f[:, 0] - coef @ moments.center if moments.has_intercept else np.zeros(moments.k)


def _solve_half(moments: ClassMoments, lam: float) -> Array:
    M = moments.matrix(0, 0.5, lam)
    factor = shifted_cholesky(M.copy())
    rhs = moments.right_sides(0.5).T
    theta = factor(rhs)
    theta += factor(rhs - M @ theta)
    theta -= theta.mean(axis=1, keepdims=True)
    return theta.T


def _solve_coupled(moments: ClassMoments, mix: float, lam: float) -> Array:
    k, m = moments.k, moments.m
    together = k if k * m**2 <= _CACHE_ENTRIES else 1
    groups = [range(first, min(first + together, k)) for first in range(0, k, together)]
    stored = moments.matrices(groups[0], mix, lam) if together == k else None
    inverted = _inverses(stored) if stored is not None else None

    def matrices(group: range) -> Array:
        return moments.matrices(group, mix, lam) if stored is None else stored

    def inverses(group: range) -> Array:
        return _inverses(moments.matrices(group, mix, lam)) if inverted is None else inverted

    def times(stacks: Callable[[range], Array], x: Array) -> Array:
        """Each class's matrix times its row of ``x``."""
        products = [np.matmul(stacks(g), x[g.start : g.stop, :, None]) for g in groups]
        return np.concatenate(products)[:, :, 0]

    total = shifted_cholesky(np.sum([inverses(g).sum(axis=0) for g in groups], axis=0))

    def correct(right: Array, sums_to: Array) -> tuple[Array, Array]:
        partial = times(inverses, right)
        u = total(sums_to - partial.sum(axis=0))
        return partial + times(inverses, np.broadcast_to(u, right.shape)), u

    rhs = moments.right_sides(mix)
    theta, u = correct(rhs, np.zeros(m))
    for _ in range(2):
        left = times(matrices, theta)
        change, shift = correct(rhs + u - left, -theta.sum(axis=0))
        theta, u = theta + change, u + shift
    return theta - theta.mean(axis=0)


def leave_one_out(
    moments: ClassMoments,
    mix: float,
    lam: float,
    *,
    removed: Array | None = None,
    n_rows: float | None = None,
    rows: NDArray[np.intp] | None = None,
) -> LeaveOneOut:
    """Scores of every row by the fit without that row, on the h scale.

    ``removed`` is the weight taken from each row (all of it by default): a row that stands for several equal ones
    loses one of them. ``n_rows`` is then their total number. A row that is the only member of its class, at
    ``mix = 1`` with a free intercept, has no fit without it: NaN. ``rows`` asks for some of the rows only.
    """
    index = np.arange(len(moments.codes)) if rows is None else rows
    k, n = moments.k, len(index)
    removed = moments.weight if removed is None else removed
    theta = _solve_half(moments, lam) if mix == 0.5 else _solve_coupled(moments, mix, lam)
    inverses = [_inverse(moments.matrix(0, mix, lam))] if mix == 0.5 else list(moments.inverses(mix, lam))
    root = None if mix == 0.5 else shifted_cholesky(np.sum(inverses, axis=0)).triangle()
    out, df = np.empty((n, k)), 0.0
    step = max(1, _CHUNK_ENTRIES // (k * max(min(k, moments.m), 1) + k * moments.m))
    rss = 0.0
    for first in range(0, n, step):
        part = slice(first, min(first + step, n))
        rows = index[part]
        own = moments.codes[rows, None] == np.arange(k)
        share = np.where(own, mix, 1 - mix)
        weight, taken = moments.weight[rows, None] * share, removed[rows, None] * share
        target = np.where(own, 1.0, -1 / (k - 1))
        phi = moments.features(rows)
        error = target - phi @ theta.T
        rss += float((weight * error**2).sum())
        if root is None:
            lever = np.einsum("ij,ij->i", phi @ inverses[0], phi)[:, None]
            df += float((weight * lever * (1 - 1 / k)).sum())
            without = error / np.maximum(1 - taken * lever, np.finfo(float).eps)
        else:
            without, hat = _coupled_errors(phi, inverses, root, taken, error)
            df += float((weight * hat).sum())
        out[part] = target - without
    if mix == 1 and moments.free:
        out[moments.counts[moments.codes[index]] <= removed[index] * (1 + 1e-12)] = np.nan
    return LeaveOneOut(out, df, float(n) if n_rows is None else n_rows, lambda: rss)


def _coupled_errors(phi: Array, inverses: list[Array], root: Array, weight: Array, error: Array) -> tuple[Array, Array]:
    """``(I - H_i Om_i)^-1 e_i`` and the diagonal of ``H_i``, row by row, in min(k, m) unknowns each."""
    k, m = len(inverses), phi.shape[1]
    V = np.stack([phi @ inverse for inverse in inverses], axis=1)
    lever = np.einsum("ijm,im->ij", V, phi)
    B = (V.reshape(-1, m) @ linalg.lapack.dtrtri(root, lower=1)[0].T).reshape(V.shape)
    hat = lever - np.einsum("ijm,ijm->ij", B, B)
    with np.errstate(divide="ignore", invalid="ignore"):
        if k <= m:
            A = np.matmul(B, B.transpose(0, 2, 1)) * weight[:, None, :]
            A[:, np.arange(k), np.arange(k)] += 1 - lever * weight
            return solve_rows(A, error), hat
        keep = 1 - lever * weight
        scaled = B.transpose(0, 2, 1) * (weight / keep)[:, None, :]
        inner = np.matmul(scaled, B)
        inner[:, np.arange(m), np.arange(m)] += 1
        correction = solve_rows(inner, np.matmul(scaled, error[:, :, None])[:, :, 0])
        return (error - np.matmul(B, correction[:, :, None])[:, :, 0]) / keep, hat


def solve_rows(A: Array, b: Array) -> Array:
    """The solutions of stacked systems, one for each row; NaN where there is none."""
    try:
        return np.linalg.solve(A, b[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:  # one singular row must not hide the others
        out = np.full_like(b, np.nan)
        for i in range(len(A)):
            if np.linalg.matrix_rank(A[i]) == A.shape[1]:
                out[i] = np.linalg.solve(A[i], b[i])
        return out


def _inverse(M: Array) -> Array:
    """The inverse of a positive definite matrix, both triangles."""
    return _inverses(M[None])[0]


def _inverses(matrices: Array) -> Array:
    """The inverses of stacked positive definite matrices."""
    return np.stack([shifted_cholesky(M.copy()).inverse() for M in matrices])
