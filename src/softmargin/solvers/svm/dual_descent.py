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
from softmargin.solvers.svm.box_problem import best_intercept
from softmargin.solvers.svm.box_qp import SNAP, BoxQP, BoxSolution, Iterate, box_report, feasible_start

__all__ = ["MOST_PASSES", "PASSES_COUNTED", "descend", "dual_descent", "is_cheap_to_finish", "passes_worth"]

Array = NDArray[np.floating[Any]]

# Nanoseconds, estimated from single fits of w8a, news20, hiva, phishing and a9a: an entry in a pass, a pair of entries
# of one row in a Hessian, p^3 of these in its factor, and the steps an interior point takes. The hinge rows of
# ``python -m benchmarks real`` are where to measure them.
_ENTRY, _PAIR, _PIVOT, _STEPS = 3.0, 0.5, 0.015, 30
_EQUATION = 0.115  # the cube of the number of free multipliers times this solves their equations
_FEWEST, MOST_PASSES = 100, 1000  # below, passes are seldom enough; beyond, the problem is ill-conditioned
# The intercept's weight beside a row's squared length: 1 makes every row wait for all others, 0.001 makes the sum of
# the multipliers slow to settle; from 0.01 to 0.1 little changes (the hinge rows of news20_pcmac, movie_reviews and
# phishing in ``python -m benchmarks real``).
_COUPLING = 0.03
PASSES_COUNTED = 20  # passes that count as one step beside working sets and Newton steps


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


def is_cheap_to_finish(features: Expansion, box: BoxQP, u: Array) -> bool:
    """Whether the equations of the free multipliers, and their inner products, cost less than a hundred passes."""
    room = SNAP * np.minimum(box.hi - box.lo, 1 + np.abs(u))
    free = np.count_nonzero((u > box.lo + room) & (u < box.hi - room))
    in_column = np.bincount(features.rows().indices).astype(np.float64)
    products = float(in_column @ in_column) * (free / len(u)) ** 2
    return bool(_EQUATION * float(free) ** 3 + _ENTRY * products <= _FEWEST * _ENTRY * features.n_stored)


def dual_descent(
    features: Expansion, box: BoxQP, *, start: Array | None, tol: float, max_passes: int
) -> tuple[BoxSolution, Array]:
    """The point reached within ``max_passes``, certified, and its weights."""
    u, left, passes = descend(features, box, np.zeros_like(box.q), start, tol, max_passes)
    w = features.transpose(u)
    G = features.apply(w) - box.q
    b = best_intercept(-G, box.lo, box.hi) if box.intercept else 0.0
    found = box_report(box, Iterate(u, G, 1 + passes // PASSES_COUNTED), tol, intercept=b)
    return replace(found, converged=left <= tol, violation=max(left, 0.0)), w


def descend(
    features: Expansion, box: BoxQP, diagonal: Array, start: Array | None, tol: float, max_passes: int
) -> tuple[Array, float, int]:
    """Multipliers of ``XX' + D`` in the box that sum to zero, the violation before their sum was mended, the passes."""
    X = features.rows()
    u = feasible_start(start, box)
    w = np.ascontiguousarray(features.transpose(u))
    dual = np.zeros(2)
    if box.intercept:
        residual = box.q - features.apply(w) - diagonal * u
        coupling = _COUPLING * float(features.squared_norms().sum()) / features.shape[0]
        dual[:] = 0.0 if start is None else _middle(residual, u, box), coupling
    entries = np.ascontiguousarray(X.data, dtype=np.float64)
    passes, left = descend_rows(
        X.indptr, X.indices, entries, box.q, box.lo, box.hi, diagonal, u, w, dual, tol, max_passes
    )
    return feasible_start(u, box), left, passes


def _middle(residual: Array, u: Array, box: BoxQP) -> float:
    """The intercept that the free multipliers of a start suggest."""
    free = (u > box.lo) & (u < box.hi)
    return float(np.median(residual[free])) if free.any() else 0.0
