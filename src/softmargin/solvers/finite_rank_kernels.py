"""Kernels with few dimensions are features: a polynomial of three features has twenty, however many rows there are.

With ``K = ZZ'``, by a Cholesky factorisation with pivots, ``f = K beta`` is ``Z gamma`` for ``gamma = Z'beta``, and the
penalties ``beta'K beta`` and ``|gamma|^2`` are one. So the problem is solved with the columns of ``Z``, and passes over
them take milliseconds where a matrix of all pairs of rows takes the cube of their number. The way back is triangular,
as the rows of ``Z`` at the pivots are: coefficients at these rows alone make the same score.

Objective and gap are measured anew with the kernel, so that the rounding of huge similarities shows in them. Where the
features themselves were not fitted, the engine is given the kernel as it is, and the better of the two counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from softmargin.expansions import DenseFeatures, KernelColumns
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.linalg import pivoted_cholesky

__all__ = ["ROUNDED", "FiniteRankKernel"]

Array = NDArray[np.floating[Any]]

_FEWEST_ROWS = 300  # up to here a matrix of all pairs takes no longer (phoneme, magic, letter, adult, spambase)
_MOST_COLUMNS = 400  # a factor of so many, over a thousand rows and more, takes as long as one Newton step of them
_ROWS_PER_COLUMN = 4
_EPS, _SINGLE = float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps)
ROUNDED = 1e-6  # a gap at which features count as fitted, whatever the tolerance


@dataclass(frozen=True)
class FiniteRankKernel:
    """A problem on the features of its kernel, and the way back."""

    problem: Problem
    reduced: Problem
    pivots: NDArray[np.intp]

    @classmethod
    def of(cls, problem: Any) -> FiniteRankKernel | None:
        """The problem on features, where there are few of them and many rows."""
        expansion, penalty = problem.expansion, problem.penalty
        if not isinstance(expansion, KernelColumns) or len(problem.y) <= _FEWEST_ROWS:
            return None
        few = expansion.rank <= min(_MOST_COLUMNS, len(problem.y) / _ROWS_PER_COLUMN)
        if not few or penalty.l1_ratio > 0 or penalty.positive:
            return None
        return cls._of(problem, _EPS)

    @classmethod
    def beyond_rounding(cls, problem: Any) -> FiniteRankKernel | None:
        """The same for what rounding hides: large similarities of few dimensions, however few the rows are.

        So are those of a matrix given by a user, whose numbers may have been made in single precision: it may then be
        semidefinite up to that rounding alone.
        """
        expansion, penalty = problem.expansion, problem.penalty
        if not isinstance(expansion, KernelColumns) or penalty.l1_ratio > 0 or penalty.positive:
            return None
        if expansion.kernel.is_own:
            return cls._of(problem, _SINGLE)
        return cls._of(problem, _EPS) if expansion.rank < len(problem.y) else None

    @classmethod
    def _of(cls, problem: Any, precision: float) -> FiniteRankKernel | None:
        fetch, diagonal = problem.expansion.outer_rows(np.float64), problem.expansion.diagonal()
        found = pivoted_cholesky(lambda at: fetch(np.array([at]))[0], diagonal, _MOST_COLUMNS, precision)
        if found is None or len(found[1]) == 0:
            return None
        return cls(problem, replace(problem, expansion=DenseFeatures(found[0])), found[1])

    def forth(self, solution: Solution | None) -> Solution | None:
        """A solution in terms of the features."""
        if solution is None:
            return None
        return replace(
            solution, coef=self.reduced.expansion.transpose(solution.coef), base=self.forth(solution.base), margins=None
        )

    def back(self, solution: Solution) -> Solution:
        """A solution in terms of the kernel, measured there."""
        moved = self._moved(solution)
        at = moved.coef[self.pivots]
        rows = self.problem.expansion.outer_rows(np.float64)(self.pivots)
        scores = at @ rows
        margins = self.problem.margins_of(scores, moved.intercept)
        penalty = self.problem.penalty.value(moved.coef, float(at @ scores[self.pivots]))
        objective = self.problem.cost(margins) + penalty
        scale = max(abs(objective), abs(solution.objective), np.finfo(np.float64).tiny)
        gap = moved.gap + abs(objective - solution.objective) / scale
        return replace(moved, objective=objective, gap=gap if np.isfinite(gap) else np.inf, margins=margins)

    def _moved(self, solution: Solution) -> Solution:
        coef, triangle = np.zeros(len(self.problem.y)), self.reduced.expansion.rows(slice(None))[self.pivots]
        coef[self.pivots] = solve_triangular(triangle, solution.coef, lower=True, trans=1, check_finite=False)
        return replace(solution, coef=coef, base=None if solution.base is None else self._moved(solution.base))
