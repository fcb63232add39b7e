"""The whole penalty path of composite least squares at ``mix = 1/2``, with leave-one-out, from one eigendecomposition.

At ``mix = 1/2`` every class has the same matrix ``M = Zt' D Zt / 2 + lam G``. In the eigenvectors of its penalised
block (features centred by their weighted mean when the intercept is free, so that it decouples) the features become
``Q = Z U`` with orthogonal columns, and for each ``lam``

    h(x_i) = mean + Q_i diag(1/(e + lam)) Q'(D z)/2,    lever_i = level + sum_r Q_ir^2 / (e_r + lam),
    z_i - h^(-i)(x_i) = (z_i - h(x_i)) / (1 - s_i lever_i / 2)   (or less than s_i, to leave out a part of the row).

A kernel is treated through the eigenvectors of its (centred or augmented) matrix, which gives exact features for any
mix: no result depends on whether ``Q`` came from features or from a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin._threads import interruptible
from softmargin.expansions import is_nonzero
from softmargin.solvers.multiclass.least_squares_moments import LeaveOneOut

__all__ = ["Spectrum", "half_path"]

Array = NDArray[np.floating[Any]]

_BATCH_ENTRIES = 1 << 20  # fits held at a time


@dataclass
class Spectrum:
    """Rotated features (n, r) whose weighted Gram is ``diag(2 values)``; ``free`` if they are centred."""

    features: Array
    values: Array
    free: bool

    @property
    def trace(self) -> float:
        """The weighted sum of squared lengths of the rows: the natural unit of ``lam``."""
        return 2 * float(self.values.sum())

    @classmethod
    def of_features(cls, Z: Any, weight: Array, intercept: str, total: Array | None = None) -> Spectrum:
        """From features; never n x n. ``total`` is the one of ``ClassMoments``, if dense features have it already."""
        mean = np.asarray(weight @ Z) / weight.sum() if intercept == "free" else np.zeros(Z.shape[1])
        if sparse.issparse(Z):
            root = Z.multiply(np.sqrt(weight)[:, None]).tocsr()
            S = (root.T @ root).toarray() - weight.sum() * np.outer(mean, mean)
        else:
            Z = Z - mean
            if intercept == "penalized":
                Z = np.column_stack([np.ones(len(Z)), Z])
            if total is None:
                root = Z * np.sqrt(weight)[:, None]
                S = root.T @ root
            else:
                S = total[1:, 1:] if intercept == "free" else total
        if sparse.issparse(Z) and intercept == "penalized":
            edge = np.asarray(weight @ Z)
            S = np.block([[np.array([[weight.sum()]]), edge[None, :]], [edge[:, None], S]])
        values, U = interruptible(np.linalg.eigh, 0.5 * S)
        if not sparse.issparse(Z):
            Q = Z @ U
        elif intercept == "penalized":
            Q = np.asarray(Z @ U[1:]) + U[0]
        else:
            Q = np.asarray(Z @ U) - mean @ U
        return cls(Q, np.maximum(values, 0), intercept == "free")

    @classmethod
    def of_kernel(cls, K: Array, weight: Array, intercept: str) -> Spectrum:
        """From a kernel matrix, which is replaced by ``K + 1`` or centred as the intercept demands."""
        K = np.array(K, dtype=np.float64)
        if intercept == "penalized":
            K += 1
        elif intercept == "free":
            share = weight / weight.sum()
            mean = K @ share
            K -= mean + (mean - share @ mean)[:, None]
        root = np.sqrt(weight)
        values, U = interruptible(np.linalg.eigh, root[:, None] * K * root)
        kept, values = is_nonzero(values), np.maximum(values, 0)
        kept[-1] = True  # a kernel that tells no rows apart still is a feature
        Q = U[:, kept] * np.sqrt(values[kept]) / root[:, None]
        return cls(Q, 0.5 * values[kept], intercept == "free")


def half_path(
    spectrum: Spectrum,
    codes: NDArray[np.intp],
    weight: Array,
    lams: Array,
    *,
    removed: Array | None = None,
    n_rows: float | None = None,
) -> Iterator[LeaveOneOut]:
    """``leave_one_out`` at ``mix = 1/2`` for each ``lam``; every class has a row."""
    n, k = len(codes), int(codes.max()) + 1
    removed = weight if removed is None else removed
    n_rows = float(n) if n_rows is None else n_rows
    Q, e = spectrum.features, spectrum.values
    target = np.full((k, n), -1 / (k - 1))  # class by class, as are all scores: rows are scaled and compared
    target[codes, np.arange(n)] = 1
    mean = target @ weight / weight.sum() if spectrum.free else np.zeros(k)
    level = 2 / weight.sum() if spectrum.free else 0.0
    pull = 0.5 * ((target * weight) @ Q)
    levers = np.square(Q) @ (1 / (e[:, None] + lams)) + level
    centred = target - mean[:, None]
    for fit, lever in zip(_fits(Q, pull, e, lams), levers.T, strict=True):
        error = np.subtract(centred, fit, out=fit)
        df = 0.5 * float(weight @ lever) * (k - 1)
        kept = np.maximum(1 - 0.5 * removed * lever, np.finfo(float).eps)
        error /= kept
        scores = np.subtract(target, error, out=error)
        yield LeaveOneOut(scores.T, df, n_rows, partial(_rss, scores, target, weight * kept**2))


def _rss(scores: Array, target: Array, weight: Array) -> float:
    return 0.5 * float(weight @ np.square(target - scores).sum(axis=0))


def _fits(Q: Array, pull: Array, e: Array, lams: Array) -> Iterator[Array]:
    """``pull diag(1/(e + lam)) Q'`` for each ``lam``; several at once, as products with few rows are slow."""
    k, n = len(pull), len(Q)
    together = max(1, _BATCH_ENTRIES // max(n * k, 1))
    for first in range(0, len(lams), together):
        batch = lams[first : first + together]
        yield from ((pull / (e + batch[:, None])[:, None]).reshape(k * len(batch), len(e)) @ Q.T).reshape(-1, k, n)
