"""What a kernel function is, and the registry that knows them by name.

A kernel function is a frozen dataclass: its fields are the parameters it reads (any of ``gamma``, ``degree``,
``coef0``), its call is the matrix of similarities between two sets of rows, dense or sparse. One file defines it and
registers it; every estimator and path then knows its name::

    @register("cauchy")
    @dataclass(frozen=True)
    class Cauchy(KernelFunction):
        gamma: float

        def __call__(self, A, B):
            return 1 / (1 + self.gamma * euclidean_distances(A, B, squared=True))

It must be positive semidefinite, because ``beta'K beta`` is the penalty; ``tanh`` ("sigmoid") is not and is no member.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

__all__ = ["KernelFunction", "available", "euclidean", "find", "register"]

Array = NDArray[np.floating[Any]]
Similarity = Callable[[Any], Array]

_NEIGHBOURS = 1e-8  # of the squared lengths of two rows: nearer ones have half their digits from inner products
_TOGETHER = 10_000  # pairs whose differences are held at a time


def euclidean(A: Any, B: Any) -> Array:
    """Euclidean distances, none of which loses its digits in ``|a|^2 + |b|^2 - 2 a'b``.

    Columns are centred first where that keeps rows as sparse as they are, because squares of rows far from zero hide
    what tells them apart; distances of neighbours, whose squares do so too, are those of their differences.
    """
    if not B.shape[0] or not A.shape[0]:
        return np.asarray(euclidean_distances(A, B))
    if sparse.issparse(A) or sparse.issparse(B):
        A, B = _full_columns_centred(A, B)
    else:
        centre = np.asarray(B).mean(axis=0, dtype=np.float64).astype(B.dtype)
        same, B = A is B, B - centre
        A = B if same else A - centre
    D = np.asarray(euclidean_distances(A, B))
    squares = [_squared_lengths(rows) for rows in (A, B)]
    i, j = np.nonzero(_NEIGHBOURS * (squares[0][:, None] + squares[1]) >= D * D)
    for part in range(0, len(i), _TOGETHER):
        near = slice(part, part + _TOGETHER)
        D[i[near], j[near]] = np.sqrt(_squared_lengths(A[i[near]] - B[j[near]]))
    return D


def _squared_lengths(rows: Any) -> Array:
    if sparse.issparse(rows):
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows)


def _full_columns_centred(A: Any, B: Any) -> tuple[Any, Any]:
    """Sparse rows less the means of those columns that have an entry in every row."""
    A, B = (sparse.csr_array(rows, copy=True) for rows in (A, B))
    for rows in (A, B):
        rows.sum_duplicates()
    full = np.ones(B.shape[1], dtype=bool)
    for rows in (A, B):
        full &= np.bincount(rows.indices, minlength=rows.shape[1]) == rows.shape[0]
    if full.any():
        centre = np.where(full, np.asarray(B.mean(axis=0, dtype=np.float64)).ravel(), 0.0)
        for rows in (A, B):
            rows.data = (rows.data - centre[rows.indices]).astype(rows.dtype)
    return A, B


class KernelFunction:
    """A positive semidefinite similarity with its parameters decided.

    ``gamma`` is in units of one over a distance to the power ``gamma_power``; words such as "median" measure
    ``distances``. So predictions do not change with the unit of the features. A row is exactly 1 alike to itself where
    the kernel ``is_stationary``.
    """

    gamma_power: ClassVar[int] = 2
    is_stationary: ClassVar[bool] = False

    def __call__(self, A: Any, B: Any) -> Array:
        """The matrix of similarities between the rows of ``A`` and ``B``, in their floating type."""
        raise NotImplementedError

    def to(self, rows: Any, dtype: Any) -> Similarity:
        """A function from blocks of new rows to their similarities to ``rows``, prepared once for all blocks."""
        return lambda block: self(block, rows)

    def among(self, rows: Any, dtype: Any) -> Callable[[NDArray[np.int64]], Array]:
        """A function from row numbers to the similarities of those ``rows`` to all of them."""
        return lambda at: self(rows[at], rows).astype(dtype, copy=False)

    @staticmethod
    def distances(A: Any, B: Any) -> Array:
        """The distances whose typical size is the width of this kernel."""
        return euclidean(A, B)

    def dimension(self, n_features: int) -> float:
        """The number of features whose inner products it is: the largest rank of its matrices."""
        return math.inf

    @classmethod
    def parameters(cls) -> tuple[str, ...]:
        """The names of the parameters it reads."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]


_KNOWN: dict[str, type[KernelFunction]] = {}
F = TypeVar("F", bound=type[KernelFunction])


def register(name: str) -> Callable[[F], F]:
    """Make a kernel function known by name."""

    def keep(function: F) -> F:
        if name in _KNOWN or name == "precomputed":
            raise ValueError(f"A kernel called {name!r} exists already.")
        _KNOWN[name] = function
        return function

    return keep


def find(name: Any) -> type[KernelFunction]:
    """The kernel function called ``name``."""
    if not isinstance(name, str) or name not in _KNOWN:
        known = (*available(), "precomputed")
        raise ValueError(f"kernel must be None, a callable or one of {known}; got {name!r}.")
    return _KNOWN[name]


def available() -> list[str]:
    """The names of all kernel functions."""
    return sorted(_KNOWN)
