"""A primal-dual interior point for the box QP of linear features, ``O(n p^2)`` per step and no n x n matrix.

    minimise  1/2 |X'u + w0|^2 - q'u   subject to  lo <= u <= hi,  sum u = total (with an intercept b)

With multipliers ``s`` of ``u >= lo`` and ``t`` of ``u <= hi`` each Newton step (Mehrotra's predictor and corrector)
solves ``(XX' + D) du + db = r`` with ``D = s/(u - lo) + t/(hi - u)``, by Woodbury through the ``p x p`` matrix
``I + X'D^-1 X``. Eleven to sixteen steps are usual, whatever n. Either bound may be infinite, not both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.expansions import Expansion

__all__ = ["InteriorPoint", "interior_point"]

Array = NDArray[np.floating[Any]]


class InteriorPoint(NamedTuple):
    """Multipliers strictly inside the box, weights ``X'u + w0``, intercept, steps, and the mean complementarity."""

    u: Array
    w: Array
    intercept: float
    n_iter: int
    complementarity: float


def interior_point(
    features: Expansion,
    q: Array,
    lo: Array,
    hi: Array,
    *,
    w0: Array,
    total: float,
    intercept: bool,
    tol: float,
    guess: tuple[Array, float, float] | None = None,
    max_iter: int = 60,
) -> InteriorPoint:
    """Minimise until complementarity, in units of the score, and the residuals are below ``tol``.

    ``guess`` holds weights, an intercept and the error expected in their scores; the loop starts at that primal point
    with slopes to match, and lets the multipliers catch up.
    """
    low, high = np.isfinite(lo), np.isfinite(hi)
    width = _typical_width(lo, hi)
    w, b, blur = (np.zeros_like(w0), 0.0, 1.0) if guess is None else guess
    residual = q - features.apply(w) - b
    s, t = np.maximum(-residual, 0) + blur, np.maximum(residual, 0) + blur
    with np.errstate(invalid="ignore"):  # central between two bounds: (u - lo) s = (hi - u) t
        u = np.where(low & high, (lo * s + hi * t) / (s + t), np.where(low, lo + width / s, hi - width / t))
    s, t = np.where(low, s, 0.0), np.where(high, t, 0.0)
    # the distances to the bounds are kept apart from u: their smallest values would drown in its rounding
    a, c = np.where(low, u - lo, 1.0), np.where(high, hi - u, 1.0)
    n_bounds = low.sum() + high.sum()
    mu, error, measured = 0.0, np.inf, False
    for step in range(max_iter):
        if not measured:  # residuals shrink by (1 - length) each step; they are measured first and last
            unmatched = features.apply(w - w0 - features.transpose(u))
            dual_residual = features.apply(w) + b - q - s + t
            sum_residual = float(u.sum() - total) if intercept else 0.0
        mu = float(a @ s + c @ t) / n_bounds
        error = max(mu / width, _size(dual_residual), _size(unmatched), abs(sum_residual) / (width * len(u)))
        if error <= tol:
            if step == 0 or not measured:
                break
            w, measured = features.transpose(u) + w0, False
            continue
        try:
            system = _Newton(features, s / a + t / c, intercept)
            push = unmatched - dual_residual - s + t
            du, db = system.solve(push, sum_residual)
        except linalg.LinAlgError:  # as accurate as rounding allows
            break
        ds, dt = np.where(low, -s - s / a * du, 0.0), np.where(high, -t + t / c * du, 0.0)
        length = min(_reach(a, low * du), _reach(c, high * -du), _reach(s, ds), _reach(t, dt))
        mu_affine = float((a + length * du) @ (s + length * ds) + (c - length * du) @ (t + length * dt)) / n_bounds
        centre = mu * min(1.0, max(mu_affine, 0.0) / mu) ** 3
        pull_a, pull_c = np.where(low, (centre - du * ds) / a, 0.0), np.where(high, (centre + du * dt) / c, 0.0)
        du, db = system.solve(push + pull_a - pull_c, sum_residual)
        ds, dt = np.where(low, pull_a - s - s / a * du, 0.0), np.where(high, pull_c - t + t / c * du, 0.0)
        length = 0.995 * min(_reach(a, low * du), _reach(c, high * -du), _reach(s, ds), _reach(t, dt))
        u, b, s, t = u + length * du, b + length * db, s + length * ds, t + length * dt
        a, c = np.where(low, a + length * du, 1.0), np.where(high, c - length * du, 1.0)
        unmatched, dual_residual = (1 - length) * unmatched, (1 - length) * dual_residual
        sum_residual, measured = (1 - length) * sum_residual, True
    return InteriorPoint(u, features.transpose(u) + w0, b, step, error)


class _Newton:
    """``(XX' + D) du + db 1 = r``, ``sum du = -excess``, factored once for the predictor and the corrector."""

    def __init__(self, features: Expansion, D: Array, intercept: bool) -> None:
        self.features, self.inverse, self.intercept = features, 1.0 / D, intercept
        S = features.gram(self.inverse)
        S[np.diag_indices_from(S)] += 1.0
        self.factor = linalg.cho_factor(S, lower=True, check_finite=False, overwrite_a=True)
        if intercept:
            self.shadow = self._apply(np.ones_like(D))
            self.mass = float(self.shadow.sum())
            if not self.mass > 0:
                raise linalg.LinAlgError("the multipliers cannot move")

    def _apply(self, r: Array) -> Array:
        scaled = self.inverse * r
        inner = linalg.cho_solve(self.factor, self.features.transpose(scaled), check_finite=False)
        return scaled - self.inverse * self.features.apply(inner)

    def solve(self, r: Array, excess: float) -> tuple[Array, float]:
        du = self._apply(r)
        if not self.intercept:
            return du, 0.0
        db = (float(du.sum()) + excess) / self.mass
        return du - db * self.shadow, db


def _reach(value: Array, change: Array) -> float:
    """The longest step up to 1 that keeps ``value`` nonnegative."""
    falling = change < 0
    return float(np.min(-value[falling] / change[falling], initial=1.0))


def _size(v: Array) -> float:
    return float(np.abs(v).max(initial=0.0))


def _typical_width(lo: Array, hi: Array) -> float:
    width = (hi - lo)[np.isfinite(hi - lo)]
    if len(width) == 0:
        ends = np.abs(np.concatenate([lo[np.isfinite(lo)], hi[np.isfinite(hi)]]))
        width = ends[ends > 0]
    return float(np.mean(width)) if len(width) else 1.0
