"""Kernel columns: ``f = K beta`` on the training rows, one column per row, with the penalty ``beta' K beta``.

Prediction is ``sum_j beta_j k(x_j, x)`` over support rows, evaluated in blocks of new rows. The matrix is computed when
first asked for, after asking whether it fits in memory; solvers that need a few of its rows take them one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin._threads import one_blas_thread
from softmargin.expansions.features import DenseFeatures
from softmargin.expansions.kernels.gram import check_gram, require_semidefinite
from softmargin.expansions.kernels.kernel import Kernel
from softmargin.expansions.protocol import Array, Rows, Sampled, Term, Totals

__all__ = ["KernelColumns", "KernelScore"]

_BLOCK_BYTES = 1 << 21  # similarities of a block of new rows stay in cache
_EPS = float(np.finfo(np.float64).eps)
_FEW = 4  # times the rows of few coefficients are gathered and multiplied as soon as all rows are multiplied
_DIAGONAL = 64  # rows at a time whose similarities to themselves are asked for: beyond, the others cost more than calls


@dataclass(frozen=True)
class KernelScore:
    """``sum_j coef_j k(rows_j, x)``; for a precomputed kernel ``rows`` are column numbers of the matrix given.

    ``coef`` may have a column for each of several functions on the same rows. Scores are summed in the wider of the
    types of ``coef`` and the rows asked about.
    """

    kernel: Kernel
    rows: Any
    coef: Array

    def __call__(self, X: Any) -> Array:
        wide = np.result_type(X.dtype, self.coef.dtype)
        scores = np.zeros((X.shape[0], *self.coef.shape[1:]), dtype=wide)
        if not len(self.coef):  # a constant score has no support
            return scores
        coef = self.coef.astype(wide, copy=False)
        similarities = self._similarities(X[:0].astype(wide, copy=False))
        step = max(64, _BLOCK_BYTES // max(8 * len(coef), 1))
        one_row = X.shape[0] == 1  # which no library shares among threads, and which must not wait
        with nullcontext() if one_row else one_blas_thread(X.shape[0], len(coef)):
            for first in range(0, X.shape[0], step):
                part = slice(first, min(first + step, X.shape[0]))
                scores[part] = similarities(X[part].astype(wide, copy=False)) @ coef
        return scores

    @property
    def at_zero(self) -> Array:
        """The scores of a row of zeros that come from an origin elsewhere."""
        if self.kernel.origin is None or not len(self.coef):
            return np.zeros(self.coef.shape[1:])
        return np.asarray(self(np.zeros((1, self.rows.shape[1])))[0])

    def _similarities(self, X: Any) -> Callable[[Any], Array]:
        """Prepared at the first call for rows of a kind: one row is then scored without reading the support twice."""
        if self.kernel.precomputed:
            return lambda block: block[:, self.rows]
        kinds = vars(self).setdefault("_prepared", {})
        kind = X.dtype, sparse.issparse(X)
        if kind not in kinds:
            rows = self.rows if self.kernel.is_own else self.rows.astype(X.dtype, copy=False)
            kinds[kind] = self.kernel.to(rows, X)
        return kinds[kind]

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "rows": self.rows, "coef": self.coef}


def _similarities_among(points: Any, kernel: Kernel) -> Array:
    """The matrix of all pairs in double precision, where it is as semidefinite as the kernel is.

    What single precision cannot hold is refused here as it would be in prediction.
    """
    precise = points.astype(np.float64, copy=False)
    K = kernel(precise, precise)
    if points.dtype == np.float32 and float(np.abs(K).max(initial=0.0)) > float(np.finfo(np.float32).max):
        return kernel(points, points)
    return K


class KernelColumns:
    """``f = K beta``; ``points`` are the training rows, or their numbers when ``K`` was given.

    ``rounding`` is the precision that the numbers of a matrix given by a user had.
    """

    is_kernel = True
    is_landmark = False
    is_sparse = False
    is_resident = True

    def __init__(self, K: Any, kernel: Kernel, points: Any, rounding: float = _EPS) -> None:
        self._K, self.rounding = None if K is None else np.asarray(K), rounding
        self.kernel = kernel
        self.points = points
        self._features: DenseFeatures | None = None

    @classmethod
    def from_rows(cls, X: Any, kernel: Kernel) -> KernelColumns:
        """Kernel columns of the training rows ``X`` (the Gram matrix itself for a precomputed kernel)."""
        if not kernel.is_own:
            return cls(None, kernel, X)
        given = X if kernel.precomputed else _similarities_among(X, kernel)
        points = np.arange(X.shape[0]) if kernel.precomputed else X
        return cls(check_gram(given), kernel, points, float(np.finfo(given.dtype).eps))

    @property
    def _matrix(self) -> Array:
        if self._K is None:
            self._K = _similarities_among(self.points, self.kernel)
        return self._K

    @property
    def _columns(self) -> DenseFeatures:
        if self._features is None:
            self._features = DenseFeatures(self._matrix)
        return self._features

    @property
    def shape(self) -> tuple[int, int]:
        n = self.points.shape[0]
        return n, n

    @property
    def rank(self) -> float:
        """A bound of the rank of the matrix, from the kernel function; there may be no better one than the size."""
        n = self.points.shape[0]
        return n if self.kernel.is_own else min(n, self.kernel.function.dimension(self.points.shape[1]))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.points.dtype if self._K is None else self._K.dtype

    @property
    def n_stored(self) -> int:
        return self.points.shape[0] ** 2

    def apply(self, coef: Array) -> Array:
        support = np.flatnonzero(coef) if coef.ndim == 1 else None
        if support is None or _FEW * len(support) > len(coef):
            return self._columns.apply(coef)
        return coef[support] @ self._columns.rows(support).astype(np.float64, copy=False)

    def transpose(self, r: Array) -> Array:
        return self.apply(r)

    def sample(self, vectors: Sequence[Any] = ()) -> Sampled | None:
        return None

    def sweep(self, coef: Array, term: Term, vectors: Sequence[Any] = ()) -> Totals:
        return self._columns.sweep(coef, term, vectors)

    def gram(self, weights: Array) -> Array:
        return self._columns.gram(weights)

    def bent(self, weights: Array, coef: Array, shift: float) -> tuple[Array, Array, float]:
        return self._columns.bent(weights, coef, shift)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        return self._columns.moments(weights)

    def squared_norms(self, weights: Array | None = None) -> Array:
        return self._columns.squared_norms(weights)

    def outer(self) -> Array:
        return self._matrix

    def diagonal(self) -> Array:
        if self._K is not None:
            return np.diagonal(self._K).astype(np.float64)
        if not self.kernel.is_own and self.kernel.function.is_stationary:
            return np.ones(self.shape[0])
        step = 1 if self.kernel.is_own else _DIAGONAL
        points = self.points if self.kernel.is_own else self.points.astype(np.float64, copy=False)
        parts = (points[i : i + step] for i in range(0, self.shape[0], step))
        return np.concatenate([np.diagonal(self.kernel(part, part)) for part in parts]).astype(np.float64)

    @property
    def has_outer(self) -> bool:
        return self._K is not None

    def outer_rows(self, dtype: Any) -> Callable[[NDArray[np.int64]], Array]:
        if self._K is None:
            return self.kernel.among(self.points, dtype)
        whole = self._K
        return lambda at: whole[at].astype(dtype, copy=False)

    def rows(self, at: Rows = slice(None)) -> Any:
        return self._matrix[at]

    def columns(self, at: NDArray[np.intp]) -> Any:
        return self._columns.rows(at).T  # the matrix is symmetric, and its rows are next to one another

    def take(self, rows: NDArray[np.intp]) -> KernelColumns:
        K = None if self._K is None else self._K[np.ix_(rows, rows)]
        return KernelColumns(K, self.kernel, self.points[rows], self.rounding)

    def select(self, columns: NDArray[np.intp]) -> KernelColumns:
        raise NotImplementedError("Kernel columns share one norm: take() keeps some rows with their columns.")

    def cross(self, rows: Rows, members: NDArray[np.intp]) -> Any:
        return self._matrix[rows][:, members]

    def centered(self) -> tuple[DenseFeatures, Array] | None:
        return None

    def quadratic(self, coef: Array) -> float:
        return float(coef @ self.apply(coef))

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        support = self.support(coef)
        return KernelScore(self.kernel, self.points[support], coef[support])

    def balanced(self, coef: Array) -> Array:
        """Coefficients of the same scores that sum up to nothing, by that of the row that is the origin."""
        if self.kernel.origin is None:
            return coef
        at = np.flatnonzero(np.all(self.points == np.array(self.kernel.origin), axis=1))
        if len(at):
            coef = coef.copy()
            coef[at] = 0.0
            coef[at[0]] = -coef.sum(axis=0)
        return coef

    def support(self, coef: Array) -> NDArray[np.intp]:
        """The training rows that prediction needs."""
        return np.flatnonzero(coef if coef.ndim == 1 else np.any(coef != 0, axis=1))

    def require_semidefinite(self) -> None:
        """Refuse an indefinite matrix given by the user: the ridge part would be concave."""
        if self.kernel.is_own:
            require_semidefinite(self._matrix, self.rounding)
