"""Fits of all class weights on one kernel: its matrix is multiplied with all of their coefficients at once.

A product of the matrix with one vector is as slow as memory; with one for each weight it costs a few times as much. So
do solves with a factor, of which there is one at each anchor.

The derivatives in the coefficients are ``K r`` with ``r = ridge beta + g``. The inverse Hessian wants ``r`` as well,

    (ridge K + K W K)^(-1) K r = (ridge I + W K)^(-1) r = (r - S B^(-1) S K r / ridge) / ridge,

and ``K`` may be singular. So residuals are ``(K r, sum g, r)``, which are moved and added up together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.problem import DataTerm, Problem
from softmargin.solvers.nonconvex.batched_quasi_newton import BatchedFits, Inverses, anchors_of, between, dots
from softmargin.solvers.ridge.line_search import center
from softmargin.solvers.ridge.newton_systems import KernelFactor, KernelSystem

__all__ = ["BatchedKernelFits"]

Array = NDArray[np.floating[Any]]
Which = NDArray[np.intp]


class _Part(NamedTuple):
    """A factor and its share in the inverse of a weight."""

    factor: KernelFactor
    share: float


class _KernelInverses(Inverses):
    """For each weight the factors of the anchors next to it."""

    def __init__(self, parts: dict[int, list[_Part]], n_weights: int) -> None:
        super().__init__(np.empty(n_weights))
        self._parts = parts

    def renewed(self, which: Which, other: Inverses) -> Inverses:
        assert isinstance(other, _KernelInverses)
        self._parts |= {int(k): other._parts[int(k)] for k in which}
        return _KernelInverses(self._parts, len(self.inverse))

    def _solve(self, which: Which, residual: Array) -> Array:
        n = residual.shape[1] // 2
        out = np.zeros((len(which), n + 1))
        factors = {id(part.factor): part.factor for k in which for part in self._parts[int(k)]}
        for name, factor in factors.items():
            shares = [sum(part.share for part in self._parts[int(k)] if id(part.factor) == name) for k in which]
            some = np.flatnonzero(shares)
            out[some] += np.array(shares)[some, None] * _step(factor, residual[some])
        return out


def _step(factor: KernelFactor, residual: Array) -> Array:
    """The bordered inverse of one factor times the residuals of several weights."""
    n, ridge = residual.shape[1] // 2, factor.system.ridge
    image, total, r = residual[:, :n], residual[:, n], residual[:, n + 1 :]
    step = np.empty((len(residual), n + 1))
    step[:, :n] = r
    inner = (image[:, factor.active] * (factor.root / ridge)).astype(factor.cholesky.lower.dtype)
    step[:, factor.active] -= factor.root * factor.cholesky(inner.T).T
    step[:, :n] /= ridge
    step[:, n] = 0.0
    if factor.image is not None and (pivot := float(factor.image.sum())) > 0:
        step[:, n] = (step[:, :n].sum(axis=1) - (r.sum(axis=1) - total) / ridge) / pivot
        step[:, :n] -= step[:, n:] * factor.image
    return step


class BatchedKernelFits(BatchedFits):
    """Coefficients of the rows of a kernel and intercepts under all class weights."""

    def __init__(self, problem: Problem, factors: Array, points: Array, system: KernelSystem) -> None:
        self._system = system
        system.may_be_single = False  # its rounding depends on the order of the rows, and chooses among minima
        super().__init__(problem, factors, points, True)

    def penalties(self, which: Which) -> Array:
        scores = self.problem.y * self.margins[which] - self.points[which, -1:]
        return 0.5 * self.ridge * np.maximum(dots(self.points[which, :-1], scores), 0.0)

    def squares(self, residual: Array) -> Array:
        n = residual.shape[1] // 2
        return np.maximum(dots(residual[:, :n], residual[:, n + 1 :]), 0.0)

    def gap(self, k: int, residual: Array) -> float:
        coef, bound = self.points[k, :-1], self._bound(k, self.problem, slice(None))
        scores = self._system.scores(coef)  # those that steps have added up hold their rounding
        margins = bound.margins_of(scores, float(self.points[k, -1]))
        here = DataTerm(bound, margins)
        _, balanced, there = center(bound, margins, here)
        apart = max(here.cost - there.cost - float(there.slope @ (margins - balanced)), 0.0)
        return self._system.residual(coef, scores, bound.y * there.slope).gap + apart

    def inverses(self, loss: Loss, which: Which, n_anchors: int, rows: tuple[Problem, Any]) -> Inverses:
        parts = dict[int, list[_Part]]()
        if len(which):
            anchors = anchors_of(which, n_anchors)
            made = [self._system.factor(self._curvatures(loss, k, *rows)) for k in anchors]
            for k, low, high, part in between(anchors, which):
                parts[k] = (
                    [_Part(made[low], 1 - part), _Part(made[high], part)] if part > 0 else [_Part(made[low], 1.0)]
                )
        return _KernelInverses(parts, len(self.points))

    def _bend(self, k: int, step: Array, change: Array) -> tuple[float, float]:
        image = self.problem.y * change - step[-1]
        return self.ridge * float(self.points[k, :-1] @ image), self.ridge * max(float(step[:-1] @ image), 0.0)

    def _residuals(self, which: Which, g: Array) -> Array:
        g *= self.problem.y
        r = self.ridge * self.points[which, :-1] + g
        total = g.sum(axis=1) if self.problem.fit_intercept else np.zeros(len(which))
        return np.column_stack([r.astype(self._X.dtype, copy=False) @ self._X, total, r])
