"""Simultaneous support vector machines: block coordinate ascent on the dual, certified by the duality gap.

``_compiled/multicategory.pyx`` states the common dual. This module says which bounds, linear terms and link make each
machine, keeps scores through primal weights (linear features, never n x n) or Gram rows (kernels), and decides when to
stop: after each call of the kernel all scores are computed afresh and the solver returns once

    gap = (P - D) / max(P, D, 1e-12 cost) <= tol.

A problem so small that precision costs nothing is carried on until blocks hardly move: repeated rows and weighted rows
then give the same scores.

A free intercept makes ``sum_i beta_ij = 0`` a constraint for each class. Features or kernel are centred, which it
undoes, and it is reached by the proximal point method: ``K + shift`` penalises only the distance of ``b`` from its last
value, ``b <- b + shift * sum_i beta_i``; the gap then adds what the remaining imbalance could be worth,
``|sum_i beta_ij| (1 + |b_j|)``. The bounded machine's scores are made feasible, ``f / max(1, -min f)``, before its
primal value is taken; while its Newton systems are small it is solved by interior steps instead.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin._compiled import multicategory as kernel  # type: ignore[attr-defined]
from softmargin.losses.multiclass.hinges import multicategory_hinge
from softmargin.solvers.multiclass.bounded_interior import bounded_multipliers, is_small
from softmargin.solvers.multiclass.newton import spectral_features
from softmargin.solvers.multiclass.simultaneous_solution import SimultaneousSolution

__all__ = ["solve_hinge"]

Array = NDArray[np.floating[Any]]

_PASSES_PER_CALL = 50
_FREE_WORK = 3e7  # operations that take some hundredths of a second
_SMALLEST_MOVE = 1e-13


class _Machine(NamedTuple):
    """The dual of one method: link, bounds (own and other, per unit of cost) and linear terms (own and other)."""

    link: int
    bounds: tuple[float, float, float, float]
    linear: tuple[float, float]


def _machine(method: str, k: int, mix: float) -> _Machine:
    inf = math.inf
    if method == "naive":
        return _Machine(kernel.CENTER, (0, 1, 0, 0), (1, 0))
    if method == "weston_watkins":
        return _Machine(kernel.OWN, (0, 0, -1, 0), (0, -1))
    if method == "crammer_singer":
        return _Machine(kernel.ZERO, (-inf, 1, -inf, 0), (1, 0))
    if method == "bounded":
        return _Machine(kernel.CENTER, (1, inf, 0, inf), (-1, -1))
    own = 0.0 if method == "lee_lin_wahba" else mix
    return _Machine(kernel.CENTER, (0, own, own - 1, 0), (k - 1, -1))


class _Ascent:
    """One machine on one training set, with everything a warm start needs."""

    def __init__(
        self, expansion: Any, codes: NDArray[np.intp], cost: Array, k: int, method: str, mix: float, shift: float
    ) -> None:
        self.method, self.mix, self.k, self.shift = method, mix, k, shift
        self.machine = _machine(method, k, mix)
        self.codes = codes.astype(np.int32)
        self.cost = np.ascontiguousarray(cost, dtype=np.float64)
        n = len(codes)
        self.b = np.zeros((n, k))
        self.beta: Array = np.zeros((n, k))
        self.offset: Array = np.zeros(k)
        if method == "bounded":  # the smallest feasible b: own class at its cost
            self.b[np.arange(n), codes] = cost
            self.beta = self.b - self.b.mean(axis=1, keepdims=True)
        self.K: Any = np.ascontiguousarray(expansion.outer(), dtype=np.float64) if expansion.is_kernel else None
        self.X: Any = None if expansion.is_kernel else _rows(expansion.rows())
        self.center: Array = np.zeros(0)
        self.theta: Array = self.beta
        self.refresh()

    def refresh(self) -> None:
        """All scores without intercept, and the sums of ``beta``, from scratch."""
        if self.X is None:
            self.theta = self.beta
            self.plain = self.K @ self.beta
        else:
            self.theta = np.ascontiguousarray(self.X.T @ self.beta)
            self.plain = np.asarray(self.X @ self.theta)
        self.total = self.beta.sum(axis=0)

    def free_intercept(self) -> None:
        """Centre features or kernel, which a free intercept undoes, and start the proximal point method."""
        if self.K is not None:
            self.center = self.K.mean(axis=0)
            self.K = self.K - self.center - (self.center - self.center.mean())[:, None]
            mean_square = float(np.trace(self.K)) / len(self.K)
        elif sparse.issparse(self.X):
            mean_square = float(self.X.multiply(self.X).sum()) / self.X.shape[0]
        else:
            self.center = self.X.mean(axis=0)
            self.X = self.X - self.center
            mean_square = float(np.square(self.X).sum()) / len(self.X)
        self.shift = mean_square if mean_square > 0 else 1.0
        self.refresh()

    def solution(self) -> tuple[Array, Array]:
        """Coefficients and intercepts in terms of the features or kernel columns as given."""
        b = self.intercept
        if self.K is not None:
            coef = self.beta
            if len(self.center):
                coef = coef - coef.mean(axis=0)
                b = b - self.center @ coef
        else:
            coef = self.theta
            if len(self.center):
                b = b - self.center @ coef
        return np.array(coef), b - b.mean()

    @property
    def intercept(self) -> Array:
        return self.offset + self.shift * self.total

    def run(self, tol: float, passes: int, seed: int) -> int:
        """Ascend until blocks move by less than ``tol``; scores are fresh afterwards."""
        if self.X is None:
            store: Any = kernel.GramStore(
                self.K, np.ascontiguousarray(self.plain.T), self.total, self.offset, self.shift
            )
        else:
            make = kernel.SparseStore if sparse.issparse(self.X) else kernel.DenseStore
            store = make(self.X, self.theta, self.total, self.offset, self.shift)
        link, bounds, linear = self.machine
        used, _ = kernel.ascend(
            store, link, (*bounds, *linear), self.cost, self.codes, self.b, self.beta, tol, passes, seed
        )
        self.refresh()
        return int(used)

    def measure(self, free: bool) -> tuple[float, float]:
        """The primal value and the certified gap, both absolute."""
        F = self.plain + self.intercept
        norm = float(np.sum(self.plain * self.beta))
        square = 0.5 * norm + (0.0 if free else 0.5 * self.shift * float(self.total @ self.total))
        scale = max(1.0, float(-F.min())) if self.method == "bounded" else 1.0
        losses = multicategory_hinge(self.method, F / scale, self.codes, self.mix)
        primal = square / scale**2 + float(self.cost @ losses)
        own, other = self.machine.linear
        rows = np.arange(len(self.b))
        own_b = self.b[rows, self.codes]
        dual = own * float(own_b.sum()) + other * float(self.b.sum() - own_b.sum()) - square
        if self.method == "bounded":
            dual += float(self.cost.sum())
        gap = primal - dual
        if free:
            gap = abs(gap) + float(np.abs(self.total) @ (1 + np.abs(self.intercept)))
        return primal, gap


def solve_hinge(
    expansion: Any,
    codes: NDArray[np.intp],
    cost: Array,
    n_classes: int,
    *,
    method: str,
    mix: float,
    intercept: str,
    tol: float,
    max_iter: int,
    seed: int = 0,
) -> SimultaneousSolution:
    """Fit ``sum_i cost_i loss(f(x_i), y_i) + 1/2 sum_j |f_j|^2`` with the named multicategory hinge loss."""
    free = intercept == "free"
    ascent = _Ascent(expansion, codes, cost, n_classes, method, mix, 1.0 if intercept == "penalized" else 0.0)
    if free:
        ascent.free_intercept()
    width = len(codes) if ascent.X is None else ascent.X.shape[1]
    if method == "bounded" and is_small(len(codes), width, n_classes):
        return _interior(ascent, intercept, tol, max_iter)
    free_passes = _FREE_WORK / (len(codes) * n_classes * (width + 10))
    move, used, history = 0.1, 0, []
    while True:
        used += ascent.run(move, min(_PASSES_PER_CALL, max_iter - used), seed + used)
        primal, gap = ascent.measure(free)
        relative = gap / max(abs(primal), 1e-12 * float(cost.sum()))
        history.append(primal)
        if used >= max_iter or (relative <= tol and (used >= free_passes or move <= _SMALLEST_MOVE)):
            break
        if free:
            ascent.offset = ascent.intercept
        move = max(0.3 * move, _SMALLEST_MOVE)
    coef, b = ascent.solution()
    return SimultaneousSolution(
        coef, b, primal, relative, used, relative <= tol, "relative duality gap", ascent.b, history
    )


def _interior(ascent: _Ascent, intercept: str, tol: float, max_iter: int) -> SimultaneousSolution:
    """The bounded machine by interior steps, certified like every other."""
    features: Any = ascent.X if ascent.K is None else spectral_features(ascent.K)[0]
    Z = features.toarray() if sparse.issparse(features) else features
    multipliers, theta, used = bounded_multipliers(Z, ascent.codes, ascent.cost, ascent.k, intercept, max_iter)
    ascent.b += multipliers
    ascent.beta = ascent.b - ascent.b.mean(axis=1, keepdims=True)
    if intercept == "free":
        ascent.shift, ascent.offset = 0.0, theta[0]
    ascent.refresh()
    primal, gap = ascent.measure(intercept == "free")
    if ascent.X is not None:  # feasible weights: recovered from large multipliers they would inherit their rounding
        bound = primal - gap
        ascent.theta, ascent.offset, ascent.shift = theta[1:], theta[0], 0.0
        own = np.asarray(ascent.X @ theta[1:] + theta[0])[np.arange(len(ascent.codes)), ascent.codes]
        square = float(np.sum(theta[1:] ** 2)) + (float(theta[0] @ theta[0]) if intercept == "penalized" else 0.0)
        primal = 0.5 * square - float(ascent.cost @ own)
        gap = primal - bound
    relative = gap / max(abs(primal), 1e-12 * float(ascent.cost.sum()))
    coef, b = ascent.solution()
    return SimultaneousSolution(coef, b, primal, relative, used, relative <= tol, "relative duality gap", ascent.b)


def _rows(X: Any) -> Any:
    """Rows the kernel can read: float64, dense in C order or CSR with 32-bit indices."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X, dtype=np.float64)
    rows = sparse.csr_array(X, dtype=np.float64)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows
