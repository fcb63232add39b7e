"""The two spaces that Newton's method of k scores moves in: coefficients of features, and of the rows of a kernel.

A space knows scores and gradients of its points, and solves the Newton equations there (:mod:`.newton` says how).
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.linalg import Cholesky, add_to_diagonal, shifted_cholesky
from softmargin.solvers.multiclass.conjugate_gradients import MOST, conjugate_gradients
from softmargin.solvers.multiclass.design import Design, gradient_terms
from softmargin.solvers.multiclass.work import Work

__all__ = ["Features", "InnerProducts"]

Array = NDArray[np.floating[Any]]

_TRIED = 25  # products that rows of like weights take
_REFINED = 3  # solves, each of what the last has left
_FEW_UNKNOWNS = 1000  # are eliminated in the time of so many products
# A factor costs n p^2 multiplications, a product with the Hessian 2 n p k: up to so many columns per class the factor
# costs no more than the products it saves (pendigits and letter in ``python -m benchmarks real``).
_COLUMNS_PER_CLASS = 20
_UNEVEN = 0.2  # share of rows of equal weights that would weigh as much by their squares
_NEGLIGIBLE = 1e-8  # beside the gradient: what rounding leaves of coefficients
# curvature times the squared norm of a row: from where, and up to where, a solution with a factor holds its image
_BENT, _SOUND = 1e-4, 1e8
_TINY = 1e-300


class Features:
    """Points ``theta`` (m, k), whose first row is the intercept if there is one, with the sum of squares as norm."""

    def __init__(self, design: Design, problem: MulticlassProblem) -> None:
        self.work = Work()  # products with features are few
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


class InnerProducts:
    """Points (1 + n, k): intercept and kernel coefficients, with the norm of the functions."""

    def __init__(self, design: Design, problem: MulticlassProblem, work: Work) -> None:
        assert design.K is not None
        self.work = work
        self.free, self.penalized = problem.intercept == "free", problem.intercept == "penalized"
        self.K = design.K + 1 if self.penalized else design.K
        counted = problem.weights > 0
        self.counted, self.all_count = counted, bool(counted.all())
        self.factor: Cholesky | None = None
        w = problem.weights[counted]
        self.level, self.uneven = 0.0, w.sum() ** 2 < _UNEVEN * len(w) * (w @ w)

    def _times(self, coef: Array) -> Array:
        """``K coef``; BLAS reads a matrix once where it stands on the right of a few rows, and twice on their left."""
        self.work.add_product(len(self.K), coef.shape[1])
        return np.asarray((coef.T @ self.K).T)

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
        return np.asarray(self._times(point[1:]) + point[0])

    def gradient(self, slope: Array, point: Array) -> Array:
        slope = slope - slope.mean(axis=1, keepdims=True)
        total = slope.sum(axis=0) if self.free else np.zeros(slope.shape[1])
        return np.vstack([total, slope + point[1:]])

    def shortfall(self, gradient: Array, curve: Any) -> float:
        """How much better a point can be: half the squared length of the gradient in the norm of the functions."""
        held = 0.5 * max(float(np.sum(gradient[1:] * (self._times(gradient[1:])))), 0.0)
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
            self.work.add_factor(len(A))
        self.work.add_product(len(self.K), residual.shape[1])
        return self.factor(residual)

    def newton_step(self, curve: Any, curvature: Array, gradient: Array, accuracy: float) -> Array:
        counted = self.counted
        if self.all_count or np.abs(gradient[1:][~counted]).max() > _NEGLIGIBLE * np.abs(gradient).max():
            return self._step(curve, curvature, gradient, accuracy)

        def spread(values: Array) -> Array:
            out = np.zeros((len(self.K), gradient.shape[1]))
            out[counted] = values
            return out

        rows = np.append(True, counted)
        step = np.where(rows[:, None], 0.0, -gradient)  # of rows without a weight: the way back to zero
        step[rows] = self.part._step(lambda V: curve(spread(V))[counted], curvature[counted], gradient[rows], accuracy)
        return step

    @cached_property
    def part(self) -> InnerProducts:
        """The space of the rows that have a weight."""
        part = copy(self)
        part.K, part.factor = np.ascontiguousarray(self.K[np.ix_(self.counted, self.counted)]), None
        return part

    def _step(self, curve: Any, curvature: Array, gradient: Array, accuracy: float) -> Array:
        level, mass = float(curvature.mean()), max(float(curvature.mean(axis=1).sum()), _TINY)
        sound = self._is_sound(level) and bool(self._is_bent(level).all())

        def precondition(residual: Array) -> tuple[Array, Array]:
            inner = self._precondition(residual[1:], level)
            image = (residual[1:] - inner) / self.level if sound else self._times(inner)
            scaled = np.vstack([residual[0] / mass, inner])
            return scaled, np.vstack([scaled[0], image])

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
        # What K does not see has no part in the norm of a residual, but in the stationarity of the rows; what it sees
        # must not rise by that, beyond the rounding of sums that cancel.
        scaled, image = (by_rows if self.uneven else precondition)(residual)
        gain, bend = float(np.sum(residual * image)), float(np.sum(product(scaled, image) * image))
        if bend <= 2 * max(gain, 0.0) + self._rounding(residual[1:], scaled[1:]):
            return step + scaled
        return step + (max(gain, 0.0) / bend) * scaled

    def _rounding(self, left: Array, right: Array) -> float:
        """What rounding may leave of ``left'K right``: a bound of the sum of its terms without their signs."""
        root = np.sqrt(np.maximum(self.K.diagonal(), 0.0))[:, None]
        return float(
            np.finfo(self.K.dtype).eps * np.sum((root * np.abs(left)).sum(axis=0) * (root * np.abs(right)).sum(axis=0))
        )

    def _by_rows(self, curvature: Array, mass: float) -> Callable[[Array], tuple[Array, Array]]:
        """``(I + D K)^-1`` for curvatures that all classes share, by the factor of ``B = I + D^(1/2) K D^(1/2)``.

        With ``B t = D^(1/2) K r`` it makes ``r - D^(1/2) t`` of ``r``.
        """
        sound = self._is_sound(curvature)
        bent = np.flatnonzero(self._is_bent(curvature) if sound else curvature > 0)
        flat = np.delete(np.arange(len(self.K)), bent)
        root = np.sqrt(curvature[bent])[:, None]
        A = self.K.copy() if len(bent) == len(self.K) else self.K[np.ix_(bent, bent)]
        A *= root
        A *= root.T
        add_to_diagonal(A, 1)
        self.work.add_factor(len(A))
        factor, K_flat = shifted_cholesky(A), self.K[flat if sound else slice(0)]

        def precondition(residual: Array) -> tuple[Array, Array]:
            inner = residual[1:].copy()
            t = factor(root * self._times(inner)[bent])
            self.work.add_product(len(bent), inner.shape[1])
            inner[bent] -= root * t
            if sound:
                image = np.empty_like(inner)
                image[bent], image[flat] = t / root, K_flat @ inner
            else:
                image = self._times(inner)
            scaled = np.vstack([residual[0] / mass, inner])
            return scaled, np.vstack([scaled[0], image])

        return precondition

    def _is_bent(self, curvature: Array | float) -> NDArray[np.bool_]:
        """The rows on which ``D K`` is more than rounding of an image that is read from a solution."""
        return np.asarray(curvature * self.K.diagonal() > _BENT)

    def _is_sound(self, curvature: Array | float) -> bool:
        """Whether solutions hold the digits of their images under ``K``, so that these take no products.

        ``K s = (r - s) / D`` of ``s = (I + D K)^-1 r`` is as exact as a product where ``D K`` is neither tiny nor
        beyond what a factor resolves; rows where it is tiny take no part in a preconditioner, which need only be near.
        """
        if len(self.K) <= _FEW_UNKNOWNS // 2:  # products cost nothing
            return False
        return bool(np.max(curvature * self.K.diagonal()) <= _SOUND)

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
