"""Sparse features: dual coordinate descent first, for as long as it may be cheaper than an interior point.

Coordinate descent needs no factor and no Gram matrix; on sparse rows its passes cost nanoseconds per entry, and tens to
hundreds of them do unless the problem is ill-conditioned. That cannot be known beforehand, so the passes are limited to
the price of the alternative: at worst both are paid.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.dualdescent import descend_rows
from softmargin.expansions import Expansion
from softmargin.solvers.svm.box_qp import BoxQP, BoxSolution, Iterate, box_report, feasible_start

__all__ = ["MOST_PASSES", "dual_descent", "passes_worth"]

Array = NDArray[np.floating[Any]]

# Nanoseconds, estimated from single fits of w8a, news20, hiva, phishing and a9a: an entry in a pass, a pair of entries
# of one row in a Hessian, p^3 of these in its factor, and the steps an interior point takes. The hinge rows of
# ``python -m benchmarks real`` are where to measure them.
_ENTRY, _PAIR, _PIVOT, _STEPS = 3.0, 0.5, 0.015, 30
_FEWEST, MOST_PASSES = 100, 1000  # below, passes are seldom enough; beyond, the problem is ill-conditioned
# The intercept's weight beside a row's squared length: 1 makes every row wait for all others, 0.001 makes the sum of the
# multipliers slow to settle; between 0.01 and 0.1 little changes (hinge on news20_pcmac, movie_reviews, phishing).
_COUPLING = 0.03
_PASSES_COUNTED = 20  # passes that count as one step beside working sets and Newton steps


def passes_worth(features: Expansion, warm: bool) -> int:
    """The number of passes that cost as much as solving otherwise; 0 where that is too few, and for dense features.

    From a ``warm`` start few passes do.
    """
    if not features.is_sparse or features.n_stored == 0:
        return 0
    n, p = features.shape
    entries = features.n_stored
    other = _STEPS * (_PAIR * entries * entries / n + _PIVOT * float(min(n, p)) ** 3)
    passes = int(min(other / (_ENTRY * entries), MOST_PASSES))
    if warm:
        return max(passes, _FEWEST)
    return passes if passes >= _FEWEST else 0


def dual_descent(
    features: Expansion, box: BoxQP, *, start: Array | None, tol: float, max_passes: int
) -> tuple[BoxSolution, Array]:
    """The point reached within ``max_passes``, certified, and its weights."""
    X = features.rows()
    u = feasible_start(start, box)
    w = np.ascontiguousarray(features.transpose(u))
    dual = np.zeros(2)
    if box.intercept:
        known = 0.0 if start is None else _best_intercept(box.q - features.apply(w), box)
        dual[:] = known, _COUPLING * float(features.squared_norms().sum()) / features.shape[0]
    entries = np.ascontiguousarray(X.data, dtype=np.float64)
    passes, left = descend_rows(X.indptr, X.indices, entries, box.q, box.lo, box.hi, np.zeros_like(u), u, w, dual, tol, max_passes)
    u = feasible_start(u, box)
    w = features.transpose(u)
    G = features.apply(w) - box.q
    b = _best_intercept(-G, box) if box.intercept else 0.0
    found = box_report(box, Iterate(u, G, 1 + passes // _PASSES_COUNTED), tol, intercept=b)
    return replace(found, converged=left <= tol), w


def _best_intercept(r: Array, box: BoxQP) -> float:
    """The minimum over b of ``sum max{v (r - b) : lo <= v <= hi}``: the slope grows by ``hi - lo`` at each ``r``."""
    order = np.argsort(r)
    slope = np.cumsum((box.hi - box.lo)[order]) - box.hi.sum()
    return float(r[order[min(int(np.searchsorted(slope, 0.0)), len(r) - 1)]])
