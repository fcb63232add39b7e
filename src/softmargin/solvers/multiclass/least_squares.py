"""Composite least squares: the choice between class moments and inner products, and the certificate of both.

The objective ``J = sum_i w_i L(F_i, y_i) + 1/2 sum_j |f_j|^2`` is strongly convex in ``f``, so at any point, with the
intercepts at their optimum for it and ``g`` the gradient in the norm of ``f`` without its mean over the classes,

    J - min J <= 1/2 sum_j |g_j|^2.

The bound is taken at the coefficients returned, from the rows and not from the matrices they were solved with, and
divided by ``J``: digits that an ill-conditioned system lost cannot hide.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.losses.multiclass import CompositeLeastSquares
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.multiclass.design import Design
from softmargin.solvers.multiclass.least_squares_kernel import solve_kernel
from softmargin.solvers.multiclass.least_squares_moments import ClassMoments, leave_one_out, solve_moments
from softmargin.solvers.multiclass.least_squares_rows import RowSpace
from softmargin.solvers.multiclass.least_squares_spectrum import Spectrum

__all__ = ["LeastSquaresSystem", "solve_least_squares"]

Array = NDArray[np.floating[Any]]


class LeastSquaresSystem:
    """One training set; its matrices serve every mix and every penalty.

    Inner products of the rows are used where there are no features, more features than rows, or so many classes that
    the class moments would be larger. The weights of the problem are those at ``C = 1``.
    """

    def __init__(self, problem: MulticlassProblem) -> None:
        self.problem = problem
        n, m = problem.expansion.shape
        m += problem.intercept != "none"
        wide = m > n or (problem.n_classes * m * m > 3 * n * n and problem.loss != CompositeLeastSquares(0.5))
        self.design = Design.of(problem, gram=wide)

    @cached_property
    def moments(self) -> ClassMoments:
        """Those of the features."""
        problem = self.problem
        return ClassMoments(self.design.Z, problem.codes, problem.weights, problem.n_classes, problem.intercept)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Rotated features for the whole path at ``mix = 1/2``."""
        problem, design = self.problem, self.design
        if design.K is not None:
            return Spectrum.of_kernel(design.K, problem.weights, problem.intercept)
        total = None if sparse.issparse(design.Z) else self.moments.total
        return Spectrum.of_features(design.Z, problem.weights, problem.intercept, total)

    def left_out(self, rows: NDArray[np.intp], removed: Array) -> Callable[[float, float], Array]:
        """Scores of some rows, each by a fit without it, as a function of mix and ``lam``.

        Few features: by fits to all rows, from the class moments. Otherwise by fits to the given rows alone, of which
        every class must have some. ``removed`` is the weight taken away from each of the rows of the problem.
        """
        problem, design, n = self.problem, self.design, len(rows)
        weight, m = problem.weights, design.shape[1] + 1
        if design.K is None and problem.n_classes * m * m * (m + n) <= n**3:
            moments = self.moments
            return lambda mix, lam: leave_one_out(moments, mix, lam, removed=removed, rows=rows).scores
        Z = None if design.K is not None else design.Z[rows]
        K = np.asarray(design.K[np.ix_(rows, rows)]) if design.K is not None else _inner_products(Z)
        if problem.intercept == "penalized":
            K = K + 1
        if problem.intercept == "free":
            mean = K @ (weight[rows] / weight[rows].sum())
            K = K - mean - (mean - weight[rows] @ mean / weight[rows].sum())[:, None]
        free = problem.intercept == "free"
        space = RowSpace(K, problem.codes[rows], weight[rows], n_classes=problem.n_classes, free=free)
        return partial(space.left_out, removed=removed[rows] / weight[rows])

    def solve(self, mix: float, C: float, tol: float) -> Solution:
        """The fit at one mix and one ``C``, certified."""
        problem, design = self.problem, self.design
        lam = 1 / (2 * C)
        if design.K is None:
            coef, b = solve_moments(self.moments, mix, lam)
        else:
            coef, b = solve_kernel(design.K, problem, mix, lam)
        b, objective, bound = self._certify(coef, b, mix, C)
        gap = bound / objective if objective > 0 else bound
        if not np.isfinite(gap) or not np.all(np.isfinite(coef)):
            raise ValueError(
                f"the normal equations of composite least squares are singular to working precision at C={C:g}: "
                "lower C, or scale the features (StandardScaler)."
            )
        dual = coef if design.K is not None and design.Z is not None else None
        coef, b = design.original(coef, b)
        return Solution(coef, b, dual, objective, gap, 1, gap <= tol, certificate="suboptimality bound")

    def _certify(self, coef: Array, b: Array, mix: float, C: float) -> tuple[Array, float, float]:
        """The best intercepts for the coefficients, the objective there, and the bound on what is left."""
        problem, design, loss = self.problem, self.design, CompositeLeastSquares(mix)
        plain = np.asarray((design.Z if design.K is None else design.K) @ coef)
        error, share = loss.errors(plain + b, problem.codes)
        weight = share * (C * problem.weights)[:, None]
        if problem.intercept == "free":
            mass, total = weight.sum(axis=0), np.einsum("ij,ij->j", weight, error)
            move = (np.sum(total / mass) / np.sum(1 / mass) - total) / mass
            b, error = b + move, error + move
        slope = 2 * weight * error
        cost = 0.5 * float(np.vdot(slope, error))
        slope -= slope.mean(axis=1, keepdims=True)
        penalized = problem.intercept == "penalized"
        if design.K is None:
            g = np.asarray(design.Z.T @ slope) + coef
            square, bound = float(np.sum(coef**2)), float(np.sum(g**2))
        else:
            g = slope + coef
            square, bound = float(np.sum(coef * plain)), float(np.sum(g * (design.K @ g)))
        if penalized:
            edge = slope.sum(axis=0) + b
            square, bound = square + float(b @ b), bound + float(edge @ edge)
        return b, cost + 0.5 * square, 0.5 * max(bound, 0.0)


def _inner_products(Z: Any) -> Array:
    return np.asarray((Z @ Z.T).toarray() if sparse.issparse(Z) else Z @ Z.T, dtype=np.float64)


def solve_least_squares(problem: MulticlassProblem, start: Solution | None, tol: float, max_iter: int) -> Solution:
    """Fit in closed form; starts and iterations are not needed."""
    assert isinstance(problem.loss, CompositeLeastSquares)
    return LeastSquaresSystem(problem).solve(problem.loss.mix, 1.0, tol)
