"""From a user's words to a similarity with all its parameters decided.

``kernel`` is the name of a registered function (:mod:`softmargin.expansions.kernels.function`), a function of that kind
with its parameters, "precomputed" or any callable (:mod:`softmargin.expansions.kernels.own`); ``gamma`` may be a word
(:mod:`softmargin.expansions.kernels.width`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.kernels.function import KernelFunction, find
from softmargin.expansions.kernels.own import own_similarities
from softmargin.expansions.kernels.rbf import SINGLE_GAMMA
from softmargin.expansions.kernels.width import resolve_gamma
from softmargin.expansions.memory import require_square

__all__ = ["Kernel"]

Array = NDArray[np.floating[Any]]


_FAR = 10.0  # spreads from zero: products of such rows lose two digits of their differences


@dataclass(frozen=True)
class Kernel:
    """A positive semidefinite similarity with all its parameters decided; rows are measured from ``origin``."""

    name: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    origin: tuple[float, ...] | None = None

    @classmethod
    def resolve(cls, name: Any, X: Any, y: Any, *, gamma: Any = "scale", weight: Any = None, **shape: Any) -> Kernel:
        """Decide ``gamma`` from the training rows, counted ``weight`` times each, and check every parameter.

        ``shape`` is the rest of them: ``degree`` and ``coef0``.
        """
        if callable(name) or (isinstance(name, str) and name == "precomputed"):
            return cls(name)
        function = find(name)
        if "gamma" not in function.parameters():
            return cls(name)
        kernel = cls(name, resolve_gamma(gamma, function, X, y, weight), **shape)
        _ = kernel.function  # checks the other parameters
        return kernel

    def with_free_origin(self, X: Any) -> Kernel:
        """The kernel beside a free intercept, which undoes any shift of the rows that a linear kernel multiplies.

        Where they lie far out, products of the rows as they are would not hold what tells them apart. The origin is the
        row next to their means: its own coefficient, which then makes no score, is free to balance the others, so that
        the same coefficients serve the rows as they are (:meth:`KernelColumns.balanced`).
        """
        if self.name != "linear" or sparse.issparse(X):
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            means, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
            far = np.isfinite(means) & (np.abs(means) > _FAR * spread)
            if not far.any():
                return self
            away = (X[:, far] - means[far]) / np.where(spread[far] > 0, spread[far], 1.0)
            middle = int(np.argmin(np.einsum("ij,ij->i", away, away)))
        return replace(self, origin=tuple(X[middle].astype(np.float64).tolist()))

    @cached_property
    def function(self) -> KernelFunction:
        """The registered function with its parameters."""
        if isinstance(self.name, KernelFunction):
            return self.name
        assert isinstance(self.name, str)
        kind = find(self.name)
        return kind(**{name: getattr(self, name) for name in kind.parameters()})

    @property
    def precomputed(self) -> bool:
        return self.name == "precomputed"

    @property
    def is_own(self) -> bool:
        """Whether the user vouches for it: a callable or a matrix given."""
        return self.precomputed or (callable(self.name) and not isinstance(self.name, KernelFunction))

    def among(self, X: Any, dtype: Any) -> Callable[[Any], Array]:
        """A function from row numbers to those rows of the kernel matrix of ``X``."""
        if self.is_own:
            return lambda at: self(X[at], X).astype(dtype, copy=False)
        wide = self._placed(X.astype(np.float64) if np.dtype(dtype) == np.float64 and X.dtype == np.float32 else X)
        fetch = self.function.among(wide, dtype)
        return lambda at: _finite(fetch(at), f"kernel={self.name!r}")

    def to(self, rows: Any, X: Any) -> Callable[[Any], Array]:
        """A function from blocks of ``X`` to their similarities to ``rows``, prepared once for all blocks."""
        if self.is_own or sparse.issparse(X) != sparse.issparse(rows):
            return lambda block: self(block, rows)
        if self._placed(X) is not X:
            return lambda block: self(block, rows)
        similarities = self.function.to(rows, X.dtype)
        return lambda block: _finite(similarities(block), f"kernel={self.name!r}")

    def __call__(self, A: Any, B: Any) -> Array:
        """The matrix of similarities between the rows of ``A`` and ``B``, in their floating type."""
        if self.precomputed:
            return np.asarray(A)
        if A is B:
            require_square(A.shape[0], A.dtype.itemsize)
        if self.is_own:
            assert callable(self.name)
            return _finite(own_similarities(self.name, A, B), "the kernel function given")
        wide = self._placed(A)
        K = self.function(wide, wide if A is B else self._placed(B))
        return _finite(K, f"kernel={self.name!r}").astype(np.result_type(A.dtype, B.dtype), copy=False)

    def _placed(self, X: Any) -> Any:
        """Rows from their origin, in float64 where they have one or a unit whose squares float32 cannot hold."""
        if self.origin is not None:
            return X.astype(np.float64, copy=False) - np.array(self.origin)
        plain = X.dtype != np.float32 or SINGLE_GAMMA[0] < self.gamma < SINGLE_GAMMA[1]
        return X if plain else X.astype(np.float64)


def _finite(K: Array, what: str) -> Array:
    """Similarities that are numbers: NaN and overflow are refused before they spread."""
    if K.size and not (np.isfinite(K.max()) and np.isfinite(K.min())):
        kind = "are not all numbers" if np.isnan(K).any() else "overflow"
        raise ValueError(
            f"Values of {what} {kind} in {K.dtype}. Scale the features (StandardScaler), "
            "or lower gamma, degree or coef0."
        )
    return K
