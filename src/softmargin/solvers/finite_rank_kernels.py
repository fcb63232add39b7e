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
from softmargin.problem import MulticlassProblem, Problem
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

    problem: Any
    reduced: Any
    pivots: NDArray[np.intp]

    @classmethod
    def of(cls, problem: Any) -> FiniteRankKernel | None:
        """The problem on features, where there are few of them and many rows."""
        expansion, n = problem.expansion, problem.expansion.shape[0]
        if not isinstance(expansion, KernelColumns) or n <= _FEWEST_ROWS:
            return None
        few = expansion.rank <= min(_MOST_COLUMNS, n / _ROWS_PER_COLUMN)
        return cls._of(problem, _EPS) if few and _has_ridge_alone(problem) else None

    @classmethod
    def beyond_rounding(cls, problem: Any) -> FiniteRankKernel | None:
        """The same for what rounding hides: large similarities of few dimensions, however few the rows are.

        So are those of a matrix given by a user, whose numbers may have been made in single precision: it may then be
        semidefinite up to that rounding alone.
        """
        expansion = problem.expansion
        if not isinstance(expansion, KernelColumns) or not _has_ridge_alone(problem):
            return None
        if expansion.kernel.is_own:
            return cls._of(problem, _SINGLE)
        return cls._of(problem, _EPS) if expansion.rank < expansion.shape[0] else None

    @classmethod
    def _of(cls, problem: Any, precision: float) -> FiniteRankKernel | None:
        fetch, diagonal = problem.expansion.outer_rows(np.float64), problem.expansion.diagonal()
        found = pivoted_cholesky(lambda at: fetch(np.array([at]))[0], diagonal, _MOST_COLUMNS, precision)
        if found is None or len(found[1]) == 0:
            return None
        return cls(problem, replace(problem, expansion=DenseFeatures(found[0])), found[1])

    def weighing(self, positive: float, negative: float) -> FiniteRankKernel:
        """The same with other weights on the rows of label +1 and -1."""
        problem, reduced = (one.weighing(positive, negative) for one in (self.problem, self.reduced))
        return replace(self, problem=problem, reduced=reduced)

    def forth(self, solution: Solution | None) -> Solution | None:
        """A solution in terms of the features."""
        if solution is None:
            return None
        coef = np.asarray(self._features.T @ solution.coef)
        return replace(solution, coef=coef, base=self.forth(solution.base), margins=None)

    def back(self, solution: Solution) -> Solution:
        """A solution in terms of the kernel, measured there."""
        moved = self._moved(solution)
        at = moved.coef[self.pivots]
        rows = self.problem.expansion.outer_rows(np.float64)(self.pivots)
        scores = rows.T @ at
        square = float(np.sum(at * scores[self.pivots]))
        if isinstance(self.problem, MulticlassProblem):
            margins, objective = None, solution.objective + self._excess(solution, scores, square)
        else:
            margins = self.problem.margins_of(scores, moved.intercept)
            objective = self.problem.cost(margins) + self.problem.penalty.value(moved.coef, square)
        scale = max(abs(objective), abs(solution.objective), np.finfo(np.float64).tiny)
        gap = moved.gap + abs(objective - solution.objective) / scale
        return replace(moved, objective=objective, gap=gap if np.isfinite(gap) else np.inf, margins=margins)

    @property
    def _features(self) -> Array:
        return np.asarray(self.reduced.expansion.rows(slice(None)))

    def _excess(self, solution: Solution, scores: Array, square: float) -> float:
        """What k scores and their square norms cost more by the kernel than by the features."""
        problem: MulticlassProblem = self.problem
        own = self._features @ solution.coef
        dearer = [problem.loss.value(F + solution.intercept, problem.codes) for F in (scores, own)]
        return float(problem.weights @ (dearer[0] - dearer[1])) + 0.5 * (square - float(np.sum(solution.coef**2)))

    def _moved(self, solution: Solution) -> Solution:
        features = self._features
        coef = np.zeros((len(features), *solution.coef.shape[1:]))
        triangle = features[self.pivots]
        coef[self.pivots] = solve_triangular(triangle, solution.coef, lower=True, trans=1, check_finite=False)
        return replace(solution, coef=coef, base=None if solution.base is None else self._moved(solution.base))


def _has_ridge_alone(problem: Problem | MulticlassProblem) -> bool:
    """Whether the norm of functions is all that is penalised: signs and l1 costs are those of kernel columns."""
    if isinstance(problem, MulticlassProblem):
        return problem.penalty is None
    return not (problem.penalty.l1_ratio > 0 or problem.penalty.positive)
