"""Features in units that suit arithmetic: centred and scaled where their offset or size would cost all digits.

With an intercept, moving all rows by ``m`` changes the intercept alone; dividing them by ``s`` is the same box QP with
bounds times ``s^2``. Rows are copied only where they must be: where an expansion asks to be centred, and where squares
leave the range of double precision. Rows in single precision become double ones where that is a small copy: weights
``X'u`` are differences of multipliers, and a column of thousands leaves them no digits of a float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import DenseFeatures, Expansion, SparseFeatures

__all__ = ["Conditioned"]

Array = NDArray[np.floating[Any]]

_SQUARES = 1e100  # mean squares beyond, or below its inverse, are scaled
_SMALL_COPY = 1 << 27  # bytes of rows in double precision that are made without asking
_LARGEST = 1e290  # scaled bounds beyond this leave no room for products


@dataclass(frozen=True)
class Conditioned:
    """Features ``(X - 1 m') / s`` in place of ``X``; ``m`` is None where rows stay where they are."""

    features: Expansion
    m: Array | None = None
    s: float = 1.0

    @classmethod
    def of(cls, features: Expansion, intercept: bool, largest: float) -> Conditioned:
        """The features themselves where they are harmless."""
        m = None
        if features.dtype == np.float32 and 8 * features.n_stored <= _SMALL_COPY:
            features = _like(features, features.rows().astype(np.float64))
        if intercept and (found := features.centered()) is not None:
            features, m = found
        with np.errstate(over="ignore", under="ignore"):
            size = float(features.squared_norms().sum()) / features.shape[0]
        if 1 / _SQUARES < size < _SQUARES or size == 0:
            return cls(features, m)
        X = features.rows()
        s = float(abs(X).max())
        if not s * s * max(largest, 1.0) < _LARGEST or not s * s > 1 / _LARGEST:
            raise ValueError(
                f"the features reach {s:.3g} and the costs {largest:.3g}: their products leave the range of double "
                "precision. Scale the features (StandardScaler, say) or lower C."
            )
        return cls(_like(features, X / s), m, s)

    def restore(self, w: Array, b: float) -> tuple[Array, float]:
        """Weights and intercept for the rows as given."""
        w = w / self.s
        return w, b if self.m is None else b - float(self.m @ w)


def _like(features: Expansion, X: Any) -> Expansion:
    return SparseFeatures(X) if features.is_sparse else DenseFeatures(X)
