"""From a user's words to an expansion: one decision, made in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from softmargin.expansions._base import Expansion
from softmargin.expansions._features import DenseFeatures, SparseFeatures
from softmargin.expansions._gram import KernelColumns, NystroemFeatures
from softmargin.expansions._kernel import Kernel

__all__ = ["expand"]


def expand(
    X: Any, kernel: Kernel | None = None, *, n_components: int | None = None, random_state: Any = None
) -> Expansion:
    """The expansion of training rows ``X``: linear features, kernel columns, or ``n_components`` kernel landmarks."""
    if kernel is None:
        if n_components is not None:
            raise ValueError(
                f"n_components={n_components!r} chooses kernel landmarks and needs a kernel; "
                'pass kernel="rbf" (or another) or leave n_components=None.'
            )
        return SparseFeatures(X) if sparse.issparse(X) else DenseFeatures(X)
    if n_components is None:
        return KernelColumns.from_rows(X, kernel)
    if n_components < 1 or n_components != int(n_components):
        raise ValueError(f"n_components must be None or a positive integer; got {n_components!r}.")
    n = X.shape[0]
    landmarks = check_random_state(random_state).permutation(n)[: int(n_components)]
    return NystroemFeatures(X, kernel, np.sort(landmarks))
