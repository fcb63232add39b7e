"""Stiff machines of few rows: a factor of a kernel matrix makes it features, and features have an interior point.

Pair steps crawl where the bounds allow scores far larger than those of the optimum: a linear kernel of columns in the
thousands, a polynomial one, features whose rows nearly all end at their corner. Whether they will is not known
beforehand, so they are given as much time as the other route takes: ``K = ZZ'`` by a Cholesky factorisation with pivots
(of as many columns as K has rank; features as they are where they have fewer columns than rows), some twenty steps of
``interior_point`` on the rows of Z, and the box QP's own finish on K itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from softmargin.expansions import DenseFeatures, Expansion
from softmargin.solvers.svm.box_qp import BoxQP, BoxSolution, Iterate, finish_box_qp
from softmargin.solvers.svm.interior_point import interior_point
from softmargin.solvers.svm.kernel_rows import GramRows
from softmargin.solvers.svm.linear import settle

__all__ = ["as_features", "patience", "solve_factored"]

Array = NDArray[np.floating[Any]]

# A working set counts 2000 pair steps of a nanosecond per row; an interior point takes some three milliseconds and some
# twenty products of the columns (200 to 1000 rows of 10 to 1000 columns; ``python -m benchmarks growth``).
_ROWS_OF_A_SET, _COLUMNS_SQUARED_PER_SET = 1500, 6000
_STEPS = 100
_FINISH = 50  # working sets that the finish may take


def patience(n: int, columns: int) -> int:
    """Working sets that take as long as an interior point on so many rows and columns."""
    return 1 + _ROWS_OF_A_SET // n + columns * columns // _COLUMNS_SQUARED_PER_SET


def as_features(K: Array) -> DenseFeatures:
    """Features whose inner products are ``K``, one for each direction it has."""
    c, pivots, rank, _ = dpstrf(K.T, lower=1)
    Z = np.zeros((len(K), rank))
    Z[pivots - 1] = np.tril(c)[:, :rank]
    return DenseFeatures(Z)


def solve_factored(rows: GramRows, features: Expansion, box: BoxQP, tol: float) -> BoxSolution | None:
    """The box QP by an interior point on the features; None where the box has no interior."""
    if not (np.all(box.lo < box.hi) and box.lo.sum() < box.total < box.hi.sum()):
        return None
    p = features.shape[1]
    point = interior_point(features, box, w0=np.zeros(p), tol=min(tol, 1e-6) / 10, max_iter=_STEPS)
    u = point.u.copy()
    settle(u, box.q - features.apply(point.w) - point.intercept, box)
    return finish_box_qp(rows, box, Iterate(u, None, point.n_iter), tol=tol, max_iter=point.n_iter + _FINISH)
