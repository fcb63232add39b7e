"""A primal-dual interior point for the box QP of linear features, ``O(n p^2)`` per step and no n x n matrix.

    minimise  1/2 |X'u + w0|^2 - q'u   subject to  lo <= u <= hi,  sum u = total (with an intercept b)

With multipliers ``s`` of ``u >= lo`` and ``t`` of ``u <= hi`` each Newton step (Mehrotra's predictor and corrector)
solves ``X dw + db + D du = r`` with ``D = s/(u - lo) + t/(hi - u)`` through the ``p x p`` matrix ``I + X'D^-1 X``.
Eleven to sixteen steps are usual, whatever n. Either bound may be infinite, not both.

It ends where every row is at its corner or its multiplier at a bound, to a tolerance. Mean complementarity does not
tell: a row that lies on its corner and needs no multiplier (data on a lattice have many) is as far from it as the root
of the complementarity.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.expansions import Expansion
from softmargin.solvers.svm.box_qp import BoxQP
from softmargin.solvers.svm.newton_systems import newton_system

__all__ = ["InteriorPoint", "interior_point"]

Array = NDArray[np.floating[Any]]
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_TINY = 1e-300  # features that are all zero have weights of no size
_IDLE = 6  # measurements in a row that gain nothing; a few may, by the chance of their rounding
_MOST, _MOST_FROM_GUESS = 100, 60  # steps: two dozen are many where rounding leaves any
_SHORT, _LONG = 0.995, 0.99999  # of the way to the first bound; the last steps, as good as exact, go nearly all of it


class InteriorPoint(NamedTuple):
    """Multipliers strictly inside the box, weights ``X'u + w0``, intercept, steps, and the error that is left."""

    u: Array
    w: Array
    intercept: float
    n_iter: int
    error: float


def interior_point(
    features: Expansion,
    box: BoxQP,
    *,
    w0: Array,
    tol: float,
    guess: tuple[Array, float, float] | None = None,
    products: Array | None = None,
) -> InteriorPoint:
    """Minimise until each row is within ``tol`` of its corner or its multiplier so near a bound that it is worth less.

    ``guess`` holds weights, an intercept and the error expected in their scores; the loop starts at that primal point
    with slopes to match, and lets the multipliers catch up. ``products`` are those of all rows, where steps are to be
    found by them: columns are many.
    """
    q, lo, hi, intercept, total = box.q, box.lo, box.hi, box.intercept, box.total
    low, high = np.isfinite(lo), np.isfinite(hi)
    width = _typical_width(lo, hi)
    lengths = np.sqrt(features.diagonal())
    # what a multiplier's distance to its bound may be worth in scores, through the row that balances the sum
    worth = np.maximum(1 / np.where(low & high, hi - lo, width), float(lengths.max(initial=0.0)) ** 2)
    w, b, blur = (np.zeros_like(w0), 0.0, 1.0) if guess is None else guess
    residual = q - features.apply(w) - b
    s, t = np.maximum(-residual, 0) + blur, np.maximum(residual, 0) + blur
    with np.errstate(invalid="ignore"):  # central between two bounds: (u - lo) s = (hi - u) t
        u = np.where(low & high, (lo * s + hi * t) / (s + t), np.where(low, lo + width / s, hi - width / t))
    s, t = np.where(low, s, 0.0), np.where(high, t, 0.0)
    # the distances to the bounds are kept apart from u: their smallest values would drown in its rounding
    a, c = np.where(low, u - lo, 1.0), np.where(high, hi - u, 1.0)
    n_bounds = low.sum() + high.sum()
    noise = _ROUNDING * float(np.sqrt(features.squared_norms().sum())) * float(np.linalg.norm(u))
    error, measured, n_iter, system = np.inf, False, 0, None
    best: InteriorPoint | None = None  # of those that only rounding, measured, keeps from the end
    idle, most = 0, _MOST if guess is None else _MOST_FROM_GUESS
    while n_iter < most:
        if not measured:  # mismatches shrink by (1 - length) each step; they are measured first and last
            mismatch = features.transpose(u) + w0 - w
            excess = float(u.sum() - total) if intercept else 0.0
            beyond = features.apply(w) + b - q
            # s - t of settled rows has collected rounding: the larger one is as the scores are, the smaller one is kept
            smaller, both = np.minimum(s, t), low & high
            s = np.where(both, smaller + np.maximum(beyond, 0), s)
            t = np.where(both, smaller - np.minimum(beyond, 0), t)
            slack = beyond - s + t
            rounding = _ROUNDING * (lengths * float(np.linalg.norm(w)) + abs(b) + np.abs(q) + s + t)
            slack[np.abs(slack) <= rounding] = 0.0  # rows at their corners would answer to it with their multipliers
        mu = float(a @ s + c @ t) / n_bounds
        apart = max(_size(mismatch) - noise, 0.0) / max(_size(w), noise, _TINY)
        between = max(_size(np.minimum(s, a * worth)), _size(np.minimum(t, c * worth)))
        left = max(_size(slack), apart, abs(excess) / (width * len(u)))
        error = max(between, left)
        if system is not None and system.weak and max(mu / width, left) <= tol:  # as accurate as rounding allows
            break
        if not measured and between <= tol:
            idle = 0 if best is None or error <= best.error / 2 else idle + 1
            if error <= tol or idle == _IDLE:  # what is left is rounding, of any step
                break
            best = InteriorPoint(u, w, b, n_iter, error) if best is None or error < best.error else best
        elif error <= tol:
            measured = False
            continue
        n_iter += 1
        try:
            system = newton_system(features, s / a + t / c, intercept, system, products)
        except linalg.LinAlgError:  # so it is where a direction has no weight at all
            break
        push = t - s - slack
        du, *_ = system.solve(push, mismatch, excess)
        ds, dt = np.where(low, -s - s / a * du, 0.0), np.where(high, -t + t / c * du, 0.0)
        length = min(_reach(a, low * du), _reach(c, high * -du), _reach(s, ds), _reach(t, dt))
        mu_affine = float((a + length * du) @ (s + length * ds) + (c - length * du) @ (t + length * dt)) / n_bounds
        centre = mu * min(1.0, max(mu_affine, 0.0) / mu) ** 3 if mu > 0 and between > tol else mu
        pull_a, pull_c = np.where(low, (centre - du * ds) / a, 0.0), np.where(high, (centre + du * dt) / c, 0.0)
        du, dw, db = system.solve(push + pull_a - pull_c, mismatch, excess)
        ds, dt = np.where(low, pull_a - s - s / a * du, 0.0), np.where(high, pull_c - t + t / c * du, 0.0)
        length = min(max(_SHORT, 1 - mu / width), _LONG) * min(
            _reach(a, low * du), _reach(c, high * -du), _reach(s, ds), _reach(t, dt)
        )
        u, b, s, t = u + length * du, b + length * db, s + length * ds, t + length * dt
        w = w + length * dw
        a, c = np.where(low, a + length * du, 1.0), np.where(high, c - length * du, 1.0)
        mismatch, excess, slack = (1 - length) * mismatch, (1 - length) * excess, (1 - length) * slack
        measured = True
    if best is not None and best.error < error:
        return best._replace(n_iter=n_iter)
    return InteriorPoint(u, w, b, n_iter, error)


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
