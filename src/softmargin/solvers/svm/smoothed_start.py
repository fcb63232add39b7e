"""A primal start for kinked losses on linear features: Newton's method on ever less rounded corners.

Rounding the corner of the cost ``max{v (q - f) : lo <= v <= hi}`` over a half-width ``h`` makes its slope
``v = clip(lo + (hi - lo)(q - f + h) / 2h, lo, hi)``: only rows with ``|q - f| < h`` have curvature, so the Hessian is
as cheap as the band is narrow. When a step moves no score by more than ``h / 2``, ``h`` is divided by three. The
last ``h`` tells how far from their corner rows must lie to be taken as settled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion
from softmargin.solvers.linalg import Bordered, backtrack, shifted_cholesky
from softmargin.solvers.svm.box_qp import BoxQP

__all__ = ["SmoothedStart", "smoothed_start"]

Array = NDArray[np.floating[Any]]

_SHORTEST = 1e-8  # length of a step taken where rounding hides every decrease


class SmoothedStart(NamedTuple):
    """Weights, intercept, residuals ``q - f`` and the half-width ``h`` of the rounding."""

    w: Array
    b: float
    residual: Array
    h: float


def smoothed_start(
    features: Expansion, box: BoxQP, *, start: tuple[Array, float, float], band: int, max_iter: int = 40
) -> SmoothedStart:
    """From weights, an intercept and a half-width to those of the half-width with at most ``band`` rows within it."""
    w, b, h = start
    residual = box.q - features.apply(w) - b
    cost = _Rounded(box, h)
    for _ in range(max_iter):
        dw, db = _newton_step(features, w, residual, cost)
        change = features.apply(dw) + db
        length = _search(cost, residual, change, w, dw)
        w, b, residual = w + length * dw, b + length * db, residual - length * change
        if length * np.abs(change).max() <= cost.h / 2:
            if np.count_nonzero(np.abs(residual) < cost.h) <= band:
                break
            cost = _Rounded(box, cost.h / 3)
    return SmoothedStart(w, b, residual, cost.h)


class _Rounded:
    """The rounded cost ``max_v v r - (v - centre)^2 / (2 steep)``; an infinite bound is replaced by a steep wall."""

    def __init__(self, box: BoxQP, h: float) -> None:
        lo, hi = box.lo, box.hi
        self.intercept = box.intercept
        width = hi - lo
        finite = np.isfinite(width)
        ends = np.where(np.isfinite(hi), hi, lo)
        typical = float(width[finite].mean()) if finite.any() else float(np.abs(ends).mean())
        self.lo, self.hi, self.h = lo, hi, h
        self.steep = np.where(finite, width, typical or 1.0) / (2 * h)
        self.centre = np.where(np.isfinite(lo), lo + self.steep * h, hi - self.steep * h)

    def slope(self, r: Array) -> Array:
        """The multiplier ``v`` at residual ``r``."""
        return np.clip(self.centre + self.steep * r, self.lo, self.hi)

    def value(self, r: Array, v: Array) -> float:
        """The total cost at residuals ``r`` with slopes ``v``."""
        away = v - self.centre
        return float(v @ r) - 0.5 * float(away @ (away / self.steep))


def _newton_step(features: Expansion, w: Array, residual: Array, cost: _Rounded) -> tuple[Array, float]:
    v = cost.slope(residual)
    gradient = w - features.transpose(v)
    band = np.flatnonzero((v > cost.lo) & (v < cost.hi))
    bend, rows = cost.steep[band], features.take(band)
    hessian = rows.gram(bend)
    hessian[np.diag_indices_from(hessian)] += 1.0
    push, total = float(v.sum()), float(bend.sum())
    system = Bordered(shifted_cholesky(hessian), rows.transpose(bend) if cost.intercept else None, total)
    if cost.intercept and system.pivot <= 1e-12 * total:  # no row in the band: only the sign of the push is known
        return system.inner(-gradient), float(np.sign(push)) * cost.h
    return system.solve(-gradient, push)


def _search(cost: _Rounded, residual: Array, change: Array, w: Array, dw: Array) -> float:
    """Backtracking on the rounded objective."""
    v = cost.slope(residual)
    here = 0.5 * float(w @ w) + cost.value(residual, v)
    slope = float(w @ dw) - float(v @ change)

    def at(length: float) -> tuple[float, None]:
        moved, r = w + length * dw, residual - length * change
        return 0.5 * float(moved @ moved) + cost.value(r, cost.slope(r)), None

    found = backtrack(at, here, slope, noise=1e-14 * abs(here), shortest=_SHORTEST)
    return _SHORTEST if found is None else found.length
