"""The Laplacian kernel ``exp(-gamma |x - z|_1)``: continuous functions with kinks, robust to single odd features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import manhattan_distances

from softmargin.expansions.kernels.function import KernelFunction, register

__all__ = ["Laplacian"]

Array = NDArray[np.floating[Any]]


@register("laplacian")
@dataclass(frozen=True)
class Laplacian(KernelFunction):
    """``exp(-gamma |x - z|_1)``."""

    gamma: float
    is_stationary: ClassVar[bool] = True
    gamma_power: ClassVar[int] = 1

    def __call__(self, A: Any, B: Any) -> Array:
        K = self.distances(A, B)
        K *= -self.gamma
        np.exp(K, out=K)
        return K.astype(np.result_type(A.dtype, B.dtype), copy=False)

    @staticmethod
    def distances(A: Any, B: Any) -> Array:
        return np.asarray(manhattan_distances(A, B))
