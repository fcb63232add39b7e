"""Whether an objective of k scores has no minimum, because coefficients that cost nothing separate some classes.

As for two classes (:mod:`softmargin.solvers.elastic_net.separation`): without a ridge, coefficients of no cost and the
intercepts are held by the losses alone, which fall for ever along a direction ``D`` of theirs with

    (z_i'D)_y - (z_i'D)_m >= 0  for all rows and all other classes m,   and  > 0  for some of them.

At a minimum the shares ``p_im`` of the other classes are positive multipliers that rule it out, so the linear program
over all directions is only asked where some of them have all but vanished.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

__all__ = ["separates_classes"]

Array = NDArray[np.floating[Any]]

_FAINT = 1e-4  # a share of another class whose row may be on its way to infinity
_EXACT, _FORWARD = 1e-12, 1e-6  # a step back that is none, and a step forward that is one, columns being of size one
_MOST = 10**6  # entries of the program, beyond which it would take as long as fits


def separates_classes(Z: Any, codes: NDArray[np.intp], F: Array, free: NDArray[np.bool_], intercept: bool) -> bool:
    """Whether some direction of the free coefficients (p, k), and of free intercepts, is never held back.

    ``F`` are the scores of the rows ``Z`` that count.
    """
    n, k = F.shape
    used = np.flatnonzero(free.any(axis=1))
    width = (len(used) + intercept) * k
    if len(used) == 0 or n * (k - 1) * width > _MOST:
        return False
    away = F[np.arange(n), codes][:, None] - F  # of the own class from each
    other = codes[:, None] != np.arange(k)
    leaving = (away >= -np.log(_FAINT))[other]
    if not leaving.any():
        return False
    columns = np.asarray(Z[:, used].toarray() if sparse.issparse(Z) else Z[:, used], dtype=np.float64)
    size = np.abs(columns).max(axis=0, initial=0.0)
    columns = columns / np.where(size > 0, size, 1.0)
    if intercept:
        columns = np.column_stack([columns, np.ones(n)])
    change = np.zeros((n, k, columns.shape[1], k))  # of the own score beside another, per unit of a coefficient
    rows, classes = np.arange(n)[:, None], np.arange(k)[None, :]
    change[rows, classes, :, codes[:, None]] += columns[:, None, :]
    change[rows, classes, :, classes] -= columns[:, None, :]
    A = change[other].reshape(-1, width)
    reach = np.ones((columns.shape[1], k))
    reach[: len(used)] = free[used]
    sums = np.kron(np.eye(columns.shape[1]), np.ones(k))
    found = linprog(
        -A[leaving].sum(axis=0),
        A_ub=-A,
        b_ub=np.zeros(len(A)),
        A_eq=sums,
        b_eq=np.zeros(len(sums)),
        bounds=np.column_stack([-reach.ravel(), reach.ravel()]),
    )
    if found.x is None:
        return False
    forward = A @ found.x
    return bool(forward.min() >= -_EXACT * len(found.x) and forward[leaving].max() > _FORWARD)
