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
factorised, p^3 for one class and (pk)^3 for k that are coupled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin._progress import is_heard, report
from softmargin.expansions import is_nonzero
from softmargin.losses.multiclass import Evaluation, SmoothMulticlassLoss
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.linalg import Cholesky, add_to_diagonal, backtrack, shifted_cholesky
from softmargin.solvers.multiclass.conjugate_gradients import MOST, conjugate_gradients
from softmargin.solvers.multiclass.design import Design, gradient_terms, gradient_unit

__all__ = ["solve_smooth", "spectral_features"]

Array = NDArray[np.floating[Any]]

_TRIED = 25  # products that rows of like weights take
_REFINED = 3  # solves, each of what the last has left
_FEW_UNKNOWNS = 1000  # are eliminated in the time of so many products
# A factor costs n p^2 multiplications, a product with the Hessian 2 n p k: up to so many columns per class the factor
# costs no more than the products it saves (pendigits and letter in ``python -m benchmarks real``).
_COLUMNS_PER_CLASS = 20
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


class _Features:
    """Points ``theta`` (m, k), whose first row is the intercept if there is one, with the sum of squares as norm."""

    def __init__(self, design: Design, problem: MulticlassProblem) -> None:
        self.Z, self.cost, self.classes = design.Z, problem.weights, problem.n_classes
        self.has_intercept = problem.intercept != "none"
        self.ridge = np.ones((self.Z.shape[1] + self.has_intercept, 1))
        if problem.intercept == "free":
            self.ridge[0] = 0

    @property
    def height(self) -> int:
        return len(self.ridge)

    def place(self, start: Solution, design: Design) -> Array:
        """The point of a solution."""
        if not self.has_intercept:
            return start.coef
        return np.vstack([design.shifted_intercept(start), start.coef])

    def parts(self, theta: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts."""
        return (theta[1:], theta[0]) if self.has_intercept else (theta, np.zeros(theta.shape[1]))

    def scores(self, theta: Array) -> Array:
        theta = theta - theta.mean(axis=1, keepdims=True)  # as good as the same of the scores, which are longer
        if not self.has_intercept:
            return np.asarray(self.Z @ theta)
        F = np.asarray(self.Z @ theta[1:])
        F += theta[0]
        return F

    def pull_back(self, G: Array) -> Array:
        """The transpose of ``scores``."""
        inner = np.asarray(self.Z.T @ G)
        if self.has_intercept:
            inner = np.vstack([np.ones(len(G)) @ G, inner])
        return inner - inner.mean(axis=1, keepdims=True)

    def gradient(self, slope: Array, theta: Array) -> Array:
        return self.pull_back(slope) + self.ridge * theta

    def shortfall(self, gradient: Array, curve: Any) -> float:
        """How much better a point can be: half the squared length of the gradient where the ridge holds it."""
        held = 0.5 * float(np.sum(np.square(gradient) * (self.ridge > 0)))
        return held if self.ridge[0] > 0 else held + _intercept_decrement(gradient[0], curve, self.Z.shape[0])

    def terms(self, slopes: Array) -> float:
        """The size of the terms whose sums are the gradient."""
        return gradient_terms(self.Z, slopes, self.has_intercept)

    def penalty_image(self, theta: Array, F: Array) -> Array:
        """What the inner product of the norm multiplies ``theta`` with."""
        return self.ridge * theta

    def _preconditioner(self, weight: Array) -> Callable[[Array], Array]:
        """The inverse of the Hessian for curvatures that all classes share, or of its diagonal."""
        if sparse.issparse(self.Z) or self.Z.shape[1] > _COLUMNS_PER_CLASS * self.classes:
            squares = np.asarray((self.Z.multiply(self.Z) if sparse.issparse(self.Z) else np.square(self.Z)).T @ weight)
            if self.has_intercept:
                squares = np.r_[weight.sum(), squares]
            inverse = 1 / np.maximum(squares[:, None] + self.ridge, _TINY)
            return lambda residual: inverse * residual
        weighted = self.Z * weight[:, None]
        H = weighted.T @ self.Z
        if self.has_intercept:
            border = weighted.sum(axis=0)
            H = np.block([[np.full((1, 1), weight.sum()), border[None, :]], [border[:, None], H]])
        add_to_diagonal(H, np.maximum(self.ridge[:, 0], _TINY))
        return shifted_cholesky(np.ascontiguousarray(H))

    def newton_step(self, curve: Any, curvature: Array, gradient: Array, accuracy: float) -> Array:
        inverse = self._preconditioner(curvature @ np.full(self.classes, 1 / self.classes))

        def precondition(residual: Array) -> tuple[Array, Array]:
            scaled = inverse(residual)
            return scaled, scaled

        def product(direction: Array, _: Array) -> Array:
            return self.pull_back(curve(self.scores(direction))) + self.ridge * direction

        return conjugate_gradients(gradient, precondition, product, accuracy)[0]


class _InnerProducts:
    """Points (1 + n, k): intercept and kernel coefficients, with the norm of the functions."""

    def __init__(self, design: Design, problem: MulticlassProblem) -> None:
        assert design.K is not None
        self.free, self.penalized = problem.intercept == "free", problem.intercept == "penalized"
        self.K = design.K + 1 if self.penalized else design.K
        self.factor: Cholesky | None = None
        self.level, self.uneven = 0.0, False

    @property
    def height(self) -> int:
        return 1 + len(self.K)

    def place(self, start: Solution, design: Design) -> Array:
        """The point of a solution."""
        assert start.dual is not None
        b = design.shifted_intercept(start) if self.free else np.zeros(start.dual.shape[1])
        return np.vstack([b, start.dual])

    def parts(self, point: Array) -> tuple[Array, Array]:
        """Coefficients and intercepts."""
        return point[1:], point[0] if not self.penalized else point[1:].sum(axis=0)

    def scores(self, point: Array) -> Array:
        point = point - point.mean(axis=1, keepdims=True)
        return np.asarray(self.K @ point[1:] + point[0])

    def gradient(self, slope: Array, point: Array) -> Array:
        slope = slope - slope.mean(axis=1, keepdims=True)
        total = slope.sum(axis=0) if self.free else np.zeros(slope.shape[1])
        return np.vstack([total, slope + point[1:]])

    def shortfall(self, gradient: Array, curve: Any) -> float:
        """How much better a point can be: half the squared length of the gradient in the norm of the functions."""
        held = 0.5 * max(float(np.sum(gradient[1:] * (self.K @ gradient[1:]))), 0.0)
        return held + _intercept_decrement(gradient[0], curve, len(self.K)) if self.free else held

    def terms(self, slopes: Array) -> float:
        """The size of the terms whose sums are the gradient."""
        return float(np.abs(slopes).sum(axis=0).max()) if self.free else float(np.abs(slopes).max())

    def penalty_image(self, point: Array, F: Array) -> Array:
        """``K beta`` from the scores of the point."""
        return np.vstack([np.zeros(F.shape[1]), F - point[0]])

    def _precondition(self, residual: Array, level: float) -> Array:
        if self.factor is None or not 0.3 * self.level <= level <= 3 * self.level:
            A = level * self.K
            add_to_diagonal(A, 1)
            self.factor, self.level = shifted_cholesky(A), level
        return self.factor(residual)

    def newton_step(self, curve: Any, curvature: Array, gradient: Array, accuracy: float) -> Array:
        level, mass = float(curvature.mean()), max(float(curvature.mean(axis=1).sum()), _TINY)

        def precondition(residual: Array) -> tuple[Array, Array]:
            scaled = np.vstack([residual[0] / mass, self._precondition(residual[1:], level)])
            return scaled, np.vstack([scaled[0], self.K @ scaled[1:]])

        def product(direction: Array, image: Array) -> Array:
            moved = curve(image[1:] + direction[0])
            moved -= moved.mean(axis=1, keepdims=True)
            return np.vstack([moved.sum(axis=0) if self.free else 0 * moved[0], moved + direction[1:]])

        few, reached = gradient.size <= _FEW_UNKNOWNS, False
        if not self.uneven:
            most = MOST if few else _TRIED
            step, residual, reached = conjugate_gradients(gradient, precondition, product, accuracy, most)
        solved = self._solved_step(curve, gradient) if few and not reached else None
        if solved is not None:
            return solved
        if not reached:
            self.uneven = True
            by_rows = self._by_rows(curvature.mean(axis=1), mass)
            step, residual, reached = conjugate_gradients(gradient, by_rows, product, accuracy)
        # what K does not see has no part in the norm of a residual, but in the stationarity of the rows
        step[1:] += self._precondition(residual[1:], level)
        return step

    def _by_rows(self, curvature: Array, mass: float) -> Callable[[Array], tuple[Array, Array]]:
        """``(I + D K)^-1`` for curvatures that all classes share, by the factor of ``I + D^(1/2) K D^(1/2)``."""
        root = np.sqrt(np.maximum(curvature, 0.0))[:, None]
        A = root * self.K * root.T
        add_to_diagonal(A, 1)
        factor = shifted_cholesky(np.ascontiguousarray(A))

        def precondition(residual: Array) -> tuple[Array, Array]:
            inner = residual[1:] - root * factor(root * (self.K @ residual[1:]))
            scaled = np.vstack([residual[0] / mass, inner])
            return scaled, np.vstack([scaled[0], self.K @ inner])

        return precondition

    def _solved_step(self, curve: Any, gradient: Array) -> Array | None:
        """Newton's step by elimination, where similarities of very different sizes leave products no digits.

        None where the equations do not determine it: no row has curvature.
        """
        n, k = len(self.K), gradient.shape[1]
        centre = np.eye(k) - 1 / k
        bends = np.stack([curve(np.tile(row, (n, 1))) @ centre for row in centre], axis=2)  # (n, k, k)
        rows = np.einsum("icd,ij->icjd", bends, self.K)
        A = np.zeros(((1 + n) * k,) * 2)
        A[k:, k:] = rows.reshape(n * k, n * k)
        A[k:, :k] = bends.reshape(n * k, k)
        if self.free:
            A[:k, k:], A[:k, :k] = rows.sum(axis=0).reshape(k, n * k), bends.sum(axis=0)
            A[:k, :k] += max(float(np.abs(A[:k, :k]).max()), _TINY) / k  # intercepts that all classes share
        else:
            A[:k, :k] = np.eye(k)
        add_to_diagonal(A[k:, k:], 1.0)
        *factor, singular = linalg.lapack.dgetrf(A)  # called directly: lu_factor warns where there is a way out
        if singular:
            return None
        step, residual = np.zeros(len(A)), -gradient.ravel()
        for _ in range(_REFINED):
            step += linalg.lu_solve(tuple(factor), residual, check_finite=False)
            residual = -gradient.ravel() - A @ step
        return step.reshape(1 + n, k) if np.all(np.isfinite(step)) else None


def _intercept_decrement(gradient: Array, curve: Any, n: int) -> float:
    """Half of ``g'H^+ g``, H the curvature along the intercepts of the classes."""
    k = len(gradient)
    centre = np.eye(k) - 1 / k
    H = np.stack([curve(np.broadcast_to(row, (n, k))).sum(axis=0) for row in centre]) @ centre
    return 0.5 * float(gradient @ (np.linalg.pinv(H, hermitian=True) @ gradient))


def solve_smooth(problem: MulticlassProblem, start: Solution | None, tol: float, max_iter: int) -> Solution:
    """Fit by Newton's method from zero, or from ``start`` where the space is that of the features."""
    n, p = problem.expansion.shape
    gram = problem.expansion.is_kernel or (p > n and not problem.expansion.is_sparse)
    design = Design.of(problem, gram=gram)
    space: Any = _InnerProducts(design, problem) if gram else _Features(design, problem)
    point = _Point.at(space, problem, np.zeros((space.height, problem.n_classes)))
    scale = gradient_unit(float(np.abs(point.gradient).max()), space.terms(point.parts.slope))
    if start is not None:
        point = _Point.at(space, problem, space.place(start, design))
    free = n * space.height * problem.n_classes <= _FREE_WORK
    goal = min(tol, _EXACT) if free else tol
    history, n_iter = [point.value], 0
    least, lowest, idle, fresh, looks = np.inf, np.inf, 0, True, 0
    while True:
        slope = float(np.abs(point.gradient).max()) / scale
        size = max(slope, point.shortfall) if slope <= tol else slope
        progress = size < 0.5 * least or point.value < lowest - _ROUNDING * abs(point.value)
        idle = 0 if progress else idle + 1
        least, lowest = min(least, size), min(lowest, point.value)
        falls = free and n_iter > 0 and history[-2] - point.value > _STILL * abs(point.value)
        ends = (size <= goal and not falls) or n_iter >= max_iter or idle > _IDLE
        following = None if ends else point.step(min(0.1, np.sqrt(size)))
        if following is None:  # or rounding hides any further decrease
            if fresh or looks > _IDLE:
                size = max(slope, point.shortfall) if n_iter >= max_iter else slope
                break
            point, fresh, looks = _Point.at(space, problem, point.v), True, looks + 1
            history[-1], least, lowest, idle = point.value, np.inf, np.inf, 0
            continue
        # scores that many steps have added up hold the rounding of the largest: measured anew at the end, or where free
        point, fresh = _Point.at(space, problem, following.v) if free else following, free
        history.append(point.value)
        n_iter += 1
        if is_heard():
            report("newton step", f"objective {point.value:.12g}, gradient before {size:.3g}")
    v = point.v - point.v.mean(axis=1, keepdims=True)  # what all classes share has no part in the scores
    dual = v[1:] if gram else None
    coef, b = design.original(*space.parts(v))
    return Solution(coef, b, dual, point.value, size, n_iter, size <= tol, certificate="gradient", history=history)


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
