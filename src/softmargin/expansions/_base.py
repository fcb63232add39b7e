"""What a solver may ask of an expansion ``f = Phi beta`` (the intercept is the solver's own)."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Expansion"]

Array = NDArray[np.floating[Any]]


class Expansion(Protocol):
    """Training rows seen through a basis; ``shape`` is (n_samples, n_coef)."""

    shape: tuple[int, int]

    def apply(self, coef: Array) -> Array:
        """``Phi coef``: the scores of the training rows without intercept."""
        ...

    def transpose(self, r: Array) -> Array:
        """``Phi' r``."""
        ...

    def gram(self, weights: Array) -> Array:
        """``Phi' diag(weights) Phi``."""
        ...

    def quadratic(self, coef: Array) -> float:
        """``|coef|^2`` for features, ``coef' K coef`` for kernel columns."""
        ...
