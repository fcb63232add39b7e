"""From a user's words to an expansion: one decision, made in one place."""

from __future__ import annotations

from typing import Any

from scipy import sparse

from softmargin.expansions.chunks import ChunkedFeatures, ChunkedLandmarks, ChunkedRows
from softmargin.expansions.features import DenseFeatures, SparseFeatures
from softmargin.expansions.kernels import Kernel, KernelColumns
from softmargin.expansions.landmarks import NystroemFeatures, draw_landmarks
from softmargin.expansions.protocol import Expansion

__all__ = ["expand"]


def expand(
    X: Any,
    kernel: Kernel | None = None,
    *,
    n_components: int | None = None,
    random_state: Any = None,
    kernel_norm: bool = True,
) -> Expansion:
    """The expansion of training rows ``X``: linear features, kernel columns, or ``n_components`` kernel landmarks.

    ``n_components`` has no meaning without a kernel. With ``kernel_norm`` (the penalty has a part ``beta'K beta``) a
    matrix given by the user must be semidefinite.
    """
    if isinstance(X, ChunkedRows):
        return _expand_chunks(X, kernel, n_components, random_state)
    if kernel is None:
        return SparseFeatures(X) if sparse.issparse(X) else DenseFeatures(X)
    if n_components is None:
        columns = KernelColumns.from_rows(X, kernel)
        if kernel_norm:
            columns.require_semidefinite()
        return columns
    if n_components < 1 or n_components != int(n_components):
        raise ValueError(f"n_components must be None or a positive integer; got {n_components!r}.")
    return NystroemFeatures(X, kernel, draw_landmarks(X, kernel, int(n_components), random_state))


def _expand_chunks(X: ChunkedRows, kernel: Kernel | None, n_components: int | None, random_state: Any) -> Any:
    """Rows outside memory: features, or landmarks; all pairs of rows are out of the question."""
    if kernel is None:
        return ChunkedFeatures(X)
    if n_components is None:
        raise ValueError(
            f"A kernel on chunked rows needs landmarks: n_components=None asks for all pairs of {X.shape[0]} rows. "
            "Set n_components (some hundred to some thousand)."
        )
    return ChunkedLandmarks(X, kernel, n_components, random_state)
