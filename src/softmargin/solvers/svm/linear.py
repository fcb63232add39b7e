"""Kinked losses on linear features: ``n`` rows, no ``n x n`` matrix, the unpenalised intercept exact.

    minimise  1/2 |w|^2 + sum_i max{v (q_i - x_i'w - b) : lo_i <= v <= hi_i}

By shape.

* Few rows (to the last digits), or some with more columns than rows: the box QP of the Gram matrix ``XX'``.
* Many rows, few columns: most rows end far from their corner, where the cost is linear. A rounded problem
  (``smoothed_start``) finds out which; their sum enters as one fixed linear term, and the method of multipliers settles
  the rows near the corner, or an interior point where the last digits are wanted. The cost of a settled row is never
  above its true cost, so a solution that leaves every settled row on its side is optimal for all rows; otherwise the
  rows on the wrong side join and it is solved again (sifting). The set only grows, so this ends.
* Many rows and columns: the box QP by working sets, with ``K = XX'`` never formed.
* Sparse rows: dual coordinate descent (``dual_descent``) first, within the price of what follows.
* Stiff problems (large features or costs, where pair steps crawl): an interior point on all rows.

An interior point's own weights are the answer where their certificates hold: ``X'u`` may be a small difference of large
numbers, and multipliers put on their bounds move scores of long rows. The others end in the box QP's own finish:
multipliers put on their bounds, the free ones' equations solved. The interval of optimal intercepts and the duality gap
are those of the whole problem.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion
from softmargin.solvers.svm.box_qp import (
    EXACT_ROWS,
    FINEST,
    BoxQP,
    BoxSolution,
    Iterate,
    box_report,
    feasible_start,
    finish_box_qp,
    solve_box_qp,
)
from softmargin.solvers.svm.dual_descent import MOST_PASSES, dual_descent, is_cheap_to_finish, passes_worth
from softmargin.solvers.svm.interior_point import InteriorPoint, interior_point
from softmargin.solvers.svm.kernel_rows import FeatureRows, GramRows
from softmargin.solvers.svm.smoothed_start import (
    WINDOW,
    Multipliers,
    SmoothedStart,
    multiplier_method,
    smoothed_start,
)

__all__ = ["GRAM_ROWS", "Start", "is_stiff", "settle", "solve_linear_hinge", "solve_stiff"]

Array = NDArray[np.floating[Any]]

WIDEST = 2.0  # the first half-width: all rows have curvature at the zero score, so the first step sees them
SAMPLE = 8  # the start is found on every eighth row
ROWS_PER_COLUMN = 40  # rows a start or an interior point is worth sifting for
# Up to so many rows XX' may be formed where columns are many; beyond so many columns p x p systems cost more than
# working sets (``python -m benchmarks thresholds`` times both ways).
GRAM_ROWS, COLUMNS = 6000, 2000
TALL = 3  # rows per column up to which working sets are as quick (700 and 1000 columns: .4 to 3.5 times the seconds)
FINE = 1e-5  # KKT violation from which multipliers are refined to their last digits
FINISH = 10  # working sets that the finish of coordinate descent may take
FINEST_DESCENT = 1e-7  # coordinate descent is not asked for more
GAP = 1e-6  # relative duality gap at which nothing is refined unless such a violation is asked for
AIM = 1e-3  # share of it that open rows are settled to: the last steps are quick, few rows are left in them
STIFF = 1e5  # squared length of a row times a bound: how far steps may have to go, in scores
CRAWL = 3e4  # that times the rows: where pair steps on a Gram matrix become slower than an interior point
# From so many rows they are, without a start, unless one class is so small that most multipliers are undecided (hinge
# and balanced hinge in ``python -m benchmarks growth``).
COLD_ROWS, BALANCED = 600, 0.2


class Start(NamedTuple):
    """Multipliers to begin with; ``near`` ones solve the same problem, less accurately."""

    u: Array
    near: bool = False


def solve_linear_hinge(
    features: Expansion,
    box: BoxQP,
    *,
    start: Start | None = None,
    tol: float = 1e-3,
    max_iter: int = 10_000,
    gram: Callable[[], GramRows] | None = None,
) -> tuple[BoxSolution, Array]:
    """The solution of the box QP and its weights ``X'u``.

    ``gram`` returns the rows of ``XX'`` where they are kept from one problem to the next.
    """
    n, p = features.shape
    if is_stiff(features, box):
        return solve_stiff(features, box, tol=tol, max_iter=max_iter)
    passes = passes_worth(features, start is not None) if n > EXACT_ROWS and tol > FINEST_DESCENT else 0
    if passes:
        if start is not None and start.near and is_cheap_to_finish(features, box, start.u):
            few = Iterate(feasible_start(start.u, box))
            found = finish_box_qp(FeatureRows(features), box, few, tol=tol, max_iter=FINISH)
            if found.gap <= GAP:
                return found, features.transpose(found.u)
        u = None if start is None else start.u
        found, w = dual_descent(features, box, start=u, tol=tol, max_passes=passes)
        if found.converged or found.gap <= GAP:
            return found, w
        start = Start(found.u)
    if n > EXACT_ROWS and p <= COLUMNS and n > TALL * p:
        return _solve_by_sifting(features, box, tol, max_iter)
    rows = FeatureRows(features) if n > GRAM_ROWS else GramRows.of(features.outer()) if gram is None else gram()
    found = solve_box_qp(rows, box, start=None if start is None else start.u, tol=tol, max_iter=max_iter)
    return found, features.transpose(found.u)


def is_stiff(features: Expansion, box: BoxQP, cold: bool = True, crawls: bool = False) -> bool:
    """Whether an interior point (there must be one) beats pair steps: the bounds allow large scores.

    A few hundred rows are so many that it beats those of a ``cold`` start, whatever the scores; where pair steps are
    known to crawl it always does.
    """
    n, p = features.shape
    lo, hi = box.lo, box.hi
    if p > min(n, COLUMNS) or not (np.all(lo < hi) and lo.sum() < 0 < hi.sum()):
        return False
    if crawls:
        return True
    few = n <= EXACT_ROWS and 2 * p <= n
    low, high = sorted((-float(lo.sum()), float(hi.sum())))
    if few and cold and n >= COLD_ROWS and low >= BALANCED * high:
        return True
    stiffness = float(features.squared_norms().sum()) / n * box.largest
    return stiffness > (CRAWL / n if few else STIFF)


def solve_stiff(features: Expansion, box: BoxQP, *, tol: float, max_iter: int) -> tuple[BoxSolution, Array]:
    """By an interior point, whose own weights are the answer; where rounding ended it, a finish if better."""
    n, p = features.shape
    accuracy = min(tol, FINEST)
    point = interior_point(features, box, w0=np.zeros(p), tol=accuracy)
    u, scores = point.u.copy(), features.apply(point.w)
    settle(u, box.q - scores - point.intercept, box)
    u = feasible_start(u, box)
    known = 0.5 * float(point.w @ point.w), _dual_value(features, box, point.u)
    found = box_report(box, Iterate(u, scores - box.q, point.n_iter), tol, known)
    if found.converged and point.error <= accuracy:
        return found, point.w
    rows = GramRows.of(features.outer()) if n <= EXACT_ROWS and 2 * p > n else FeatureRows(features)
    other = finish_box_qp(rows, box, Iterate(u, None, point.n_iter), tol=tol, max_iter=max_iter)
    if (other.converged, -other.gap) > (found.converged, -found.gap):
        return other, features.transpose(other.u)
    return found, point.w


def _solve_by_sifting(features: Expansion, box: BoxQP, tol: float, max_iter: int) -> tuple[BoxSolution, Array]:
    n, p = features.shape
    w, b, residual, blur, _ = _start(features, box, max(ROWS_PER_COLUMN * p, n // SAMPLE))
    u = np.where(residual > 0, box.hi, box.lo)
    open_rows = _widen(np.abs(residual) <= WINDOW * blur, residual, u, box)
    n_iter, begun = 0, False
    while True:
        open_rows = _widen(open_rows, residual, u, box)
        settled = np.where(open_rows, 0.0, u)
        chosen = np.flatnonzero(open_rows)
        cost = _cost(w, residual, box)
        gap = AIM * GAP * cost if tol > FINE and np.isfinite(cost) else 0.0
        if len(chosen):
            point = _open_rows(
                features if len(chosen) == n else features.take(chosen),
                box.take(chosen, -float(settled.sum())),
                SmoothedStart(w, b, residual[chosen], blur),
                w0=features.transpose(settled),
                u=u[chosen] if begun else None,
                accuracy=(gap, min(tol, GAP) / 10),
            )
            w, b, u[chosen], begun, n_iter = point.w, point.intercept, point.u, True, n_iter + point.n_iter
        else:  # every row rests at a bound
            w = features.transpose(settled)
        residual = box.q - features.apply(w) - b
        if not np.isfinite(residual).all():  # numbers too large for the open rows' systems
            found = solve_box_qp(FeatureRows(features), box, tol=tol, max_iter=max_iter)
            return found, features.transpose(found.u)
        wrong = ~open_rows & np.where(u == box.hi, residual < 0, residual > 0) & (box.lo < box.hi)
        if not wrong.any() and gap <= GAP * _cost(w, residual, box):
            break
        open_rows |= wrong
    u = feasible_start(u, box)
    known = 0.5 * float(w @ w), _dual_value(features, box, u)
    quick = box_report(box, Iterate(u, -residual - b, n_iter), tol, known, b)
    if tol > FINE and quick.gap <= GAP:  # what was found needs no refinement
        return quick, w
    if tol > FINE and features.is_sparse:  # many equal rows at the corner: their multipliers are settled one by one
        found, w = dual_descent(features, box, start=None, tol=tol, max_passes=MOST_PASSES)
        if found.converged or found.gap <= GAP:
            return found, w
    settle(u, residual, box)
    found = box_report(box, Iterate(u, -residual - b, n_iter), tol, known)
    if tol <= FINE and found.converged:
        return found, w
    found = finish_box_qp(FeatureRows(features), box, Iterate(u, None, n_iter), tol=tol, max_iter=max_iter)
    return found, features.transpose(found.u)


def _open_rows(
    features: Expansion, box: BoxQP, start: SmoothedStart, *, w0: Array, u: Array | None, accuracy: tuple[float, float]
) -> Multipliers | InteriorPoint:
    """Multipliers to a duality gap by their own method; by an interior point for the last digits or where it is slow.

    ``accuracy`` holds that gap (0 where more is wanted) and the complementarity that an interior point ends at.
    """
    gap, complementarity = accuracy
    if gap > 0:
        found = multiplier_method(features, box, start, w0=w0, u=u, gap=gap)
        if found.gap <= gap:
            return found
    return interior_point(features, box, w0=w0, tol=complementarity, guess=(start.w, start.b, start.h))


def _cost(w: Array, residual: Array, box: BoxQP) -> float:
    """The primal objective."""
    costs = np.zeros_like(residual)
    np.multiply(np.where(residual > 0, box.hi, box.lo), residual, out=costs, where=residual != 0)
    return 0.5 * float(w @ w) + float(costs.sum())


def _dual_value(features: Expansion, box: BoxQP, u: Array) -> float:
    implied = features.transpose(u)
    return 0.5 * float(implied @ implied) - float(box.q @ u)


def _start(features: Expansion, box: BoxQP, band: int) -> SmoothedStart:
    """A solution rounded so that few rows are open, from one of a sample of the rows with as much weight."""
    n, p = features.shape
    start: tuple[Array, float, float] = (np.zeros(p), 0.0, WIDEST)
    if n >= SAMPLE * ROWS_PER_COLUMN * p:
        rows = np.sort(np.random.default_rng(0).choice(n, n // SAMPLE, replace=False))
        try:
            sample = box.take(rows, 0.0).scaled(n / len(rows))
        except ValueError:  # the sample has rows of one class only
            pass
        else:
            found = _start(features.take(rows), sample, len(rows) // 3)
            start = (found.w, found.b, found.h)
            band = n if found.cornered else band  # so are those of all rows
    return smoothed_start(features, box, start=start, band=band)


def _widen(open_rows: Any, residual: Array, u: Array, box: BoxQP) -> Any:
    """Open rows at infinite bounds, and so many next to the corner that ``sum u = 0`` is within their reach."""
    open_rows = open_rows | ~np.isfinite(u)
    while box.intercept and not open_rows.all():
        fixed = float(u[~open_rows].sum())
        reach = box.lo[open_rows].sum(), box.hi[open_rows].sum()
        slack = 0.1 * (reach[1] - reach[0]) if np.isfinite(reach[1] - reach[0]) else 0.0
        if reach[0] + slack < -fixed < reach[1] - slack:
            break
        wider = np.sort(np.abs(residual))[min(len(u) - 1, 2 * int(np.count_nonzero(open_rows)) + 16)]
        open_rows = open_rows | ~(np.abs(residual) > wider)
    return open_rows


def settle(u: Array, residual: Array, box: BoxQP) -> None:
    """Put multipliers on a bound where they are closer to it, in widths, than their row is to its corner."""
    width = np.minimum(box.hi - box.lo, 2 * np.abs(u).max(initial=0.0))
    np.copyto(u, box.hi, where=box.hi - u <= width * np.maximum(residual, 0))
    np.copyto(u, box.lo, where=u - box.lo <= width * np.maximum(-residual, 0))
