"""Composite least squares with a kernel, at a cost that does not depend on the number of classes.

Rows are sorted by class and scaled by the roots of their weights (``K <- DKD``, ``1 <- d``), so that
``W_j = (1-mix) I + c E_j`` with ``c = 2 mix - 1`` and ``E_j`` the indicator of class j. Stationarity is

    W_j (K a_j + b_j d - z_j) + lam a_j = v for every j,   sum_j a_j = 0,   and with a free intercept d'a_j = 0.

With ``R = ((1-mix) K + lam)^-1``, ``H = K R`` and the class blocks ``B_j = I + c H_jj``, Woodbury's identity gives

    S_j = (W_j K + lam)^-1 = R (I - c U_j B_j^-1 U_j' H),    sum_j S_j = R B^-1 N,    N = k B - c H,

where ``B`` is block diagonal and ``N`` positive definite for every mix. Targets are combinations of ``d`` and its class
parts ``d_j``, so ``S_j`` is only ever applied to ``alpha d`` plus a vector supported on class j, and all k of those fit
in one n-vector: two n x n factorisations, ``sum_j n_j^3`` and a few products, whatever k. A penalised intercept is the
kernel ``K + 1``. At ``mix = 1/2`` everything decouples into one ridge regression.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.solvers._simultaneous import SimultaneousSolution

__all__ = ["solve_kernel"]

Array = NDArray[np.floating[Any]]


def solve_kernel(
    K: Array, codes: NDArray[np.intp], weight: Array, n_classes: int, mix: float, lam: float, intercept: str
) -> SimultaneousSolution:
    """Fit at one ``(mix, lam)``; ``coef`` holds kernel coefficients (n, k) on the f scale."""
    k = n_classes
    order = np.argsort(codes, kind="stable")
    d = np.sqrt(weight[order])
    K = np.asarray(K[np.ix_(order, order)], dtype=np.float64)
    if intercept == "penalized":
        K += 1
    K *= d
    K *= d[:, None]
    system = _Blocks(K, codes[order], d, k, mix, lam)
    free = intercept == "free"
    a, b, v = system.solve_half(free) if mix == 0.5 else system.solve(free)
    residual, objective = system.measure(a, b, v)
    coef = np.empty_like(a)
    coef[order] = (k - 1) * a * d[:, None]
    b = (k - 1) * (coef.sum(axis=0) / (k - 1) if intercept == "penalized" else b)
    return SimultaneousSolution(coef, b, (k - 1) ** 2 * objective / (2 * lam), residual)


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

    def spread(self, matrix: Array, vector: Array) -> Array:
        """``matrix @ columns(vector)``, at the cost of one product with a vector."""
        out = np.empty((len(vector), self.k))
        for j, part in enumerate(self.parts):
            out[:, j] = matrix[:, part] @ vector[part]
        return out

    def solve_half(self, free: bool) -> tuple[Array, Array, Array]:
        A = 0.5 * self.K
        A[np.diag_indices_from(A)] += self.lam
        right = self.columns(self.own * self.d) + (self.common * self.d)[:, None]
        factor = linalg.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)
        q = linalg.cho_solve(factor, right, check_finite=False)
        b = np.zeros(self.k)
        if free:
            p = linalg.cho_solve(factor, 0.5 * self.d, check_finite=False)
            b = self.d @ q / (self.d @ p)
            q -= np.outer(p, b)
        return q, b, np.zeros(len(q))

    def solve(self, free: bool) -> tuple[Array, Array, Array]:
        R, H = self._resolvent()
        blocks = [self._block(H[part, part]) for part in self.parts]

        def inverse_blocks(x: Array) -> Array:
            """``B^-1 x`` for a vector or columns."""
            solved = [linalg.cho_solve(f, x[p], check_finite=False) for f, p in zip(blocks, self.parts, strict=True)]
            return np.concatenate(solved)

        def times_blocks(x: Array) -> Array:
            """``B x`` for a vector or columns."""
            y = np.concatenate([H[part, part] @ x[part] for part in self.parts])
            return x + self.c * y

        Hd = H @ self.d
        own_Hd = np.concatenate([H[part, part] @ self.d[part] for part in self.parts])

        def supported(alpha: float, beta: float) -> Array:
            """The class-supported part x of ``S_j (alpha d + beta d_j) = R (alpha d + x_j)``."""
            return beta * self.d - self.c * inverse_blocks(alpha * Hd + beta * own_Hd)

        N = -self.c * H
        for part in self.parts:
            N[part, part] += self.k * self.c * H[part, part]
        N[np.diag_indices_from(N)] += self.k
        N_factor = linalg.cho_factor(N.T, lower=True, overwrite_a=True, check_finite=False)

        x = supported(self.common, self.own)
        v: Array = -linalg.cho_solve(N_factor, times_blocks(self.k * self.common * self.d + x), check_finite=False)
        b: Array = np.zeros(self.k)
        Rd = R @ self.d
        if free:
            alpha = 1 - self.mix
            y = supported(alpha, self.c)
            V = times_blocks(self.columns(y) + (alpha * self.d)[:, None])
            V = linalg.cho_solve(N_factor, V, overwrite_b=True, check_finite=False)
            S = Rd[:, None] - self.c * self.spread(H, inverse_blocks(Rd))
            dq = self.common * (self.d @ Rd) + self._class_sums(Rd * x)
            t = alpha * (self.d @ Rd) + self._class_sums(Rd * y)
            b = self._intercepts(np.diag(t) - S.T @ V, dq + S.T @ v)
            v = v + V @ b
            x = x - b[self.codes] * y
        x = x - self.c * inverse_blocks(H @ v)
        a = self.spread(R, x) + (R @ (self.common * self.d + v))[:, None]
        if free:
            a -= (1 - self.mix) * np.outer(Rd, b)
        return a, b, v

    def _resolvent(self) -> tuple[Array, Array]:
        """``R`` and ``H = K R = (I - lam R) / (1 - mix)``."""
        if self.mix == 1:
            return np.eye(len(self.K)) / self.lam, self.K / self.lam
        A = (1 - self.mix) * self.K
        A[np.diag_indices_from(A)] += self.lam
        factor, singular = linalg.lapack.dpotrf(A.T, lower=0, overwrite_a=1)
        if singular:
            raise np.linalg.LinAlgError("The kernel matrix is not positive semidefinite to working precision; lower C.")
        R, _ = linalg.lapack.dpotri(factor, lower=0, overwrite_c=1)
        R = np.tril(R.T)  # C order, lower triangle filled
        R += np.tril(R, -1).T
        H = R * (-self.lam / (1 - self.mix))
        H[np.diag_indices_from(H)] += 1 / (1 - self.mix)
        return R, H

    def _block(self, H_jj: Array) -> Any:
        B = self.c * H_jj
        B[np.diag_indices_from(B)] += 1
        return linalg.cho_factor(B, lower=True, overwrite_a=True, check_finite=False)

    def _class_sums(self, x: Array) -> Array:
        return np.bincount(self.codes, weights=x, minlength=self.k).astype(np.float64)

    def _intercepts(self, M: Array, right: Array) -> Array:
        """Solve ``M b = right`` with ``sum b = 0``; the ones vector is the left null vector of ``M``."""
        k, edge = self.k, np.ones((self.k, 1)) * np.abs(M).max()
        bordered = np.block([[M, edge], [edge.T, np.zeros((1, 1))]])
        return np.linalg.solve(bordered, np.r_[right, 0.0])[:k]

    def measure(self, a: Array, b: Array, v: Array) -> tuple[float, float]:
        """The largest relative residual of the stationarity equations, and the objective on the h scale."""
        rows = np.arange(len(a))
        Ka = self.K @ a
        error = Ka + np.outer(self.d, b) + (self.d / (self.k - 1))[:, None]
        error[rows, self.codes] -= self.d * (1 + 1 / (self.k - 1))
        pull = (1 - self.mix) * error
        pull[rows, self.codes] = self.mix * error[rows, self.codes]
        objective = float(np.sum(pull * error)) + self.lam * float(np.sum(a * Ka))
        scale = float(self.d.max()) * max(self.mix, (1 - self.mix) / (self.k - 1))
        return float(np.abs(pull + self.lam * a - v[:, None]).max()) / scale, objective
