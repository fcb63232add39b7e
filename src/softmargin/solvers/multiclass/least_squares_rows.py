"""Leave-one-out of composite least squares in the space of the rows, whatever the mix, from two inverses.

Rows are sorted by class and scaled by the roots of their weights; ``K`` holds their inner products. The errors of a row
weigh ``1 - mix``, and that of its own class ``c = 2 mix - 1`` more: one more square per row. So the fit is the one with
equal weights changed by a matrix of n columns ``E``, which pick the own score of every row. With

    S = K ((1-mix) K + lam)^-1,    P = I - 11'/k,    G = c (I + c S o P_yy)^-1     (o entry by entry, P_yy by classes)

the scores are those of ``S`` less ``S X``, ``X`` the classes of the rows times ``G`` times their own scores, centred,
and the derivatives of a row's scores in its own targets, which leave-one-out needs (``least_squares_moments``), are

    H_i = S_ii P - P T_i P,    T_i = Y' diag(S_i) G diag(S_i) Y,    Y the indicators of the classes,

at ``n^3`` multiplications for all rows. A free intercept is a direction without penalty: ``S`` grows by ``1/(1-mix)``
along the roots of the weights.

At ``mix = 1`` only the own scores have targets: ridge regression of n numbers with the kernel ``K o P_yy`` and, for
free intercepts, a column ``B_j`` for each class. With ``C`` and ``W`` the first blocks of the inverse of

    [K o P_yy + lam, B; B', 0],    without row i:    v - C_i v_i / C_ii,    b - W_i v_i / C_ii

are its coefficients, so all scores without it cost an inverse and a product.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.solvers.linalg import add_to_diagonal, shifted_cholesky
from softmargin.solvers.multiclass.least_squares_moments import solve_rows

__all__ = ["RowSpace"]

Array = NDArray[np.floating[Any]]


class RowSpace:
    """Rows by their inner products (centred by their weights where the intercept is ``free``)."""

    def __init__(self, K: Array, codes: NDArray[np.intp], weight: Array, *, n_classes: int, free: bool) -> None:
        self.order = np.argsort(codes, kind="stable")
        self.codes, self.k, self.free = codes[self.order], n_classes, free
        self.root = np.sqrt(weight[self.order])
        self.K = np.asarray(K[np.ix_(self.order, self.order)], dtype=np.float64)
        self.K *= self.root[:, None] * self.root
        self.first = np.searchsorted(self.codes, np.arange(n_classes))
        own = self.codes[:, None] == np.arange(n_classes)
        self.own = own
        self.target = np.where(own, 1.0, -1 / (n_classes - 1)) * self.root[:, None]
        self.coupling = np.where(self.codes[:, None] == self.codes, 1 - 1 / n_classes, -1 / n_classes)

    def left_out(self, mix: float, lam: float, removed: Array) -> Array:
        """Scores ``h`` (n, k) of every row by the fit without it; ``removed`` is the share of its weight taken away.

        The only member of a class has none at ``mix = 1`` with a free intercept: NaN.
        """
        taken = removed[self.order]
        scores = self._own_only(lam, taken) if mix == 1 else self._all_errors(mix, lam, taken)
        out = np.empty_like(scores)
        out[self.order] = scores / self.root[:, None]
        return out

    def _all_errors(self, mix: float, lam: float, removed: Array) -> Array:
        S, G = self._smoother(mix, lam)
        k, n = self.k, len(self.codes)
        rows, diagonal = np.arange(n), np.arange(k)
        share = np.where(self.own, mix, 1 - mix)
        pull = share * self.target
        scores = S @ (pull - pull.mean(axis=1, keepdims=True))
        change = np.where(self.own, (G @ scores[rows, self.codes])[:, None], 0.0)
        scores -= S @ (change - change.mean(axis=1, keepdims=True))
        T = np.empty((n, k, k))
        for j, (start, stop) in enumerate(zip(self.first, [*self.first[1:], n], strict=True)):
            reached = S[:, start:stop] @ G[start:stop]
            reached *= S
            T[:, :, j] = np.add.reduceat(reached, self.first, axis=1)
        T -= T.mean(axis=1, keepdims=True)
        T -= T.mean(axis=2, keepdims=True)
        T -= S.diagonal()[:, None, None] * (np.eye(k) - 1 / k)
        T *= (share * removed[:, None])[:, None, :]  # I - H_i Om_i
        T[:, diagonal, diagonal] += 1
        return self.target - solve_rows(T, self.target - scores)

    def _own_only(self, lam: float, removed: Array) -> Array:
        A = self.K * self.coupling
        add_to_diagonal(A, lam)
        C = shifted_cholesky(A).inverse()
        W = np.zeros((len(C), self.k))
        if self.free:
            B = (self.own - 1 / self.k) * self.root[:, None]
            reached = C @ B
            M = B.T @ reached
            M += M.diagonal().max() / self.k  # all classes together do not move
            W = np.linalg.solve(M, reached.T).T
            C -= reached @ W.T
        v, b = C @ self.root, W.T @ self.root
        scores = self._spread(self.K * v) + np.outer(self.root, b)
        change = self._spread(self.K * C) + self.root[:, None] * W
        square = np.square(self.root)
        members = np.bincount(self.codes, square)[self.codes]
        alone = self.free & (members <= removed * square * (1 + 1e-12))
        kept = C.diagonal() + (1 - removed) / (lam * removed)
        change *= (v / np.where(alone, np.nan, kept))[:, None]
        return np.asarray(scores - change)

    def _spread(self, M: Array) -> Array:
        """``M`` summed over the rows of each class, less the mean of the sums."""
        sums = np.add.reduceat(M, self.first, axis=1)
        return np.asarray(sums - sums.mean(axis=1, keepdims=True))

    def _smoother(self, mix: float, lam: float) -> tuple[Array, Array]:
        """``S`` and ``G``."""
        c = 2 * mix - 1
        A = (1 - mix) * self.K
        add_to_diagonal(A, lam)
        S = shifted_cholesky(A).inverse()
        S *= -lam / (1 - mix)
        add_to_diagonal(S, 1 / (1 - mix))
        if self.free:
            along = self.root / np.linalg.norm(self.root)
            S += np.outer(along, along / (1 - mix))
        A = np.asarray(c * (S * self.coupling))
        add_to_diagonal(A, 1)
        return S, c * shifted_cholesky(A).inverse()
