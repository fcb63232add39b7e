"""The linear kernel ``x'z``: the functions are those of the features themselves, one coefficient per training row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.kernels.function import KernelFunction, register

__all__ = ["Linear", "products"]

Array = NDArray[np.floating[Any]]


def products(A: Any, B: Any) -> Array:
    """``A B'`` of dense or sparse rows, dense."""
    K = A @ B.T
    return K.toarray() if sparse.issparse(K) else np.asarray(K)


@register("linear")
@dataclass(frozen=True)
class Linear(KernelFunction):
    """``x'z``."""

    def dimension(self, n_features: int) -> float:
        return n_features

    def __call__(self, A: Any, B: Any) -> Array:
        return products(A, B)
