"""The Matern kernel with smoothness ``nu = degree + 1/2``: functions with ``degree`` derivatives in the mean.

With ``s = 2 (nu gamma)^(1/2) |x - z|``, so that ``degree -> inf`` is the Gaussian kernel of the same ``gamma``,

    k = exp(-s) d!/(2d)! sum_{i=0}^{d} (d + i)! / (i! (d - i)!) (2 s)^(d - i)        (Rasmussen and Williams, eq. 4.16)

``degree=0`` is the exponential kernel ``exp(-s)``, 1 and 2 are the usual Matern 3/2 and 5/2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import factorial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions.kernels.function import KernelFunction, register

__all__ = ["Matern"]

Array = NDArray[np.floating[Any]]

_MOST = 20  # factorials of (2 degree)! stay exact in float64; beyond, the kernel is the Gaussian to 1 per cent
_FAR = 1e4


@register("matern")
@dataclass(frozen=True)
class Matern(KernelFunction):
    """A stationary kernel between the exponential (``degree=0``) and the Gaussian (``degree`` large)."""

    gamma: float
    degree: int = 3
    is_stationary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 <= self.degree <= _MOST or self.degree != int(self.degree):
            raise ValueError(f"degree must be an integer from 0 to {_MOST} for kernel='matern'; got {self.degree!r}.")

    def __call__(self, A: Any, B: Any) -> Array:
        s = self.distances(A, B)
        if A is B:
            np.fill_diagonal(s, 0.0)
        return self._profile(s).astype(np.result_type(A.dtype, B.dtype), copy=False)

    def among(self, rows: Any, dtype: Any) -> Callable[[NDArray[np.int64]], Array]:
        def fetch(at: NDArray[np.int64]) -> Array:
            s = self.distances(rows[at], rows)
            s[np.arange(len(at)), at] = 0.0  # rounding of a distance has a slope here, unlike in a Gaussian
            return self._profile(s).astype(dtype, copy=False)

        return fetch

    def _profile(self, s: Array) -> Array:
        """The kernel at given distances, which are overwritten."""
        d = int(self.degree)
        with np.errstate(over="ignore"):
            s *= 2 * np.sqrt((d + 0.5) * self.gamma)
        front = factorial(d) / factorial(2 * d)
        sizes = [front * factorial(d + i) / (factorial(i) * factorial(d - i)) * 2.0 ** (d - i) for i in range(d + 1)]
        np.minimum(s, _FAR, out=s)  # nothing is left of either there, and powers would overflow
        return np.asarray(np.exp(-s) * np.polyval(sizes, s))
