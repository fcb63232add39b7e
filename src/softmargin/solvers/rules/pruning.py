"""Pruning boosted rules: refit their coefficients with an absolute-value penalty, so that some become exactly zero.

    minimise over (a, b):  sum_i c_i psi(y_i (b + sum_t a_t h_t(x_i))) + l1 sum_t |a_t|

is problem (P) with weights ``c / l1`` and the lasso penalty, for the engine that solves every other one. The +-1
columns are handed over as dense features (8 bytes per row and rule, for the time of the refit).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import DenseFeatures, RuleColumns
from softmargin.losses import Loss
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.solve import solve

__all__ = ["prune"]

Array = NDArray[np.floating[Any]]


def prune(
    columns: RuleColumns, loss: Loss, y: Array, weights: Array, l1: float, *, fit_intercept: bool, tol: float
) -> list[Solution]:
    """The penalised fit of every channel of ``y`` (channels, rows)."""
    dense = np.empty(columns.shape, order="F")
    for t in range(columns.shape[1]):
        dense[:, t] = columns.column(t)
    features = DenseFeatures(dense)
    lasso = ElasticNet(l1_ratio=1.0)
    return [
        solve(Problem(loss, features, labels, weights / l1, lasso, fit_intercept=fit_intercept), tol=tol)
        for labels in y
    ]
