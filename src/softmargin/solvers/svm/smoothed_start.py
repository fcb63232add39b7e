"""Kinked losses on linear features in the primal: Newton's method on rounded corners, and the method of multipliers.

Rounding the corner of the cost ``max{v (q - f) : lo <= v <= hi}`` around a guess ``c`` of its multipliers,
``max{v r - (v - c)^2 / (2 s)}``, makes its slope ``v = clip(c + s r, lo, hi)``: only rows strictly inside the box have
curvature ``s``, so the Hessian is as cheap as they are few. Along a line the slope of the objective is piecewise linear
and rises, so its root, found by secants, is the exact step.

*Start.* With ``c`` in the middle of the box and ``s = (hi - lo) / 2h`` rows with ``|r| < h`` have curvature (rows that
are longer than most, with an ``h`` as much wider). When a step promises little beside what the rounding costs, ``h`` is
divided by three, until few rows lie within ``3 h``: the others are taken as settled. Where rows do not leave the band
as it narrows they lie on their corners, and that ends it too.

*End.* From there the guess takes the place of the rounding: ``c <- v`` (proximal points of the dual; Rockafellar 1976).
At the minimum of the rounded objective ``w = X'v + w0`` and ``sum v`` is what it must be, so ``v`` is a point of the
dual and ``sum max{v r} - v r`` the duality gap; a few guesses bring it below any tolerance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion
from softmargin.solvers.linalg import Bordered, add_to_diagonal, shifted_cholesky
from softmargin.solvers.svm.box_qp import BoxQP

__all__ = ["WINDOW", "Multipliers", "SmoothedStart", "multiplier_method", "smoothed_start"]

Array = NDArray[np.floating[Any]]

_NO_PIVOT = 1e-12  # beside the sum of the curvatures: rounding
_FLAT = 0.1  # a line search ends where the slope is this fraction of its first value
_ROUGH = 0.1  # share of the duality gap that a step may promise where the next rounding is due
_MOST_TRIALS, _MOST_STEPS = 30, 60
_STEEPER = 2.0  # what trusted multipliers are rounded less
_STAY = 0.9  # share of the rows that stay in a band a third as wide where they lie on their corners
WINDOW = 3  # half-widths beyond which a row counts as settled


class SmoothedStart(NamedTuple):
    """Weights, intercept, residuals ``q - f``, the half-width ``h`` of the rounding; whether rows lie on corners."""

    w: Array
    b: float
    residual: Array
    h: float
    cornered: bool = False


def smoothed_start(
    features: Expansion, box: BoxQP, *, start: tuple[Array, float, float], band: int, max_iter: int = 40
) -> SmoothedStart:
    """From weights, an intercept and a half-width to those of a half-width with at most ``band`` rows near it."""
    w, b, h = start
    point = _Point(features, box, np.zeros_like(w), (w, b))
    point.round_corners(h)
    held, cornered = len(box.q), False
    for _ in range(max_iter):
        if point.advance() <= _ROUGH * point.gap():
            before, held = held, int(np.count_nonzero(np.abs(point.residual) <= (WINDOW * h) * point.reach))
            cornered = held > _STAY * before and before < len(box.q)
            if held <= band or cornered:
                break
            h /= 3
            point.round_corners(h)
    return SmoothedStart(point.w, point.b, point.residual, h, cornered)


class Multipliers(NamedTuple):
    """Multipliers in the box, weights, intercept, steps, and the duality gap."""

    u: Array
    w: Array
    intercept: float
    n_iter: int
    gap: float


def multiplier_method(
    features: Expansion, box: BoxQP, start: SmoothedStart, *, w0: Array, u: Array | None, gap: float
) -> Multipliers:
    """Minimise ``1/2 |w|^2 - w0'w + costs`` from a start, with multipliers if they are known, to a duality gap."""
    point = _Point(features, box, w0, (start.w, start.b))
    point.round_corners(start.h)
    if u is not None:
        point.trust_multipliers(u)
    n_iter, found = 0, np.inf
    while found > gap and n_iter < _MOST_STEPS:
        point.advance()
        n_iter, off, apart = n_iter + 1, point.infeasibility(), point.gap()
        found = off + apart
        if found > gap and off <= _ROUGH * apart:
            point.trust_multipliers(point.v)
    return Multipliers(point.v, point.w, point.b, n_iter, found)


class _Point:
    """Weights and intercept with residuals, multipliers and the rounded cost there."""

    def __init__(self, features: Expansion, box: BoxQP, w0: Array, at: tuple[Array, float]) -> None:
        self.features, self.box, self.w0, (self.w, self.b) = features, box, w0, at
        self.residual = box.q - features.apply(self.w) - self.b
        # long rows move further: a narrow band would leave the directions that they alone know without curvature
        sizes = np.sqrt(features.diagonal())
        some = sizes[sizes > 0]  # sparse rows may be empty, most of them even
        self.reach = np.maximum(sizes / float(np.median(some)), 1.0) if len(some) else np.ones_like(sizes)
        self._known: tuple[Array, float] | None = None

    def round_corners(self, h: float) -> None:
        """Round all corners over a half-width; an infinite bound is replaced by a steep wall."""
        lo, hi = self.box.lo, self.box.hi
        width = hi - lo
        finite = np.isfinite(width)
        ends = np.where(np.isfinite(hi), hi, lo)
        typical = float(width[finite].mean()) if finite.any() else float(np.abs(ends).mean())
        self.h, self.steep = h, np.where(finite, width, typical or 1.0) / (2 * h * self.reach)
        half = self.steep * (h * self.reach)
        self.centre = np.where(np.isfinite(lo), lo + half, hi - half)
        self.v, self._known = self.slope(self.residual), None

    def trust_multipliers(self, v: Array) -> None:
        """Round around multipliers, a little less than before."""
        self.centre, self.steep = v, _STEEPER * self.steep
        self.v, self._known = self.slope(self.residual), None

    def slope(self, r: Array) -> Array:
        """The multipliers at residuals ``r``."""
        v = self.steep * r
        v += self.centre
        return np.clip(v, self.box.lo, self.box.hi, out=v)

    def gap(self) -> float:
        """What the costs exceed ``v r`` by."""
        r, lo, hi = self.residual, self.box.lo, self.box.hi
        with np.errstate(invalid="ignore"):
            cost = np.where(r > 0, hi, lo) * r
        return float(np.sum(np.where(r == 0, 0.0, cost) - self.v * r))

    def infeasibility(self) -> float:
        """What the dual loses because ``w`` is not ``X'v + w0``, and by mending the sum of the multipliers."""
        gradient, push = self._gradient()
        return 0.5 * float(gradient @ gradient) + abs(push) * self.h

    def advance(self) -> float:
        """A Newton step, as long as it should be; what it promised to gain."""
        dw, db = self._direction()
        change = self.features.apply(dw) + db
        length, promise = self._length(change, dw, db)
        self.w, self.b = self.w + length * dw, self.b + length * db
        self.residual = self.residual - length * change
        self.v, self._known = self.slope(self.residual), None
        return promise

    def _gradient(self) -> tuple[Array, float]:
        """``w - w0 - X'v``, and what the multipliers sum to beyond what they should."""
        if self._known is None:
            push = float(self.v.sum()) - self.box.total if self.box.intercept else 0.0
            self._known = self.w - self.w0 - self.features.transpose(self.v), push
        return self._known

    def _direction(self) -> tuple[Array, float]:
        (gradient, push), box = self._gradient(), self.box
        bend = np.where((self.v > box.lo) & (self.v < box.hi), self.steep, 0.0)
        hessian, border = self.features.moments(bend)
        add_to_diagonal(hessian, 1.0)
        total = float(bend.sum())
        system = Bordered(shifted_cholesky(hessian), border if box.intercept else None, total)
        if box.intercept and system.pivot <= _NO_PIVOT * total:  # no row inside: only the sign of the push is known
            return system.inner(-gradient), float(np.sign(push)) * self.h
        return system.solve(-gradient, push)

    def _length(self, change: Array, dw: Array, db: float) -> tuple[float, float]:
        """The root of the slope along a direction (secants, kept in a bracket), and half the slope at its start."""
        first = float((self.w - self.w0) @ dw) + self.box.total * db
        square = float(dw @ dw)
        start = first - float(self.v @ change)
        if not start < 0:
            return 0.0, 0.0
        low, high, t, before = 0.0, np.inf, 1.0, (0.0, start)
        for trial in range(_MOST_TRIALS):
            value = first + t * square - float(self.slope(self.residual - t * change) @ change)
            if abs(value) <= -_FLAT * start or t in (low, high):
                break
            low, high = (t, high) if value < 0 else (low, t)
            rise = value - before[1]
            root = t - value * (t - before[0]) / rise if rise != 0 else np.nan
            before = (t, value)
            if np.isinf(high):
                t = root if low < root < 8 * low else 4 * low
            else:
                t = root if low < root < high and trial % 3 != 2 else 0.5 * (low + high)
        return t, -0.5 * start
