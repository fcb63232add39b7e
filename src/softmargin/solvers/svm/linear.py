"""Kinked losses on linear features: ``n`` rows, no ``n x n`` matrix, the unpenalised intercept exact.

    minimise  1/2 |w|^2 + sum_i max{v (q_i - x_i'w - b) : lo_i <= v <= hi_i}

Three ways, by shape.

* Few rows (to the last digits), or some with more columns than rows: the box QP of the Gram matrix ``XX'``.
* Many rows, few columns: most rows end far from their corner, where the cost is linear. A rounded problem
  (``_smoothing``) finds out which; their sum enters as one fixed linear term, and an interior point (``_interior``)
  settles the rows near the corner. The cost of a settled row is never above its true cost, so a solution that leaves
  every settled row on its side is optimal for all rows; otherwise the rows on the wrong side join and it is
  solved again. The set only grows, so this ends.
* Many rows and columns: the box QP by working sets, with ``K = XX'`` never formed.
* Stiff problems (large features or costs, where pair steps crawl): an interior point on all rows.

All end in the box QP's own finish: multipliers put on their bounds, the free ones' equations solved, the interval of
optimal intercepts, the duality gap of the whole problem. Only where ``X'u`` is such a small difference of large numbers
that scores made from it are rounding noise, the interior point's own weights are the answer, with their duality gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion
from softmargin.solvers.svm.box_qp import EXACT_ROWS, BoxSolution, box_report, finish_box_qp, solve_box_qp
from softmargin.solvers.svm.interior_point import interior_point
from softmargin.solvers.svm.kernel_rows import FeatureRows, GramRows
from softmargin.solvers.svm.smoothed_start import smoothed_start

__all__ = ["GRAM_ROWS", "is_stiff", "solve_linear_hinge"]

Array = NDArray[np.floating[Any]]

SAMPLE = 8  # the start is found on every eighth row
ROWS_PER_COLUMN = 40  # rows a start or an interior point is worth sifting for
GRAM_ROWS = 6000  # up to here XX' may be formed where columns are many
COLUMNS = 2000  # beyond, p x p systems cost more than working sets
STIFF = 1e5  # squared length of a row times a bound: how far steps may have to go, in scores
CRAWL = 3e4  # that times the rows: where pair steps on a Gram matrix become slower than an interior point


def solve_linear_hinge(
    features: Expansion,
    q: Array,
    lo: Array,
    hi: Array,
    *,
    intercept: bool = True,
    start: Array | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
) -> tuple[BoxSolution, Array]:
    """The solution of the box QP and its weights ``X'u``."""
    n, p = features.shape
    tall = p <= COLUMNS and n >= 2 * p
    if is_stiff(features, lo, hi):
        return _solve_stiff(features, q, lo, hi, intercept, tol, max_iter)
    if n > EXACT_ROWS and tall:
        found = _solve_by_sifting(features, q, lo, hi, intercept, tol, max_iter)
    else:
        rows = GramRows.of(features.outer()) if n <= GRAM_ROWS else FeatureRows(features)
        found = solve_box_qp(rows, q, lo, hi, intercept=intercept, start=start, tol=tol, max_iter=max_iter)
    return found, features.transpose(found.u)


def is_stiff(features: Expansion, lo: Array, hi: Array) -> bool:
    """Whether the bounds allow scores so large that an interior point (there must be one) beats pair steps."""
    n, p = features.shape
    if p > min(n, COLUMNS) or not (np.all(lo < hi) and lo.sum() < 0 < hi.sum()):
        return False
    ends = np.abs(np.concatenate([lo[np.isfinite(lo)], hi[np.isfinite(hi)]]))
    stiffness = float(features.squared_norms().sum()) / n * float(ends.max(initial=0.0))
    return stiffness > (CRAWL / n if n <= EXACT_ROWS and 2 * p <= n else STIFF)


def _solve_stiff(
    features: Expansion, q: Array, lo: Array, hi: Array, intercept: bool, tol: float, max_iter: int
) -> tuple[BoxSolution, Array]:
    n, p = features.shape
    accuracy = min(tol, 1e-6) / 10
    point = interior_point(
        features, q, lo, hi, w0=np.zeros(p), total=0.0, intercept=intercept, tol=accuracy, max_iter=100
    )
    u, scores = point.u.copy(), features.apply(point.w)
    _settle(u, q - scores - point.intercept, lo, hi)
    noise = np.finfo(np.float64).eps * float(features.squared_norms().sum()) * float(np.abs(u).max())
    if noise > accuracy:
        implied = features.transpose(point.u)
        known = 0.5 * float(point.w @ point.w), 0.5 * float(implied @ implied) - float(q @ point.u)
        return box_report(u, scores - q, q, lo, hi, intercept, point.n_iter, tol, known), point.w
    rows = GramRows.of(features.outer()) if n <= EXACT_ROWS else FeatureRows(features)
    found = finish_box_qp(rows, q, lo, hi, u=u, intercept=intercept, tol=tol, max_iter=max_iter, n_iter=point.n_iter)
    return found, features.transpose(found.u)


def _solve_by_sifting(
    features: Expansion, q: Array, lo: Array, hi: Array, intercept: bool, tol: float, max_iter: int
) -> BoxSolution:
    n, p = features.shape
    band = max(ROWS_PER_COLUMN * p, n // 30)
    w, b, residual, blur = _start(features, q, lo, hi, intercept, band)
    accuracy = min(tol, 1e-6) / 10
    open_rows = np.abs(residual) <= 3 * blur
    u = np.where(residual > 0, hi, lo)
    n_iter = 0
    while True:
        open_rows = _widen(open_rows, residual, lo, hi, u, intercept)
        settled = np.where(open_rows, 0.0, u)
        chosen = np.flatnonzero(open_rows)
        part = features if len(chosen) == n else features.take(chosen)
        point = interior_point(
            part,
            q[chosen],
            lo[chosen],
            hi[chosen],
            w0=features.transpose(settled),
            total=-float(settled.sum()),
            intercept=intercept,
            tol=accuracy,
            guess=(w, b, blur),
        )
        n_iter += point.n_iter
        w, b, u[chosen] = point.w, point.intercept, point.u
        residual = q - features.apply(w) - b
        wrong = ~open_rows & np.where(u == hi, residual < 0, residual > 0) & (lo < hi)
        if not wrong.any():
            break
        open_rows |= wrong
        blur = max(float(np.abs(residual[wrong]).max()), 1e-3 * blur)
    _settle(u, residual, lo, hi)
    return finish_box_qp(
        FeatureRows(features), q, lo, hi, u=u, intercept=intercept, tol=tol, max_iter=max_iter, n_iter=n_iter
    )


def _start(
    features: Expansion, q: Array, lo: Array, hi: Array, intercept: bool, band: int
) -> tuple[Array, float, Array, float]:
    """A solution rounded over a narrow band, from one of a sample of the rows with as much weight."""
    n, p = features.shape
    start: tuple[Array, float] = (np.zeros(p), 0.0)
    blur = 1.0
    if n >= SAMPLE * ROWS_PER_COLUMN * p:
        rows = np.sort(np.random.default_rng(0).choice(n, n // SAMPLE, replace=False))
        grow = n / len(rows)
        w, b, _, blur = _start(
            features.take(rows), q[rows], grow * lo[rows], grow * hi[rows], intercept, len(rows) // 8
        )
        start = (w, b)
    return smoothed_start(features, q, lo, hi, intercept=intercept, start=start, blur=blur, band=band)


def _widen(open_rows: Any, residual: Array, lo: Array, hi: Array, u: Array, intercept: bool) -> Any:
    """Open rows at infinite bounds, and so many next to the corner that ``sum u = 0`` is within their reach."""
    open_rows = open_rows | ~np.isfinite(u)
    while intercept and not open_rows.all():
        fixed = float(u[~open_rows].sum())
        reach = lo[open_rows].sum(), hi[open_rows].sum()
        slack = 0.1 * (reach[1] - reach[0]) if np.isfinite(reach[1] - reach[0]) else 0.0
        if reach[0] + slack < -fixed < reach[1] - slack:
            break
        wider = np.sort(np.abs(residual))[min(len(u) - 1, 2 * int(np.count_nonzero(open_rows)) + 16)]
        open_rows = open_rows | (np.abs(residual) <= wider)
    return open_rows


def _settle(u: Array, residual: Array, lo: Array, hi: Array) -> None:
    """Put multipliers on a bound where they are closer to it, in widths, than their row is to its corner."""
    width = np.minimum(hi - lo, 2 * np.abs(u).max(initial=0.0))
    np.copyto(u, hi, where=hi - u <= width * np.maximum(residual, 0))
    np.copyto(u, lo, where=u - lo <= width * np.maximum(-residual, 0))
