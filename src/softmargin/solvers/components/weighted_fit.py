"""A kernel fit at given weights of the components of an additive kernel, and what it says of them.

In the notation of :mod:`softmargin.solvers.components.selection`: the squares ``q_j``, the duality gap of (S), and the
Newton step of the weights.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from softmargin.expansions import AdditiveColumns
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.components.nearby_start import NearbyScore
from softmargin.solvers.linalg import add_to_diagonal, shifted_cholesky
from softmargin.solvers.solve import solve

__all__ = ["WeightedFit"]

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]

_TINY, _EPS = 1e-300, float(np.finfo(np.float64).eps)
_TRUSTED = 1e-4  # the gap of a fit whose coefficients and dual point agree on the norms of its components
_NOISE = 1e-11  # relative changes of the objective that the kernel fits explain
_NEGLIGIBLE = 1e-10  # weights below this share of the largest are rounding of the least-squares problem
_VANISHED = 1e-8  # a square below which a component has no slope of its own, and its weight no use
_SMALLEST = 200  # components of a working set, or twice those in use


@dataclass(frozen=True)
class WeightedFit:
    """A kernel fit at given weights and what it says of the components that move; the weights of others are zero."""

    columns: AdditiveColumns
    moving: Indices
    weights: Array
    problem: Problem
    solution: Solution
    margins: Array
    known_gap: float = 0.0  # of all components, where they were asked last

    @classmethod
    def at(
        cls,
        weights: Array,
        problem: Problem,
        columns: AdditiveColumns,
        moving: Indices,
        near: NearbyScore | None,
        tol: float,
    ) -> WeightedFit:
        """The fit at weights, from a function if there is one."""
        problem = replace(problem, expansion=columns.weighted(weights))
        return cls._of(columns, moving, weights, problem, _solved(problem, near or NearbyScore.zero(problem), tol))

    @classmethod
    def _of(
        cls, columns: AdditiveColumns, moving: Indices, weights: Array, problem: Problem, solution: Solution
    ) -> WeightedFit:
        return cls(columns, moving, weights, problem, solution, problem.margins(solution.coef, solution.intercept))

    def reweighted(self, weights: Array, tol: float) -> WeightedFit:
        """The fit at other weights of what moves, from the functions of this one."""
        problem = replace(self.problem, expansion=self.columns.weighted(weights))
        near = self._under(weights) if self.solution.gap <= _TRUSTED else NearbyScore.zero(problem)
        solution = _solved(problem, near, self._resolved(tol))
        return replace(self._of(self.columns, self.moving, weights, problem, solution), known_gap=self.known_gap)

    def rebounded(self, problem: Problem, moving: Indices, tol: float) -> WeightedFit:
        """The fit at the same weights under another bound, from the functions of this one."""
        problem = replace(problem, expansion=self.columns.weighted(self.weights))
        scores = self.problem.y * self.margins - self.solution.intercept
        near = NearbyScore(scores, float(self.solution.intercept), float(self.solution.coef @ scores))
        solution = _solved(problem, near, self._resolved(tol))
        return self._of(self.columns, moving, self.weights, problem, solution)

    def _resolved(self, tol: float) -> float:
        """A gap asked for, or what rounding of similarities leaves of one: steps towards less have no end."""
        return max(tol, self.rounding / max(abs(self.smoothed), _TINY))

    def _under(self, weights: Array) -> NearbyScore:
        """The score of this fit as one of a kernel of other weights, without the components that are not in that."""
        scores, lost = self.problem.y * self.margins - self.solution.intercept, np.zeros(len(self.moving))
        kept = weights[self.moving] > 0
        lost[~kept] = self.weights[self.moving[~kept]]
        norms = self.norms[self.moving[kept]]
        return NearbyScore(
            scores - self.images @ lost if lost.any() else scores,
            float(self.solution.intercept),
            float(norms @ (norms / weights[self.moving[kept]])),
        )

    def seen_from(self, columns: AdditiveColumns) -> NearbyScore:
        """The score of this fit at other rows, as one of their kernel of the same weights."""
        scores = self.problem.expansion.scorer(self.solution.coef)(columns.X.astype(np.float64, copy=False))
        return NearbyScore(scores, float(self.solution.intercept), float(self.norms[self.weights > 0].sum()))

    @cached_property
    def beta(self) -> Array:
        """The dual point, which is the coefficients; known also where all weights are zero.

        That of the fit has more digits than the slopes at its margins, which are sums of large terms.
        """
        if self.solution.dual is not None:
            return np.asarray(self.solution.dual)
        return -self.problem.y * self.problem.evaluate(self.margins).slope

    @cached_property
    def images(self) -> Array:
        """``K_j beta`` of the components that move."""
        return self.columns.images(self.beta, self.moving)

    @cached_property
    def squares(self) -> Array:
        """``q_j`` of the components that move."""
        return np.maximum(self.beta @ self.images, 0.0)

    @cached_property
    def all_squares(self) -> Array:
        """``q_j`` of every component."""
        if len(self.moving) == len(self.weights):
            return self.squares
        return self.columns.squares(self.beta)

    @property
    def smoothed(self) -> float:
        """``g(theta) + sum theta / 2``."""
        return self.solution.objective + 0.5 * float(self.weights.sum())

    @cached_property
    def noise(self) -> float:
        """Changes of the objective that are what the kernel fit left, or the rounding of its scores."""
        return max(max(_NOISE, self.solution.gap) * abs(self.smoothed), self.rounding)

    @cached_property
    def rounding(self) -> float:
        """What rounding of similarities makes of the objective."""
        return _EPS * float(np.square(self.beta) @ self.problem.expansion.diagonal())

    @cached_property
    def norms(self) -> Array:
        """``|f_j|`` of the functions that the coefficients make, which the dual point is near."""
        norms, apart = np.zeros_like(self.weights), self.solution.coef - self.beta
        norms[self.moving] = self.weights[self.moving] * np.sqrt(
            np.maximum(self.squares + 2 * apart @ self.images, 0.0)
        )
        return norms

    @property
    def objective(self) -> float:
        """That of (S)."""
        return self.problem.cost(self.margins) + float(self.norms.sum())

    def gap(self) -> float:
        """The relative duality gap of (S); for tilted losses, which may have no floor, how far its conditions fail."""
        return self._gap(self.all_squares)

    def gap_of_moving(self) -> float:
        """That of (S) without the components that do not move."""
        return self._gap(self.squares)

    def _gap(self, squares: Array) -> float:
        largest, scale = float(np.sqrt(squares.max(initial=0.0))), max(abs(self.objective), _TINY)
        if self.problem.tilt is not None:
            return max(largest - 1, 0.0) + (self.smoothed - self.objective) / scale + self.solution.gap
        s = 1 / max(1.0, largest)
        whole = self.problem.cost(self.margins) + float(self.weights[self.moving] @ self.squares)
        bound = s * whole + (1 - s) * (self.problem.floor + self.problem.constant)
        return max(self.objective - bound, 0.0) / scale + self.solution.gap

    def newton_weights(self, *, plain: bool = False) -> Array:
        """The minimiser over ``theta >= 0`` of the model of ``g`` here, with the slopes that make up for its poles.

        ``plain`` takes the slopes as they are: a parabola is the better model where components are on their way out.
        """
        q, H = self.squares, self._hessian()
        slope = 0.5 * (1 - q) if plain else np.maximum(q, _VANISHED) * (1 - np.sqrt(q))
        ridge = 1e-12 * max(float(np.trace(H)), _TINY) / max(len(H), 1)
        add_to_diagonal(H, ridge)
        right = H @ self.weights[self.moving] - slope
        L = shifted_cholesky(H).triangle()
        target = linalg.solve_triangular(L, right, lower=True, check_finite=False)
        found, _ = nnls(L.T, target, maxiter=100 * len(target))
        weights = np.zeros_like(self.weights)
        weights[self.moving] = np.where(found > _NEGLIGIBLE * found.max(initial=0.0), found, 0.0)
        return weights

    def with_next_working_set(self) -> WeightedFit:
        """The same fit, where those in use and the others of largest ``q_j`` move."""
        first = np.where(self.weights > 0, np.inf, self.all_squares)
        room = max(_SMALLEST, 2 * np.count_nonzero(self.weights))
        return replace(self, moving=np.sort(np.argsort(-first, kind="stable")[:room]), known_gap=self.gap())

    def _hessian(self) -> Array:
        """``G'MG`` of what moves, by ``M = r (I + r K r)^-1 r`` with ``r`` the roots of the curvatures above zero."""
        curvature, K = self.problem.evaluate(self.margins).curvature, self.problem.expansion.outer()
        bent = np.flatnonzero(curvature > 0)
        r = np.sqrt(curvature[bent])
        A = r[:, None] * (K if len(bent) == len(K) else K[np.ix_(bent, bent)]) * r
        add_to_diagonal(A, 1.0)
        half = r[:, None] * np.column_stack([self.images[bent], np.ones(len(r))])
        inner = half.T @ shifted_cholesky(A)(half)
        H, border, corner = inner[:-1, :-1], inner[:-1, -1], float(inner[-1, -1])
        if self.problem.fit_intercept and corner > 0:
            H = H - np.outer(border / corner, border)  # large costs leave no room for squares
        return 0.5 * (H + H.T)


def _solved(problem: Problem, near: NearbyScore, tol: float) -> Solution:
    """A kernel fit, without a word where it ends early: the gap of (S) counts, and it is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return solve(problem, None, solver=near.engine(), tol=tol)
