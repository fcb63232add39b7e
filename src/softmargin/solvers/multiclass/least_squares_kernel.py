"""Composite least squares with a kernel, at a cost that does not depend on the number of classes.

Rows are sorted by class and scaled by the roots of their weights (``K <- DKD``, ``1 <- d``), so that
``W_j = (1-mix) I + c E_j`` with ``c = 2 mix - 1`` and ``E_j`` the indicator of class j. Stationarity is

    W_j (K a_j + b_j d - z_j) + lam a_j = v for every j,   sum_j a_j = 0,   and with a free intercept d'a_j = 0.

With ``R = ((1-mix) K + lam)^-1``, ``H = K R`` and the class blocks ``B_j = I + c H_jj``, Woodbury's identity gives

    S_j = (W_j K + lam)^-1 = R (I - c U_j B_j^-1 U_j' H),    sum_j S_j = R B^-1 N,    N = k B - c H,

where ``B`` is block diagonal and ``N`` positive definite for every mix. Targets are combinations of ``d`` and its class
parts ``d_j``, so ``S_j`` is only ever applied to ``alpha d`` plus a vector supported on class j, and all k of those fit
in one n-vector: two n x n factorisations, ``sum_j n_j^3`` and a few products, whatever k. The condition of
``N`` is at most about ``max(mix/(1-mix), (1-mix)/mix)^2`` whatever the kernel, so it is factored in single precision
unless the mix is extreme, and ``v`` and the intercepts are refined in double precision. A penalised intercept is the
kernel ``K + 1``. At ``mix = 1/2`` everything decouples into one ridge regression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import MulticlassProblem
from softmargin.solvers.linalg import add_to_diagonal, shifted_cholesky

__all__ = ["solve_kernel"]

Array = NDArray[np.floating[Any]]

_SINGLE_CONDITION = 1e4  # of N; beyond it single precision gains too few digits per refinement
_REFINEMENTS = 3
_SETTLED = 1e-13  # residual beside the right side, near what rounding leaves of one: no refinement makes it smaller


def solve_kernel(K: Array, problem: MulticlassProblem, mix: float, lam: float) -> tuple[Array, Array]:
    """Kernel coefficients (n, k) and intercepts at one ``(mix, lam)``, on the f scale."""
    k, codes, weight = problem.n_classes, problem.codes, problem.weights
    half = mix == 0.5  # one matrix for all classes: rows stay in their order
    order = np.arange(len(codes)) if half else np.argsort(codes, kind="stable")
    d = np.sqrt(weight[order])
    K = K if half else np.asarray(K[order].take(order, axis=1), dtype=np.float64)
    if problem.intercept == "penalized":
        K = K + 1
    if np.any(d != 1):
        K = K * d
        K *= d[:, None]
    system = _Blocks(K, codes[order], d, k, mix, lam)
    free = problem.intercept == "free"
    a, b = system.solve_half(free) if half else system.solve(free)
    coef = np.empty_like(a)
    coef[order] = (k - 1) * a * d[:, None]
    coef -= coef.mean(axis=1, keepdims=True)
    return coef, coef.sum(axis=0) if problem.intercept == "penalized" else (k - 1) * b


@dataclass
class _Affine:
    """The symmetric matrix ``constant I + slope base``, never formed."""

    constant: float
    slope: float
    base: Array

    def __matmul__(self, x: Array) -> Array:
        return self.constant * x + self.slope * (self.base @ x) if self.slope else self.constant * x

    def block(self, part: slice) -> Array:
        block = self.slope * self.base[part, part]
        add_to_diagonal(block, self.constant)
        return block

    def scaled(self, scale: float, shift: float, dtype: Any) -> Array:
        """``scale * self + shift I``, formed."""
        out = np.multiply(self.base, scale * self.slope, dtype=dtype, casting="same_kind")
        add_to_diagonal(out, scale * self.constant + shift)
        return out


def _resolvent(K: Array, mix: float, lam: float) -> tuple[_Affine, _Affine]:
    """``R`` and ``H = K R = (I - lam R) / (1 - mix)``."""
    if mix == 1:
        return _Affine(1 / lam, 0.0, K), _Affine(0.0, 1 / lam, K)
    A = (1 - mix) * K
    add_to_diagonal(A, lam)
    R = shifted_cholesky(A).inverse()
    return _Affine(0.0, 1.0, R), _Affine(1 / (1 - mix), -lam / (1 - mix), R)


class _Blocks:
    """One scaled, class-sorted kernel system."""

    def __init__(self, K: Array, codes: NDArray[np.intp], d: Array, k: int, mix: float, lam: float) -> None:
        self.K, self.codes, self.d, self.k, self.mix, self.lam = K, codes, d, k, mix, lam
        self.c = 2 * mix - 1
        ends = np.cumsum(np.bincount(codes, minlength=k))
        self.parts = [slice(a, b) for a, b in zip(np.r_[0, ends[:-1]], ends, strict=True)]
        self.common = -(1 - mix) / (k - 1)  # W_j z_j = common d + own d_j
        self.own = mix - self.common

    def columns(self, vector: Array) -> Array:
        """A vector as k columns, column j keeping the entries of class j."""
        out = np.zeros((len(vector), self.k))
        out[np.arange(len(vector)), self.codes] = vector
        return out

    def by_class(self, matrix: _Affine, vector: Array) -> Array:
        """``matrix @ columns(vector)``, at the cost of one product with a vector."""
        products = np.array([vector[part] @ matrix.base[part] for part in self.parts]).T
        products *= matrix.slope
        products[np.arange(len(vector)), self.codes] += matrix.constant * vector
        return products

    def solve_half(self, free: bool) -> tuple[Array, Array]:
        A = 0.5 * self.K
        add_to_diagonal(A, self.lam)
        right = self.columns(self.own * self.d) + (self.common * self.d)[:, None]
        factor = shifted_cholesky(A)
        q, b, left = np.zeros_like(right), np.zeros(self.k), right
        p = factor(0.5 * self.d) if free else self.d
        for _ in range(_REFINEMENTS):  # rows in the ten thousands leave the first solution few digits
            q += factor(left)
            if free:
                shift = self.d @ q / (self.d @ p)
                b, q = b + shift, q - np.outer(p, shift)
            left = right - 0.5 * (self.K @ q + np.outer(self.d, b)) - self.lam * q
            if np.abs(left).max() <= _SETTLED * np.abs(right).max():
                break
        return q, b

    def solve(self, free: bool) -> tuple[Array, Array]:
        R, H = _resolvent(self.K, self.mix, self.lam)
        own = [H.block(part) for part in self.parts]  # H_jj
        factors = [shifted_cholesky(self.c * H_jj + np.eye(len(H_jj))) for H_jj in own]

        def inverse_blocks(x: Array) -> Array:
            """``B^-1 x``."""
            return np.concatenate([factor(x[part]) for factor, part in zip(factors, self.parts, strict=True)])

        def own_part(x: Array) -> Array:
            """The diagonal blocks of ``H`` times a vector or columns."""
            return np.concatenate([H_jj @ x[part] for H_jj, part in zip(own, self.parts, strict=True)])

        def times_blocks(x: Array) -> Array:
            """``B x`` for a vector or columns."""
            return x + self.c * own_part(x)

        Rd, Hd = R @ self.d, H @ self.d
        own_Hd = own_part(self.d)

        def supported(alpha: float, beta: float) -> Array:
            """The class-supported part x of ``S_j (alpha d + beta d_j) = R (alpha d + x_j)``."""
            return beta * self.d - self.c * inverse_blocks(alpha * Hd + beta * own_Hd)

        solve_N = self._coupling(H, own)
        x, b, v = supported(self.common, self.own), np.zeros(self.k), np.zeros(len(self.d))
        alpha = 1 - self.mix
        if free:
            y = supported(alpha, self.c)
            V = solve_N(times_blocks(self.columns(y) + (alpha * self.d)[:, None]))
            S = Rd[:, None] - self.c * self.by_class(H, inverse_blocks(Rd))
            t = alpha * (self.d @ Rd) + self._class_sums(Rd * y)
            target = self.common * (self.d @ Rd) + self._class_sums(Rd * x)
            M = np.diag(t) - S.T @ V
        for _ in range(_REFINEMENTS):
            right = -self.k * self.common * self.d - x - self.k * v
            if free:
                right += b[self.codes] * y + alpha * b.sum() * self.d
            change = solve_N(times_blocks(right) + self.c * (H @ v))
            if free:
                shift = self._intercepts(M, target - t * b + S.T @ (v + change))
                b, change = b + shift, change + V @ shift
            v = v + change
        if free:
            x -= b[self.codes] * y
        x -= self.c * inverse_blocks(H @ v)
        a = self.by_class(R, x) + (R @ (self.common * self.d + v))[:, None]
        if free:
            a -= alpha * np.outer(Rd, b)
        return a, b

    def _coupling(self, H: _Affine, own: list[Array]) -> Callable[[Array], Array]:
        """``N^-1`` as a function, to single precision where that is enough to refine from."""
        low, high = sorted((self.mix, 1 - self.mix))
        single = high**2 < _SINGLE_CONDITION * low**2
        N = H.scaled(-self.c, self.k, np.float32 if single else np.float64)
        for H_jj, part in zip(own, self.parts, strict=True):
            N[part, part] += self.k * self.c * H_jj
        factor = shifted_cholesky(N)
        return lambda x: factor(x.astype(N.dtype, copy=False))

    def _class_sums(self, x: Array) -> Array:
        return np.bincount(self.codes, weights=x, minlength=self.k).astype(np.float64)

    def _intercepts(self, M: Array, right: Array) -> Array:
        """Solve ``M b = right`` with ``sum b = 0``; the ones vector is the left null vector of ``M``."""
        k, edge = self.k, np.ones((self.k, 1)) * np.abs(M).max()
        bordered = np.block([[M, edge], [edge.T, np.zeros((1, 1))]])
        return np.linalg.solve(bordered, np.r_[right, 0.0])[:k]
