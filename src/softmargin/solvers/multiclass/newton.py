"""Newton's method for smooth losses of k scores that sum to zero,

    minimise  J = sum_i w_i L(F_i, y_i) + 1/2 sum_j |f_j|^2,    F = (Z theta + b) (I - 11'/k).

Steps solve the Newton equations by preconditioned conjugate gradients: a product with the Hessian is two products with
the rows, so no (pk) x (pk) matrix is formed. A backtracking line search makes every step a decrease. There are two
spaces to move in.

* Features: the preconditioner is the Hessian averaged over the classes, factorised where columns are few beside the
  classes and its diagonal elsewhere; either keeps directions in the sum-to-zero subspace. Certificate: the largest
  entry of the gradient.
* Inner products (kernels, and more features than rows): ``f = sum_i beta_i K(x_i, .)``, and gradients are taken in the
  norm of ``f``: ``w L'(F) + beta``. The Hessian becomes ``I + D K``, D the curvatures of the rows; its preconditioner
  ``(I + mean(D) K)^-1`` costs one Cholesky factorisation, after which some ten products with K make a step. Where rows
  of very different weights need more, each row has its own curvature, the mean of its classes, and every step a factor.
  Certificate: the largest entry of ``w L'(F) + beta``, the stationarity condition of each row.

Both are relative to their values at zero coefficients, which says little of the objective where those are large. It is
strongly convex but for a free intercept, and no point is better by more than half the squared length of the gradient
(beside it Newton's decrement of the intercept): a certificate is at least that share of the objective, unless no step
finds a decrease beyond rounding. Why not the Newton method of ``solvers/ridge``: its systems are
factorised, p^3 for one class and (pk)^3 for k that are coupled. The spaces are in :mod:`.newton_spaces`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.expansions import is_nonzero
from softmargin.losses.multiclass import Evaluation, SmoothMulticlassLoss
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.linalg import backtrack
from softmargin.solvers.multiclass.design import Design, gradient_unit
from softmargin.solvers.multiclass.newton_spaces import Features, InnerProducts
from softmargin.solvers.multiclass.work import Work

__all__ = ["solve_smooth", "spectral_features"]

Array = NDArray[np.floating[Any]]

_TINY = 1e-300
# A fit whose products with the rows take so few multiplications (a tenth of a millisecond) is carried on to so small a
# gradient, and until steps lower the objective by so small a share of it (that of rows all but separated is tiny
# itself): repeated rows and weighted rows then give the same scores.
_FREE_WORK, _EXACT, _STILL = 1e5, 1e-10, 1e-9
_ROUNDING, _IDLE = 1e-11, 5  # steps in a row that lower neither the objective beyond rounding nor the gradient


def spectral_features(K: Array) -> tuple[Array, Array]:
    """Features with ``Z Z' = K`` and the basis that turns their coefficients into kernel coefficients."""
    values, U = np.linalg.eigh(np.asarray(K, dtype=np.float64))
    kept = is_nonzero(values)
    root = np.sqrt(values[kept])
    return U[:, kept] * root, U[:, kept] / root


def solve_smooth(
    problem: MulticlassProblem,
    start: Solution | None,
    tol: float,
    max_iter: int,
    *,
    rough: bool = False,
    work: Work | None = None,
) -> Solution:
    """Fit by Newton's method, from ``start`` where there is one; a ``rough`` fit ends where its slopes are ``tol``.

    It ends where its ``work`` is spent as it does at ``max_iter``.
    """
    n, p = problem.expansion.shape
    gram = problem.expansion.is_kernel or (p > n and not problem.expansion.is_sparse)
    design = Design.of(problem, gram=gram)
    space: Any = (
        InnerProducts(design, problem, work or Work.of(n, problem.n_classes)) if gram else Features(design, problem)
    )
    v = np.zeros((space.height, problem.n_classes)) if start is None else space.place(start, design)
    free = n * space.height * problem.n_classes <= _FREE_WORK
    found = _Iterations.run(_Point.at(space, problem, v), tol, max_iter, free=free, rough=rough)
    v = found.point.v - found.point.v.mean(axis=1, keepdims=True)  # what all classes share has no part in the scores
    dual = v[1:] if gram else None
    coef, b = design.original(*space.parts(v))
    size, history = found.size, found.history
    where = (coef, b, dual, found.point.value, size, found.number)
    return Solution(*where, size <= tol, certificate="gradient", history=history)


class _Iterations(NamedTuple):
    """Where Newton steps ended, the certificate there, their number and the objectives on the way."""

    point: _Point
    size: float
    number: int
    history: list[float]

    @classmethod
    def run(cls, point: _Point, tol: float, max_iter: int, *, free: bool, rough: bool) -> _Iterations:
        """Steps from a point until its certificate is ``tol``, or on where they are ``free``."""
        space, problem = point.space, point.problem
        origin = point if not point.v.any() else _Point.at(space, problem, np.zeros_like(point.v))
        scale = gradient_unit(float(np.abs(origin.gradient).max()), space.terms(origin.parts.slope))
        goal = min(tol, _EXACT) if free else tol
        history, n_iter = [point.value], 0
        least, lowest, idle, fresh, looks = np.inf, np.inf, 0, True, 0
        while True:
            slope = float(np.abs(point.gradient).max()) / scale
            size = max(slope, point.shortfall) if slope <= tol and not rough else slope
            progress = size < 0.5 * least or point.value < lowest - _ROUNDING * abs(point.value)
            idle = 0 if progress else idle + 1
            least, lowest = min(least, size), min(lowest, point.value)
            falls = free and n_iter > 0 and history[-2] - point.value > _STILL * abs(point.value)
            spent = n_iter >= max_iter or space.work.is_spent
            ends = (size <= goal and not falls) or spent or idle > _IDLE
            following = None if ends else point.step(min(0.1, np.sqrt(size)))
            if following is None:  # or rounding hides any further decrease
                if fresh or looks > _IDLE:
                    size = max(slope, point.shortfall) if spent else slope
                    break
                point, fresh, looks = _Point.at(space, problem, point.v), True, looks + 1
                history[-1], least, lowest, idle = point.value, np.inf, np.inf, 0
                continue
            # scores that many steps have added up hold the rounding of the largest: measured anew at the end, or where
            # that is free
            point, fresh = _Point.at(space, problem, following.v) if free else following, free
            history.append(point.value)
            n_iter += 1
            if is_heard():
                report("newton step", f"objective {point.value:.12g}, gradient before {size:.3g}")
        return cls(point, size, n_iter, history)


@dataclass
class _Point:
    """A point of a space with its scores, the loss there and the penalty."""

    space: Any
    problem: MulticlassProblem
    v: Array
    F: Array
    parts: Evaluation
    penalty: float

    @classmethod
    def at(cls, space: Any, problem: MulticlassProblem, v: Array) -> _Point:
        F, loss = space.scores(v), cast(SmoothMulticlassLoss, problem.loss)
        parts = loss.evaluate(F, problem.codes, problem.weights)
        return cls(space, problem, v, F, parts, 0.5 * float(np.sum(v * space.penalty_image(v, F))))

    @property
    def value(self) -> float:
        return self.parts.value + self.penalty

    @cached_property
    def gradient(self) -> Array:
        return np.asarray(self.space.gradient(self.parts.slope, self.v))

    @cached_property
    def shortfall(self) -> float:
        """How much better a point can be, as a share of the objective: at most all of it."""
        lacks = float(self.space.shortfall(self.gradient, self.parts.curve))
        return min(lacks / max(abs(self.value), _TINY), 1.0)

    def step(self, accuracy: float) -> _Point | None:
        """The point after a damped Newton step; None if no step decreases the objective."""
        step = self.space.newton_step(self.parts.curve, self.parts.curvature, self.gradient, accuracy)
        move = self.space.scores(step)
        image = self.space.penalty_image(step, move)
        linear, square = float(np.sum(self.v * image)), float(np.sum(step * image))
        slope = float(np.sum(self.parts.slope * move)) + linear
        loss, codes, weights = cast(SmoothMulticlassLoss, self.problem.loss), self.problem.codes, self.problem.weights

        def at(length: float) -> tuple[float, _Point]:
            F = self.F + length * move
            with np.errstate(over="ignore"):
                parts = loss.evaluate(F, codes, weights)
            penalty = self.penalty + length * linear + 0.5 * length**2 * square
            there = replace(self, v=self.v + length * step, F=F, parts=parts, penalty=penalty)
            return there.value, there

        found = backtrack(at, self.value, slope, noise=1e-14 * abs(self.value), shortest=1e-10)
        return None if found is None else found.there
