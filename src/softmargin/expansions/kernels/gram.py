"""Gram matrices given by the user: square, symmetric and semidefinite, or refused with the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.expansions.memory import require_square

__all__ = ["INDEFINITE", "check_gram", "indefinite_message", "require_gram_shape", "require_semidefinite"]

Array = NDArray[np.floating[Any]]

INDEFINITE = 1e-8  # of the largest eigenvalue: beyond what rounding makes of a semidefinite matrix


def check_gram(K: Any) -> Array:
    """A square, symmetric, dense Gram matrix in float64, or a ValueError that says what is wrong and how to mend it."""
    K = K.toarray() if sparse.issparse(K) else np.asarray(K)
    require_gram_shape(K.shape)
    scale = float(np.abs(K).max(initial=0.0))
    skew = float(np.abs(K - K.T).max(initial=0.0))
    if skew > (1e-10 if K.dtype == np.float64 else 1e-5) * scale:
        raise ValueError(
            f"The kernel matrix is not symmetric: entries differ from their transposes by up to {skew:.3g}. "
            "Pass (K + K.T) / 2 if the difference is rounding."
        )
    if K.dtype == np.float64 and skew == 0:
        return K
    require_square(len(K))
    precise = K.astype(np.float64, copy=False)
    return precise if skew == 0 else 0.5 * (precise + precise.T)


def require_gram_shape(shape: tuple[int, ...]) -> None:
    """Refuse a matrix that does not compare every training row with every other."""
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(
            f"The kernel matrix must be square, n_samples x n_samples, when fitting; got shape {shape}. "
            'Pass kernel(X_train, X_train) to fit with kernel="precomputed".'
        )


def require_semidefinite(K: Array, rounding: float) -> None:
    """Refuse a matrix with an eigenvalue below ``-1e-8`` of its largest: the ridge part would be concave.

    ``rounding`` is the precision in which its numbers were made: what it may make of zero, for each row, is allowed.
    """
    n = K.shape[0]
    vector = np.ones(n)
    for _ in range(8):  # a lower bound of the largest eigenvalue is all the test needs
        image = K @ vector
        vector = image / max(float(linalg.norm(image)), np.finfo(np.float64).tiny)  # whose squares may overflow
    largest = max(abs(float(vector @ (K @ vector))), float(np.abs(np.diagonal(K)).max(initial=0.0)))
    tolerance = max(INDEFINITE, 10 * n * rounding)
    shifted = np.array(K, dtype=np.float64, order="F")
    shifted[np.diag_indices(n)] += tolerance * largest
    _, failed = linalg.lapack.dpotrf(shifted, lower=1, overwrite_a=1)
    if failed:
        values = linalg.eigvalsh(K)
        if values[0] < -tolerance * max(abs(values[0]), values[-1]):
            raise ValueError(indefinite_message(float(values[0]), float(values[-1])))


def indefinite_message(smallest: float, largest: float) -> str:
    """What to say of an indefinite kernel."""
    return (
        f"The kernel matrix is indefinite: its eigenvalues run from {smallest:.3g} to {largest:.3g}. "
        "A kernel must be positive semidefinite; clip negative eigenvalues, use another kernel, "
        "or l1_ratio=1, which needs no kernel norm."
    )
