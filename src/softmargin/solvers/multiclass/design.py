"""The training rows as the solvers of several classes see them: numbers of ordinary size, centred where that is free.

A free intercept undoes any shift of the features, ``Z = X - 1 c'``, and any centring of a kernel,

    Kc = (I - 1 s') K (I - s 1'),    s the weights of the rows divided by their sum,

so centred rows give the same functions without the digits that an offset costs: with values around 1e9 the inner
products of the rows would not hold a single digit of what tells them apart. Sparse rows stay as they are. Coefficients
go back to the features or kernel columns as given by ``original``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions import Expansion
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.conditioning import HOPELESS

__all__ = ["Design", "gradient_terms", "gradient_unit"]

Array = NDArray[np.floating[Any]]

_BALANCED = 1e-6  # sums of terms of both signs keep about ten digits: a gradient at zero smaller beside them is none


@dataclass
class Design:
    """Either features ``Z`` (dense in C order, or CSR) or inner products ``K`` of the rows, or both.

    ``center`` holds the means taken from the features, or ``K s`` for kernel columns; ``share`` is ``s``.
    """

    Z: Any
    K: Array | None
    center: Array | None
    share: Array

    @classmethod
    def of(cls, problem: MulticlassProblem, *, gram: bool = False) -> Design:
        """The rows of a problem; ``gram`` asks for inner products of features instead of the features."""
        weight = float(problem.weights.mean())
        share = problem.weights / problem.weights.sum()
        expansion, free = problem.expansion, problem.intercept == "free"
        if expansion.is_kernel:
            K, center = _centred_kernel(expansion, share if free else None)
            _check_size(float(np.sqrt(_largest(K))), weight)
            return cls(None, K, center, share)
        Z, center = _features(expansion, share if free else None)
        _check_size(_largest(Z.data if sparse.issparse(Z) else Z), weight)
        if not gram:
            return cls(Z, None, center, share)
        if sparse.issparse(Z):
            K = np.asarray((Z @ Z.T).toarray())
            K = K if not free else _centred(K, K @ share, share)
            if free:
                center = np.asarray(share @ Z)
        else:
            K = Z @ Z.T
        return cls(Z, K, center, share)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns of what is computed with."""
        n, m = self.K.shape if self.Z is None and self.K is not None else self.Z.shape
        return int(n), int(m)

    def original(self, coef: Array, intercept: Array) -> tuple[Array, Array]:
        """Coefficients of ``Z`` (of ``K`` where there is one) and intercepts in terms of the expansion as given."""
        if self.K is not None:
            if self.center is not None and (self.Z is None or sparse.issparse(self.Z)):
                coef = coef - np.outer(self.share, coef.sum(axis=0))
            if self.Z is not None:
                coef = np.asarray(self.Z.T @ coef)
        if self.center is not None:
            intercept = intercept - self.center @ coef
        return np.array(coef), intercept - intercept.mean()

    def shifted_intercept(self, solution: Solution) -> Array:
        """The intercepts of a solution in terms of the centred rows."""
        shift = 0.0 if self.center is None else self.center @ solution.coef
        return np.asarray(solution.intercept + shift)


def gradient_terms(Z: Any, slopes: Array, has_intercept: bool) -> float:
    """The size of the terms whose sums are the gradient of the coefficients of ``Z`` and of the intercepts."""
    largest = float(abs(Z).max()) if min(Z.shape) else 0.0
    return float(np.abs(slopes).sum(axis=0).max()) * max(largest, float(has_intercept))


def gradient_unit(at_zero: float, terms: float) -> float:
    """The unit of gradients: their size at zero coefficients, unless that is what rounding leaves of the terms."""
    return max(at_zero, _BALANCED * terms) or 1.0


def _features(expansion: Expansion, share: Array | None) -> tuple[Any, Array | None]:
    rows = expansion.rows()
    if sparse.issparse(rows):
        Z = sparse.csr_array(rows, dtype=np.float64)
        Z = Z if Z.has_sorted_indices else Z.sorted_indices()  # products would sort the caller's own arrays
        Z.indices, Z.indptr = Z.indices.astype(np.int32, copy=False), Z.indptr.astype(np.int32, copy=False)
        return Z, None
    if share is None:
        return np.ascontiguousarray(rows, dtype=np.float64), None
    center = np.asarray(share @ rows.astype(np.float64, copy=False))
    return np.subtract(rows, center, order="C"), center


def _centred_kernel(expansion: Expansion, share: Array | None) -> tuple[Array, Array | None]:
    K = np.ascontiguousarray(expansion.outer(), dtype=np.float64)
    if share is None:
        return K, None
    mean = K @ share
    return _centred(K, mean, share), mean


def _centred(K: Array, mean: Array, share: Array) -> Array:
    Kc = K - mean
    Kc -= (mean - share @ mean)[:, None]
    return Kc


def _largest(values: Array) -> float:
    """The largest size of a number, without a copy of all."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))


def _check_size(largest: float, weight: float) -> None:
    """Refuse rows so long that no solution could be certified."""
    if not largest * largest * weight <= HOPELESS:
        raise ValueError(
            f"rows reach {largest:.3g} and C times sample_weight is {weight:.3g}: their product is "
            "beyond what double precision can resolve. Standardise the columns of X (or scale the kernel), or lower C "
            "or the weights."
        )
