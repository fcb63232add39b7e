"""Composite least squares by passes: class moments are sums over the rows, so the closed form needs no row in memory.

The loss is a sum over the classes, and each of its parts looks at one score: two passes per class do, one for the Gram
matrix and the sum of the class, one for the certificate at the coefficients found
(:mod:`softmargin.solvers.multiclass.least_squares`), which is measured over all rows again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Response, Totals
from softmargin.losses.multiclass import CompositeLeastSquares
from softmargin.solution import Solution
from softmargin.solvers.multiclass.least_squares_moments import ClassMoments, solve_moments

__all__ = ["solve_least_squares_by_passes"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class OwnRows:
    """The term of the moments of one class: its rows with their weights, and nothing else."""

    own: int

    def __call__(self, scores: Array, codes: NDArray[np.intp], weights: Array) -> Response:
        return Response(np.zeros(len(scores)), curvature=np.where(codes == self.own, weights, 0.0))


@dataclass(frozen=True)
class ScoreTerm:
    """The part of the loss that looks at the score of one class."""

    own: int
    n_classes: int
    mix: float
    intercept: float

    def __call__(self, scores: Array, codes: NDArray[np.intp], weights: Array) -> Response:
        own = codes == self.own
        share = weights * np.where(own, self.mix, 1 - self.mix)
        error = scores + self.intercept - np.where(own, self.n_classes - 1.0, -1.0)
        return Response(2 * share * error, float(share @ error**2), 2 * share)


class SummedMoments(ClassMoments):
    """Class moments that were added up elsewhere, of the features ``[1, Z]`` as they are."""

    def __init__(self, totals: list[Totals], intercept: str) -> None:
        self.k, self.has_intercept, self.free = len(totals), intercept != "none", intercept == "free"
        self.counts = np.array([one.mass for one in totals])
        borders = np.array([one.border for one in totals])
        self.center = np.zeros(borders.shape[1])
        self.sums = np.column_stack([self.counts, borders]) if self.has_intercept else borders
        self.m = self.sums.shape[1]
        self.penalized = np.ones(self.m)
        if self.free:
            self.penalized[0] = 0
        self._grams = np.stack([self._bordered(one) for one in totals])

    def _bordered(self, one: Totals) -> Array:
        assert one.hessian is not None
        assert one.border is not None
        if not self.has_intercept:
            return one.hessian
        return np.block([[np.array([[one.mass]]), one.border[None, :]], [one.border[:, None], one.hessian]])

    @property
    def total(self) -> Array:
        """``sum_j S_j``."""
        return np.asarray(self._grams.sum(axis=0))

    @property
    def _stored(self) -> Array:
        return self._grams

    def gram(self, j: int) -> Array:
        """``S_j``."""
        return np.asarray(self._grams[j])


def solve_least_squares_by_passes(problem: Any, start: Solution | None, tol: float, max_iter: int) -> Solution:
    """Fit in closed form from sums over the rows; starts and iterations are not needed."""
    assert isinstance(problem.loss, CompositeLeastSquares)
    mix, k, vectors = problem.loss.mix, problem.n_classes, (problem.codes, problem.weights)
    zero = np.zeros(problem.expansion.shape[1])
    sums = [problem.expansion.sweep(zero, OwnRows(j), vectors) for j in range(k)]
    coef, b = solve_moments(SummedMoments(sums, problem.intercept), mix, 0.5)
    totals = [problem.expansion.sweep(coef[:, j], ScoreTerm(j, k, mix, float(b[j])), vectors) for j in range(k)]
    cost = sum(one.cost for one in totals)
    gradient = np.column_stack([one.gradient for one in totals])
    total, mass = np.array([one.total for one in totals]), np.array([one.mass for one in totals])
    if problem.intercept == "free":  # the intercepts at their best for these coefficients, under their sum
        shift = (np.sum(total / mass) / np.sum(1 / mass) - total) / mass
        cost += float(total @ shift + 0.5 * mass @ shift**2)
        gradient += np.array([one.border for one in totals]).T * shift
        b, total = b + shift, total + mass * shift
    gradient -= gradient.mean(axis=1, keepdims=True)
    square, bound = float(np.sum(coef**2)), float(np.sum((gradient + coef) ** 2))
    if problem.intercept == "penalized":
        edge = total - total.mean() + b
        square, bound = square + float(b @ b), bound + float(edge @ edge)
    objective = float(cost) + 0.5 * square
    gap = 0.5 * bound / objective if objective > 0 else 0.5 * bound
    return Solution(coef, b, None, objective, gap, 1, gap <= tol, certificate="suboptimality bound")
