"""Similarities by a user's own function: of two rows, or of two matrices of rows where it takes no single rows.

A function of two rows gets vectors (or sparse matrices of one row) and returns a number, as scikit-learn's
``pairwise_kernels`` has it. One that makes no number of two rows, but a matrix of shape (1, 2) of one row and two, is a
function of matrices, as scikit-learn's ``SVC`` has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels

__all__ = ["own_similarities"]

Array = NDArray[np.floating[Any]]
Similarity = Callable[[Any, Any], Any]


class _NotOfRows(Exception):
    """The function makes no number of two rows; the message says what it does."""


class _OfTwoRows:
    """A function of two rows, the first of which tell whether it is one."""

    def __init__(self, function: Similarity) -> None:
        self._function, self._known = function, False

    def __call__(self, a: Any, b: Any) -> float:
        if self._known:
            similarity = self._function(a, b)
            return similarity if isinstance(similarity, float) else _number(similarity)
        try:
            similarity = self._function(a, b)
        except Exception as error:
            said = str(error).partition("\n")[0]
            raise _NotOfRows(f"of two rows it raises {type(error).__name__}: {said}") from error
        number, self._known = _number(similarity), True
        return number


def own_similarities(function: Similarity, A: Any, B: Any) -> Array:
    """The matrix of similarities between the rows of ``A`` and ``B``."""
    if 0 in (A.shape[0], B.shape[0]):
        return np.zeros((A.shape[0], B.shape[0]))
    left = A.copy()  # what the function may do to its rows, it does not do to the caller's
    right = left if A is B else B.copy()
    K = _similarities(function, left, right)
    _require_unchanged(_entries(left), A)
    _require_unchanged(_entries(right), B)
    return K


def _entries(rows: Any) -> Array:
    return rows.data if sparse.issparse(rows) else rows


def _require_unchanged(entries: Array, rows: Any) -> None:
    if entries.tobytes() != _entries(rows).tobytes():
        raise ValueError(
            "kernel must leave the rows it is given as they are; it writes into them, so that its later values are of "
            "other rows. Begin with a = a.copy(), or do without out= and operators like a *= 2."
        )


def _similarities(function: Similarity, A: Any, B: Any) -> Array:
    shape = A.shape[0], B.shape[0]
    try:
        of_rows = _of_sparse_rows if sparse.issparse(A) and sparse.issparse(B) else _of_rows
        return of_rows(_OfTwoRows(function), A, B)
    except _NotOfRows as problem:
        if not _takes_matrices(function, A, B):
            raise ValueError(
                f"kernel must be a function of two rows that returns a number; {problem}. Wrap a function of matrices: "
                "kernel=lambda a, b: function(a.reshape(1, -1), b.reshape(1, -1))[0, 0]."
            ) from problem
    K = _real(function(A, B))
    if K.shape != shape:
        raise ValueError(f"kernel must return a matrix of shape {shape} for that many rows; got shape {K.shape}.")
    return K


def _takes_matrices(function: Similarity, A: Any, B: Any) -> bool:
    """Whether ``function`` makes a row of two similarities of one row and two."""
    try:
        return _real(function(A[[0]], B[[0, 0]])).shape == (1, 2)
    except Exception:
        return False


def _real(similarity: Any) -> Array:
    """What a kernel returned as an array of real numbers."""
    seen = similarity.toarray() if sparse.issparse(similarity) else np.asarray(similarity)
    if seen.dtype.kind not in "biuf":
        raise ValueError(f"kernel must return real numbers; got {similarity!r} ({seen.dtype}).")
    return seen


def _number(similarity: Any) -> float:
    seen = _real(similarity)
    if seen.size != 1:
        raise _NotOfRows(f"of two rows it returns an array of shape {seen.shape}")
    return float(seen.item())


def _of_rows(function: Similarity, A: Any, B: Any) -> Array:
    return np.asarray(pairwise_kernels(A, B, metric=function))


def _of_sparse_rows(function: Similarity, A: Any, B: Any) -> Array:
    """The same with each sparse row cut out once, not once for every pair."""
    left = [A[[i]] for i in range(A.shape[0])]
    if A is B:
        K = np.empty((len(left), len(left)))
        for i, row in enumerate(left):
            K[i, : i + 1] = K[: i + 1, i] = [function(row, other) for other in left[: i + 1]]
    else:
        right = [B[[j]] for j in range(B.shape[0])]
        K = np.array([[function(a, b) for b in right] for a in left])
        _require_unchanged(np.concatenate([row.data for row in right]), B)
    _require_unchanged(np.concatenate([row.data for row in left]), A)
    return K
