"""What all features share: coefficients live in the plain Euclidean geometry, and a pass is a few products.

An implementation gives ``rows``, ``columns``, ``apply``, ``transpose``, ``gram``, ``outer`` and ``squared_norms``; the
rest of the protocol follows here. Single precision halves the memory of large tables; the seven digits of its products
are too few for a gap of 1e-6 beside small l1 costs, so a small table is copied to double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.protocol import Array, Response, Rows, Sampled, Term, Totals

__all__ = ["FEW_NUMBERS", "Features", "LinearScore", "ManyTerm", "Sums", "parts_of", "precise", "totals_of"]

# (scores (rows, columns), *vectors) of some rows -> slopes of that shape or None, and a tuple of sums of its own
ManyTerm = Callable[..., tuple[Array | None, tuple[Any, ...]]]

FEW_NUMBERS = 1 << 20  # numbers of single precision whose copy, eight megabytes, costs less than a fit
_BLOCK = 1 << 14  # rows of single precision whose copy in double precision is a small one
_MANY_ROWS = 1 << 13  # of a block whose scores under all coefficient vectors stay in cache


@dataclass(frozen=True)
class LinearScore:
    """``x' coef`` for dense or sparse rows, in the wider type; ``coef`` may have a column for each function."""

    coef: Array

    def __call__(self, X: Any) -> Array:
        if X.dtype == self.coef.dtype or sparse.issparse(X):
            return np.asarray(X @ self.coef)
        scores = np.empty((len(X), *self.coef.shape[1:]), dtype=np.result_type(X, self.coef))
        for first in range(0, len(X), _BLOCK):  # a copy of all rows in another type may not fit
            part = slice(first, first + _BLOCK)
            scores[part] = X[part] @ self.coef
        return scores


def precise(X: Any) -> Any:
    """A matrix, dense or sparse, in double precision if it is small; as it is otherwise."""
    n_stored = X.nnz if sparse.issparse(X) else X.size
    return X.astype(np.float64) if X.dtype == np.float32 and n_stored <= FEW_NUMBERS else X


def parts_of(vectors: Sequence[Any], rows: Rows) -> list[Any]:
    """The same rows of every vector; None stays None."""
    return [None if vector is None else vector[rows] for vector in vectors]


@dataclass(frozen=True)
class Sums:
    """Arrays of one pass that add up, None where the term gave none."""

    parts: tuple[Any, ...]

    def plus(self, other: Sums) -> Sums:
        """The sums of two sets of rows."""
        pairs = zip(self.parts, other.parts, strict=True)
        return Sums(tuple(None if a is None or b is None else a + b for a, b in pairs))

    @classmethod
    def total(cls, found: Iterable[Sums]) -> Sums:
        """The sums of some sets of rows, one at least."""
        return reduce(cls.plus, found)


class Features:
    """A matrix ``Phi`` whose columns are penalised alike."""

    is_kernel = False
    is_landmark = False
    is_sparse = False
    is_resident = True

    @property
    def shape(self) -> tuple[int, int]:
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        raise NotImplementedError

    @property
    def n_stored(self) -> int:
        return self.shape[0] * self.shape[1]

    def apply(self, coef: Array) -> Array:
        raise NotImplementedError

    def transpose(self, r: Array) -> Array:
        raise NotImplementedError

    def gram(self, weights: Array) -> Array:
        raise NotImplementedError

    def rows(self, at: Rows = slice(None)) -> Any:
        raise NotImplementedError

    def bent(self, weights: Array, coef: Array, shift: float) -> tuple[Array, Array, float]:
        scores = self.apply(coef)
        flow = weights * (scores + shift)
        return scores, self.transpose(flow), float(flow.sum())

    def moments(self, weights: Array) -> tuple[Array, Array]:
        return self.gram(weights), self.transpose(weights)

    def sweep(self, coef: Array, term: Term, vectors: Sequence[Any] = ()) -> Totals:
        response = term(self.apply(coef), *parts_of(vectors, slice(None)))
        moments = None if response.curvature is None else self.moments(response.curvature)
        return totals_of(response, self.transpose(response.slope), moments)

    def sweep_many(self, coef: Array, term: ManyTerm, vectors: Sequence[Any] = ()) -> Sums:
        """One pass with several coefficient vectors, the columns of ``coef``: ``Phi' slopes``, then the term's sums.

        ``term(scores, *parts)`` gets scores (rows, columns) and returns slopes with a row for each, or None, and a
        tuple of sums of its own.
        """
        coef = coef.astype(self.dtype, copy=False)
        n = self.shape[0]

        def answer(rows: slice) -> Sums:
            block = self.rows(rows)
            slopes, sums = term(np.asarray(block @ coef, dtype=np.float64), *parts_of(vectors, rows))
            if slopes is None:
                return Sums((None, *sums))
            return Sums((np.asarray(block.T @ slopes.astype(self.dtype, copy=False), dtype=float), *sums))

        return Sums.total(answer(slice(first, min(first + _MANY_ROWS, n))) for first in range(0, n, _MANY_ROWS))

    def sample(self, vectors: Sequence[Any] = ()) -> Sampled | None:
        return None

    def centered(self) -> tuple[Any, Array] | None:
        return None

    def quadratic(self, coef: Array) -> float:
        return float(coef @ coef)

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        return LinearScore(coef)

    def support(self, coef: Array) -> NDArray[np.intp] | None:
        return None

    @property
    def has_outer(self) -> bool:
        return False

    def outer_rows(self, dtype: Any) -> Callable[[NDArray[np.int64]], Array]:
        def fetch(at: NDArray[np.int64]) -> Array:
            part = self.rows(at) @ self.rows().T
            return np.asarray(part.toarray() if sparse.issparse(part) else part, dtype=dtype)

        return fetch

    def cross(self, rows: Rows, members: NDArray[np.intp]) -> Any:
        return self.rows(rows)


def totals_of(response: Response, gradient: Array, moments: tuple[Array, Array] | None) -> Totals:
    """The totals of one response, its products with ``Phi`` made, in float64."""
    slope, cost, curvature, slack = response
    gradient = gradient.astype(np.float64, copy=False)
    total, size = float(slope.sum()), float(np.abs(slope).sum())
    if moments is None or curvature is None:
        return Totals(gradient, total, size, cost, slack=slack)
    hessian, border = (moment.astype(np.float64, copy=False) for moment in moments)
    return Totals(gradient, total, size, cost, hessian, border, float(curvature.sum()), slack)
