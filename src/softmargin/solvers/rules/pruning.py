"""Pruning boosted rules: refit their coefficients with an absolute-value penalty, so that some become exactly zero.

    minimise over (a, b):  sum_i c_i psi(y_i (b + sum_t a_t h_t(x_i))) + l1 sum_t |a_t|

is problem (P) with weights ``c / l1`` and the lasso penalty, for the engine that solves every other one.
"""

from __future__ import annotations

from collections.abc import Sequence

from softmargin.expansions import RuleColumns
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.rules.leveraging import WeightedRisk
from softmargin.solvers.solve import solve

__all__ = ["prune"]


def prune(
    columns: RuleColumns, risks: Sequence[WeightedRisk], l1: float, *, fit_intercept: bool, tol: float
) -> list[Solution]:
    """The penalised fit of every channel."""
    lasso = ElasticNet(l1_ratio=1.0)
    return [
        solve(Problem(risk.loss, columns, risk.y, risk.weights / l1, lasso, fit_intercept=fit_intercept), tol=tol)
        for risk in risks
    ]
