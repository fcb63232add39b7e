"""Features in units that suit arithmetic: centred and scaled where their offset or size would cost all digits.

With an intercept, moving all rows by ``m`` changes the intercept alone; dividing them by ``s`` is the same box QP with
bounds times ``s^2``. Rows are copied only where they must be: an offset of more than a thousand standard deviations, or
squares that leave the range of double precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import DenseFeatures, Expansion, SparseFeatures

__all__ = ["Conditioned"]

Array = NDArray[np.floating[Any]]

_OFFSET = 1e6  # squared offset, in variances, from which rows are centred: rounding of inner products is then 1e-10
_SQUARES = 1e140  # mean squares beyond, or below its inverse, are scaled
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
        n = features.shape[0]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            size = float(features.squared_norms().sum()) / n
            m = features.transpose(np.ones(n)) / n
            spread = size - float(m @ m)
        tame = 1 / _SQUARES < size < _SQUARES or size == 0
        far = intercept and not features.is_sparse and not spread * _OFFSET > float(m @ m)
        if tame and (not far or size == 0):
            return cls(features)
        X = np.asarray(features.rows(), dtype=np.float64) if not features.is_sparse else features.rows()
        centre: Array | None = np.mean(X, axis=0) if intercept and not features.is_sparse else None
        X = X if centre is None else X - centre
        s = 1.0 if tame else float(abs(X).max()) or 1.0
        if not s * s * max(largest, 1.0) < _LARGEST or not s * s > 1 / _LARGEST:
            raise ValueError(
                f"the features reach {s:.3g} and the costs {largest:.3g}: their products leave the range of double "
                "precision. Scale the features (StandardScaler, say) or lower C."
            )
        return cls(SparseFeatures(X / s) if features.is_sparse else DenseFeatures(X / s), centre, s)

    def restore(self, w: Array, b: float) -> tuple[Array, float]:
        """Weights and intercept for the rows as given."""
        w = w / self.s
        return w, b if self.m is None else b - float(self.m @ w)
