"""What leaving a row out does to a machine whose loss has corners: the rows on a corner stay there.

At a solution of ``min sum_i w_i phi(u_i) + 1/2 |h|^2`` a row either lies on a corner, with a multiplier strictly inside
its box (the elbow ``E``), or beyond, with a multiplier ``r_i`` that does not move. While no row changes sides, scores
move so that those of ``E`` stay put: raising the pull of row ``i`` by one moves its score by

    h_i = K_ii - k_i' M^-1 k_i,     M = [[K_EE, 1], [1', 0]],   k_i = (K_iE, 1)        (0 on E),

and without its pull a row would have had the score

    f_i - h_i r_i   off the elbow,        f_i - r_i / [M^-1]_ii   on it

(the span of Vapnik and Chapelle). Every elbow row takes one degree of freedom. Smooth losses need none of this: their
rows all have curvature (:mod:`softmargin.tuning._influence`). A row that stands for several leaves the others behind,
so on the elbow nothing moves. Equal rows are judged together, by their joint multiplier: how they share it is a whim of
the solver, which may have one of them on the elbow and the others at their ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.losses import Kink
from softmargin.problem import Problem
from softmargin.solvers import Solution
from softmargin.tuning._equal_rows import EqualRows
from softmargin.tuning.criteria import Fitted

__all__ = ["CorneredFit", "cornered_fit", "rests_on_corners"]

Array = NDArray[np.floating[Any]]

_INSIDE = 1e-6  # of the width of the box: closer to its ends is at them
_JITTER = 1e-11  # of the mean diagonal: elbow rows that are affinely dependent share their multipliers
_LEAST_UNIT = 1e-150  # of squared lengths: rows that are nothing to a double must not make the system singular


@dataclass(frozen=True)
class CorneredFit(Fitted):
    """A fit with rows on a corner: multipliers are its pulls, elbow rows its degrees of freedom."""

    multipliers: Array
    moved: Array
    n_elbow: float

    @property
    def pull(self) -> Array:
        return self.multipliers

    @property
    def df(self) -> float:
        return self.n_elbow

    @property
    def shift(self) -> Array:
        return self.moved

    @property
    def mean_shift(self) -> Array:
        total = float(self.count @ np.abs(self.multipliers))
        return self.multipliers * (float(self.count @ np.abs(self.moved)) / total if total > 0 else 0.0)

    @property
    def charge(self) -> float:
        without = self.loss.value(self.y * (self.scores - self.moved))  # a first-order step may leave its validity
        return float((self.count * self.weight) @ (without - self.loss.value(self.margins)))


def rests_on_corners(problem: Problem) -> bool:
    """Whether rows of a solution gather where the slope of the loss jumps upwards."""
    return _corner(problem) is not None


def _corner(problem: Problem) -> Kink | None:
    upward = [kink for part in problem.loss.parts for kink in part.kinks if kink.jump > 0]
    return upward[0] if upward else None


def cornered_fit(problem: Problem, solution: Solution, cost: float, count: Array, equal: EqualRows) -> CorneredFit:
    """A solution of ``problem`` at ``cost`` times its weights, as the criteria see it."""
    dual = solution.dual
    if dual is None or np.shape(dual) != np.shape(problem.y):
        raise ValueError("the fit has no multipliers, so its influences are unknown; use criterion='cv'.")
    scores = problem.expansion.apply(solution.coef) + solution.intercept
    corner = _corner(problem)
    assert corner is not None
    if np.isinf(corner.right_slope):  # no row lies beyond such a corner but by rounding, which would cost infinitely
        scores = problem.y * np.minimum(problem.y * scores, corner.at)
    first, kind = equal
    weights = cost * np.bincount(kind, weights=problem.weights)
    reach, pull = np.minimum(-weights * corner.left_slope, np.inf), np.bincount(kind, weights=problem.y * dual)
    least = -weights * corner.right_slope
    slack = _INSIDE * weights * min(corner.jump, 1 - corner.left_slope)
    elbow = np.flatnonzero((pull < reach - slack) & (pull > least + slack))
    influence, spans = _influences(problem, first[elbow])
    influence, copies = influence[first], np.bincount(kind, weights=count)
    each = problem.y[first] * pull / copies
    moved = influence * each
    moved[elbow] = np.where(copies[elbow] > 1, 0.0, spans * each[elbow])
    influence, each, moved = influence[kind], each[kind], moved[kind]
    n_elbow = float(len(elbow) if problem.expansion.is_kernel else min(len(elbow), problem.expansion.shape[1] + 1))
    return CorneredFit(
        problem.loss, problem.y, scores, problem.weights / count, cost, influence, count, each, moved, n_elbow
    )


def _influences(problem: Problem, elbow: NDArray[np.intp]) -> tuple[Array, Array]:
    """``h_i`` of every row, zero on the elbow, and ``1 / [M^-1]_ii`` of the elbow rows."""
    expansion = problem.expansion
    influence: Array = _squared_lengths(expansion)
    if not len(elbow):
        return influence, np.empty(0)
    cross = _cross(expansion, elbow)
    size, first = len(elbow), int(problem.fit_intercept)
    M = np.zeros((size + first, size + first))
    M[:size, :size] = cross[elbow]
    unit = max(float(np.mean(np.diagonal(M)[:size])), _LEAST_UNIT)
    M[np.arange(size), np.arange(size)] += _JITTER * unit
    if first:
        M[size, :size] = M[:size, size] = 1.0
        cross = np.column_stack([cross, np.ones(len(cross))])
    factor = linalg.lu_factor(M, check_finite=False)
    inverse = linalg.lu_solve(factor, np.eye(size + first), check_finite=False)
    influence = np.maximum(influence - np.einsum("ij,ij->i", cross @ inverse, cross), 0.0)
    influence[elbow] = 0.0
    spans = 1 / np.maximum(np.diagonal(inverse)[:size], 1 / (1e3 * unit * size))
    return influence, spans


def _squared_lengths(expansion: Any) -> Array:
    if expansion.is_kernel:
        return np.array(expansion.diagonal(), dtype=np.float64)
    rows = expansion.rows()
    squares = rows.multiply(rows) if sparse.issparse(rows) else np.square(rows, dtype=np.float64)
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()


def _cross(expansion: Any, elbow: NDArray[np.intp]) -> Array:
    """Inner products of all rows with those of the elbow."""
    if expansion.is_kernel:
        return np.asarray(expansion.outer()[:, elbow], dtype=np.float64)
    rows = expansion.rows(elbow)
    rows = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    return np.column_stack([expansion.apply(row) for row in rows.astype(np.float64)])
