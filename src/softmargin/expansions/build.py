"""From a user's words to an expansion: one decision, made in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from softmargin.expansions.features.linear import DenseFeatures, SparseFeatures
from softmargin.expansions.kernels.columns import KernelColumns, NystroemFeatures
from softmargin.expansions.kernels.kernel import Kernel
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
    if kernel is None:
        return SparseFeatures(X) if sparse.issparse(X) else DenseFeatures(X)
    if n_components is None:
        columns = KernelColumns.from_rows(X, kernel)
        if kernel_norm:
            columns.require_semidefinite()
        return columns
    if n_components < 1 or n_components != int(n_components):
        raise ValueError(f"n_components must be None or a positive integer; got {n_components!r}.")
    return NystroemFeatures(X, kernel, _landmarks(X, kernel, int(n_components), random_state))


def _landmarks(X: Any, kernel: Kernel, n_components: int, random_state: Any) -> NDArray[np.intp]:
    """Random distinct rows, chosen by their content: neither the order of rows nor repeating them changes the choice.

    Each row draws a lottery number by hashing a random linear function of its features, so equal rows draw equal
    numbers and only the first of them can win.
    """
    random = check_random_state(random_state)
    n, width = X.shape
    if kernel.precomputed:
        return np.sort(random.permutation(n)[:n_components])
    direction = random.standard_normal(width)
    heights = np.asarray(X @ direction.astype(X.dtype, copy=False), dtype=np.float64)
    spread = float(np.ptp(heights)) or 1.0
    digits = 10 if X.dtype == np.float64 else 6
    levels = np.round((heights - heights.min()) / spread * 10**digits).astype(np.uint64)
    levels, first = np.unique(levels, return_index=True)
    lottery = levels * np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: neighbours draw unrelated numbers
    return np.sort(first[np.argsort(lottery)][:n_components])
