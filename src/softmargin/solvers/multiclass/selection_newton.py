"""Newton's method on the coefficients in use, for k scores that sum to zero with costs that select.

Away from zero the costs are smooth: ``c |theta_j|`` of a feature's row bends by ``c (I - uu') / |theta_j|`` with ``u``
its direction, ``c |theta_jl|`` of one coefficient is linear. So on the coefficients that are not zero, with rows and
intercepts of sum zero, the objective has a Hessian, and a few damped steps reach digits that gradients would need
thousands for. A step stops short of a change of sign: which coefficients are in use is for the proximal steps to say.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import block_diag

from softmargin.solvers.linalg import add_to_diagonal, backtrack, shifted_cholesky

__all__ = ["LARGEST_AT_LAST", "LARGEST_SYSTEM", "newton_on_support"]

Array = NDArray[np.floating[Any]]

LARGEST_AT_LAST = 2000  # where proximal steps have not come to an end
LARGEST_SYSTEM = 300  # unknowns up to which a step costs no more than the 150 proximal steps it replaces
_MAX_STEPS = 60
# So many steps in a row of less than such a share of Newton's: a coefficient in use is on its way to zero, which is for
# the proximal steps to find.
_SHORT, _SHORT_STEPS = 0.1, 3
_SHIFT = 1e-13  # of each curvature: directions without any are left alone
_FLAT = 1e-30  # of the largest curvature: less is none


def _zero_sum_basis(used: NDArray[np.bool_]) -> Array:
    """Orthonormal columns that span the vectors of sum zero on the marked entries."""
    k, m = len(used), int(used.sum())
    basis = np.zeros((k, max(m - 1, 0)))
    if m > 1:
        full = np.linalg.qr(np.column_stack([np.ones(m), np.eye(m)[:, : m - 1]]))[0]
        basis[used] = full[:, 1:]
    return basis


class _Support:
    """The objective on the coefficients in use: intercepts first (if free), then the features' rows."""

    def __init__(self, fit: Any, coef: Array, members: Any) -> None:
        Z = fit.Z[:, members]
        dense = np.asarray(Z.toarray() if sparse.issparse(Z) else Z)
        self.fit, self.free, self.group = fit, fit.free, fit.group
        self.columns = np.column_stack([np.ones(len(dense)), dense]) if self.free else dense
        self.costs, self.ridge = np.broadcast_to(fit.costs[members], coef.shape), fit.ridge[members]
        used = np.ones_like(coef, dtype=bool) if self.group else coef != 0
        rows = ([np.ones(coef.shape[1], dtype=bool)] if self.free else []) + list(used)
        self.basis = block_diag(*[_zero_sum_basis(row) for row in rows])

    def slopes_and_bends(self, point: Array) -> tuple[Array, Array]:
        """Gradient and Hessian in the basis."""
        fit, k = self.fit, point.shape[1]
        F = self.columns @ point
        weights, codes = fit.problem.weights, fit.problem.codes
        gradient = self.columns.T @ (weights[:, None] * fit.loss.slope(F, codes))
        curve = fit.loss.curve(F, codes)
        m = len(point)
        H = np.empty((m, k, m, k))
        for b in range(k):
            unit = np.zeros_like(F)
            unit[:, b] = 1.0
            bend = weights[:, None] * curve(unit)
            for a in range(k):
                H[:, a, :, b] = (self.columns * bend[:, a, None]).T @ self.columns
        first = int(self.free)
        charged = zip(point[first:], self.costs, self.ridge, strict=True)
        for j, (row, cost, ridge) in enumerate(charged, start=first):
            gradient[j] += ridge * row
            H[j, :, j, :] += ridge * np.eye(k)
            if not self.group:
                gradient[j] += cost * np.sign(row)
            elif cost[0] > 0:
                size = float(np.linalg.norm(row))
                u = row / size
                gradient[j] += cost[0] * u
                H[j, :, j, :] += cost[0] / size * (np.eye(k) - np.outer(u, u))
        return self.basis.T @ gradient.ravel(), self.basis.T @ H.reshape(m * k, m * k) @ self.basis

    def value(self, point: Array) -> float:
        fit, coef = self.fit, point[int(self.free) :]
        sizes = np.linalg.norm(coef, axis=1) if self.group else np.abs(coef)
        cost = float(np.sum((self.costs[:, 0] if self.group else self.costs) * sizes))
        loss = float(fit.problem.weights @ fit.loss.value(self.columns @ point, fit.problem.codes))
        return loss + cost + 0.5 * float(np.sum(self.ridge * np.square(coef)))

    def longest(self, point: Array, step: Array) -> float:
        """How far a step goes before a coefficient of its own cost changes sign."""
        if self.group:
            return 1.0
        coef, move = point[int(self.free) :], step[int(self.free) :]
        share = np.divide(-coef, move, out=np.full_like(coef, np.inf), where=coef * move < 0)
        return min(1.0, 0.99 * float(share.min(initial=np.inf)))


def newton_on_support(fit: Any, coef: Array, b: Array, members: Any, tol: float) -> tuple[Array, Array]:
    """Coefficients and intercepts after Newton steps, until the gradient on the support is at most ``tol``."""
    if not (fit.free or len(coef)):  # nothing in use, nothing to move
        return coef, b
    support = _Support(fit, coef, members)
    point = np.vstack([b, coef]) if fit.free else coef
    value, short = support.value(point), 0
    for _ in range(_MAX_STEPS):
        g, H = support.slopes_and_bends(point)
        if not len(g) or np.abs(g).max() <= tol or not np.isfinite(H).all():
            break
        move = _direction(H, g)
        step = (support.basis @ move).reshape(point.shape)
        found = backtrack(_along(support, point, step), value, float(g @ move), noise=1e-14 * abs(value), shortest=1e-8)
        if found is None:
            break
        point, value = found.there, found.value
        short = short + 1 if found.length < _SHORT else 0
        if short > _SHORT_STEPS:
            break
    return (point[1:], point[0]) if fit.free else (point, b)


def _direction(H: Array, g: Array) -> Array:
    """The Newton step; by singular values, at some thirty times the price, where there is no factor.

    Unknowns are in units of their own curvature: an intercept beside columns of 1e8 would drown in a common shift.
    """
    curvature = np.maximum(H.diagonal(), _FLAT * float(H.diagonal().max(initial=0.0)))
    unit = 1 / np.sqrt(np.maximum(curvature, np.finfo(float).tiny))
    scaled, slope = unit[:, None] * H * unit, unit * g
    add_to_diagonal(scaled, _SHIFT)
    try:
        return unit * shifted_cholesky(scaled.copy())(-slope)
    except np.linalg.LinAlgError:
        return unit * np.linalg.lstsq(scaled, -slope, rcond=None)[0]


def _along(support: _Support, point: Array, step: Array) -> Callable[[float], tuple[float, Array]]:
    longest = support.longest(point, step)

    def at(length: float) -> tuple[float, Array]:
        there = point + longest * length * step
        return support.value(there), there

    return at
