"""From a user's words to an expansion: one decision, made in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.chunks import ChunkedFeatures, ChunkedLandmarks, ChunkedRows
from softmargin.expansions.features import DenseFeatures, SparseFeatures
from softmargin.expansions.kernels import Kernel, KernelColumns
from softmargin.expansions.landmarks import EXACT_ROWS, NystroemFeatures, choose_landmarks, draw_landmarks
from softmargin.expansions.protocol import Expansion

__all__ = ["expand"]

_FULL = 2 / 3  # of the entries stored: with an index of four bytes each they take more than all of them without


def expand(
    X: Any,
    kernel: Kernel | None = None,
    *,
    n_components: int | str | None = None,
    random_state: Any = None,
    kernel_norm: bool = True,
    free_origin: bool = False,
) -> Expansion:
    """The expansion of training rows ``X``: linear features, kernel columns, or ``n_components`` kernel landmarks.

    ``n_components`` has no meaning without a kernel; "auto" is all pairs of few rows and as many landmarks as many rows
    need. With ``kernel_norm`` (the penalty has a part ``beta'K beta``) a matrix given by the user must be semidefinite.
    With ``free_origin`` (that is all of the penalty, and an intercept costs nothing) a shift of all rows is no matter.
    """
    if isinstance(X, ChunkedRows):
        return _expand_chunks(X, kernel, n_components, random_state)
    if kernel is None:
        return _features(X)
    if n_components is None or (n_components == "auto" and X.shape[0] <= EXACT_ROWS):
        columns = KernelColumns.from_rows(X, kernel.with_free_origin(X) if free_origin else kernel)
        if kernel_norm:
            columns.require_semidefinite()
        return columns
    chosen, error = _choose(X, kernel, n_components, random_state, X.shape[0])
    return NystroemFeatures(X, kernel, chosen, error)


def _features(X: Any) -> Expansion:
    """The rows themselves; in a sparse container most of whose entries are stored they are a dense table.

    An entry stored takes an index beside its number, so that table is the smaller one, and every loop over it is
    one over consecutive numbers.
    """
    if sparse.issparse(X) and X.nnz <= _FULL * X.shape[0] * X.shape[1]:
        return SparseFeatures(X)
    return DenseFeatures(X.toarray() if sparse.issparse(X) else X)


def _choose(
    X: Any, kernel: Kernel, n_components: int | str, random_state: Any, n_rows: int
) -> tuple[NDArray[np.intp], float | None]:
    """Landmarks among rows ``X`` that stand for ``n_rows``, with their error where it was estimated."""
    if n_components == "auto":
        return choose_landmarks(X, kernel, random_state, n_rows)
    if isinstance(n_components, str) or n_components < 1 or n_components != int(n_components):
        raise ValueError(f"n_components must be None or a positive integer or 'auto'; got {n_components!r}.")
    return draw_landmarks(X, kernel, int(n_components), random_state), None


def _expand_chunks(X: ChunkedRows, kernel: Kernel | None, n_components: int | str | None, random_state: Any) -> Any:
    """Rows outside memory: features, or landmarks; all pairs of rows are out of the question."""
    if kernel is None:
        return ChunkedFeatures(X)
    if n_components is None:
        raise ValueError(
            f"A kernel on chunked rows needs landmarks: n_components=None asks for all pairs of {X.shape[0]} rows. "
            'Use n_components="auto", or some hundred to some thousand.'
        )
    chosen, error = _choose(X.sample.chunk.X, kernel, n_components, random_state, X.shape[0])
    return ChunkedLandmarks(X, kernel, chosen, error)
