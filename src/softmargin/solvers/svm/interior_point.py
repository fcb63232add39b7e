"""A primal-dual interior point for the box QP of linear features, ``O(n p^2)`` per step and no n x n matrix.

    minimise  1/2 |X'u + w0|^2 - q'u   subject to  lo <= u <= hi,  sum u = total (with an intercept b)

With multipliers ``s`` of ``u >= lo`` and ``t`` of ``u <= hi`` each Newton step (Mehrotra's predictor and corrector)
solves ``X dw + db + D du = r`` with ``D = s/(u - lo) + t/(hi - u)`` through the ``p x p`` matrix ``I + X'D^-1 X``.
Eleven to sixteen steps are usual, whatever n. Either bound may be infinite, not both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.expansions import Expansion
from softmargin.solvers.linalg import add_to_diagonal
from softmargin.solvers.svm.box_qp import BoxQP

__all__ = ["InteriorPoint", "interior_point"]

Array = NDArray[np.floating[Any]]
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_TINY = 1e-300  # features that are all zero have weights of no size


class InteriorPoint(NamedTuple):
    """Multipliers strictly inside the box, weights ``X'u + w0``, intercept, steps, and the mean complementarity."""

    u: Array
    w: Array
    intercept: float
    n_iter: int
    complementarity: float


def interior_point(
    features: Expansion,
    box: BoxQP,
    *,
    w0: Array,
    tol: float,
    guess: tuple[Array, float, float] | None = None,
    max_iter: int = 60,
) -> InteriorPoint:
    """Minimise until complementarity, in units of the score, and the residuals are below ``tol``.

    ``guess`` holds weights, an intercept and the error expected in their scores; the loop starts at that primal point
    with slopes to match, and lets the multipliers catch up.
    """
    q, lo, hi, intercept, total = box.q, box.lo, box.hi, box.intercept, box.total
    low, high = np.isfinite(lo), np.isfinite(hi)
    width = _typical_width(lo, hi)
    w, b, blur = (np.zeros_like(w0), 0.0, 1.0) if guess is None else guess
    scores = features.apply(w)
    residual = q - scores - b
    s, t = np.maximum(-residual, 0) + blur, np.maximum(residual, 0) + blur
    with np.errstate(invalid="ignore"):  # central between two bounds: (u - lo) s = (hi - u) t
        u = np.where(low & high, (lo * s + hi * t) / (s + t), np.where(low, lo + width / s, hi - width / t))
    s, t = np.where(low, s, 0.0), np.where(high, t, 0.0)
    # the distances to the bounds are kept apart from u: their smallest values would drown in its rounding
    a, c = np.where(low, u - lo, 1.0), np.where(high, hi - u, 1.0)
    n_bounds = low.sum() + high.sum()
    noise = _ROUNDING * float(np.sqrt(features.squared_norms().sum())) * float(np.linalg.norm(u))
    error, measured, n_iter = np.inf, False, 0
    while n_iter < max_iter:
        if not measured:  # mismatches shrink by (1 - length) each step; they are measured first and last
            mismatch = features.transpose(u) + w0 - w
            excess = float(u.sum() - total) if intercept else 0.0
        slack = scores + b - q - s + t
        mu = float(a @ s + c @ t) / n_bounds
        apart = max(_size(mismatch) - noise, 0.0) / max(_size(w), noise, _TINY)
        error = max(mu / width, _size(slack), apart, abs(excess) / (width * len(u)))
        if error <= tol:
            if not measured:
                break
            measured = False
            continue
        n_iter += 1
        try:
            system = _Newton(features, s / a + t / c, intercept)
        except linalg.LinAlgError:  # as accurate as rounding allows
            break
        push = t - s - slack
        du, *_ = system.solve(push, mismatch, excess)
        ds, dt = np.where(low, -s - s / a * du, 0.0), np.where(high, -t + t / c * du, 0.0)
        length = min(_reach(a, low * du), _reach(c, high * -du), _reach(s, ds), _reach(t, dt))
        mu_affine = float((a + length * du) @ (s + length * ds) + (c - length * du) @ (t + length * dt)) / n_bounds
        centre = mu * min(1.0, max(mu_affine, 0.0) / mu) ** 3 if mu > 0 else 0.0
        pull_a, pull_c = np.where(low, (centre - du * ds) / a, 0.0), np.where(high, (centre + du * dt) / c, 0.0)
        du, dw, db, change = system.solve(push + pull_a - pull_c, mismatch, excess)
        ds, dt = np.where(low, pull_a - s - s / a * du, 0.0), np.where(high, pull_c - t + t / c * du, 0.0)
        length = 0.995 * min(_reach(a, low * du), _reach(c, high * -du), _reach(s, ds), _reach(t, dt))
        u, b, s, t = u + length * du, b + length * db, s + length * ds, t + length * dt
        w, scores = w + length * dw, scores + length * change
        a, c = np.where(low, a + length * du, 1.0), np.where(high, c - length * du, 1.0)
        mismatch, excess, measured = (1 - length) * mismatch, (1 - length) * excess, True
    return InteriorPoint(u, w, b, n_iter, error)


class _Newton:
    """``X dw + db + D du = r`` with ``dw = X'du + mismatch`` and ``sum du = -excess``, factored once for two sides.

    Eliminating ``du`` leaves weighted least squares in ``(dw, db)``. Solving for these, not for ``du``, keeps the
    weights accurate where ``X'u`` is a small difference of large numbers (large features or costs).
    """

    def __init__(self, features: Expansion, D: Array, intercept: bool) -> None:
        self.features, self.inverse, self.intercept = features, 1.0 / D, intercept
        S, first = features.moments(self.inverse)
        add_to_diagonal(S, 1.0)
        if intercept:
            S = np.block([[S, first[:, None]], [first[None, :], np.full((1, 1), self.inverse.sum())]])
        self.size = 1.0 / np.sqrt(np.diag(S))
        S = S * np.outer(self.size, self.size)
        self.factor = linalg.cho_factor(S, lower=True, check_finite=False, overwrite_a=True)

    def solve(self, r: Array, mismatch: Array, excess: float) -> tuple[Array, Array, float, Array]:
        """``du``, ``dw``, ``db`` and ``X dw``."""
        pull = self.inverse * r
        side = self.features.transpose(pull) + mismatch
        if self.intercept:
            side = np.append(side, pull.sum() + excess)
        answer = self.size * linalg.cho_solve(self.factor, self.size * side, check_finite=False)
        dw, db = (answer[:-1], float(answer[-1])) if self.intercept else (answer, 0.0)
        change = self.features.apply(dw)
        return self.inverse * (r - change - db), dw, db, change


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
