"""Bounds of robust losses in the dual: weighted squared hinges with large kernels or sparse features of many columns.

From round to round only the weights change, by little, and rows given up leave. So each round is a few working sets, or
a few passes, from the last multipliers; kernels keep one store of rows for the whole fit: memory is bounded, whatever
the number of rows. The certificate is that of :mod:`softmargin.solvers.svm.squared_hinge`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.svm.squared_hinge import (
    DualPoint,
    KernelDual,
    SparseDual,
    SquaredHingeDual,
    is_squared_hinge,
    lacks_factor,
    minimise_dual,
)
from softmargin.solvers.thresholds import FEW_ROWS

__all__ = ["DualSolver", "accepts_dual"]

Array = NDArray[np.floating[Any]]

# Rows from which working sets are taken instead of a factor of the whole matrix, which grows with the cube where they
# grow with the square: from 1500 rows on they take a half to a quarter of the time (adult, phoneme, letter and clouds;
# ``python -m benchmarks thresholds`` times both ways), and up to here scores are settled to the last digits.
_MANY = FEW_ROWS
# At large costs of rows pair steps crawl where a factor does not care (phoneme, 1200 rows: 3.2 s and .13 s at 1e6,
# .13 s and .1 s at 1e2; 3500 rows of a cloud at 2e3: 26 s without an end and 7 s): fewer than this have one instead.
_FACTORED, _DEAR = 5000, 1e3
_ROUGH = 1e-2  # gap to which the first bound, which trusts every row, is solved: the next ones correct it
_SINGLE = 1e-5  # a tolerance that rounding kernel rows to single precision (1e-7 of the objective) does not touch


def accepts_dual(problem: Problem) -> bool:
    """Whether a bound is of this kind, and large enough."""
    expansion = problem.expansion
    if not is_squared_hinge(problem):
        return False
    if not expansion.is_kernel:
        return lacks_factor(expansion)
    n = expansion.shape[0]
    if n <= _MANY or n > _FACTORED:
        return n > _MANY
    return float(problem.weights.max() * np.mean(expansion.diagonal())) <= _DEAR


class DualSolver:
    """An inner solver that moves multipliers: their scores and the intercept are all a bound needs to know."""

    has_newton_steps = False

    def __init__(self, problem: Problem, tol: float) -> None:
        expansion = problem.expansion
        self.work = 0.0
        self.features = None if expansion.is_kernel else expansion
        self._dual: SquaredHingeDual
        if expansion.is_kernel:
            self._dual = KernelDual(expansion, np.float32 if tol >= _SINGLE else np.float64)
        else:
            self._dual = SparseDual(expansion)
        self.reset(problem)

    @property
    def margins(self) -> Array:
        return self._at.margins

    @property
    def coef(self) -> Array:
        u = self._at.solution.coef
        return u if self.features is None else self.features.transpose(u)

    @property
    def penalty(self) -> float:
        return self._at.half_norm

    def reset(self, problem: Problem) -> None:
        zero: Array = np.zeros(len(problem.y))
        nothing = Solution(zero, 0.0, zero, np.inf, np.inf, 0, False)
        self._at = self._last = DualPoint(nothing, problem.margins_of(zero, 0.0), 0.0)

    def subsampled_start(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        return None

    def warm_start(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        self.reset(problem)
        known = None if start is None or start.dual is None else np.array(start.dual, dtype=np.float64)
        u = self._at.solution.coef if known is None else known
        self._at = self._last = minimise_dual(problem, self._dual, u, max(tol, _ROUGH), max_iter)
        return self._at.solution

    def objective(self, problem: Problem) -> float:
        return problem.cost(self.margins) + self.penalty

    def newton_step(self, problem: Problem, objective: float) -> bool:
        return False

    def upward_step(self, problem: Problem, objective: float) -> bool:
        return False

    def undo(self) -> None:
        self._at = self._last

    def minimise(
        self,
        problem: Problem,
        objective: float,
        tol: float,
        max_iter: int,
        verbose: int,
        truth: Problem | None = None,
    ) -> Solution:
        found = minimise_dual(problem, self._dual, self._at.solution.coef, tol, max_iter, objective)
        self._last, self._at = self._at, found
        return found.solution
