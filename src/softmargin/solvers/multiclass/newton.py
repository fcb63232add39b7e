"""Newton's method for smooth losses of k scores that sum to zero,

    minimise  sum_i cost_i L(F_i, y_i) + 1/2 sum_j |theta_j|^2,    F = (Z theta + b) (I - 11'/k).

Steps solve the Newton equations by preconditioned conjugate gradients: a product with the Hessian is two products with
``Z``, so no (pk) x (pk) matrix is formed. The preconditioner is the diagonal of the Hessian averaged over the classes,
which keeps directions in the sum-to-zero subspace. A backtracking line search makes every step a decrease. The
certificate is the largest entry of the gradient relative to its largest entry at zero coefficients.

A kernel matrix enters through exact features ``Z = U e^(1/2)`` from its eigenvectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from softmargin.losses.multiclass.smooth import SimultaneousLoss
from softmargin.solvers.multiclass.simultaneous_solution import SimultaneousSolution

__all__ = ["solve_smooth", "spectral_features"]

Array = NDArray[np.floating[Any]]

# sums of terms of both signs keep about ten digits: a smaller gradient at zero is none
_BALANCED = 1e-6
_MAX_CG = 200


def spectral_features(K: Array) -> tuple[Array, Array]:
    """Features with ``Z Z' = K`` and the basis that turns their coefficients into kernel coefficients."""
    values, U = linalg.eigh(np.asarray(K, dtype=np.float64), check_finite=False)
    kept = values > max(values[-1], 0) * len(values) * np.finfo(float).eps
    root = np.sqrt(values[kept])
    return U[:, kept] * root, U[:, kept] / root


class _Objective:
    """The problem in the variables ``theta`` (m, k), whose first row is the intercept if there is one."""

    def __init__(
        self, Z: Any, codes: NDArray[np.intp], cost: Array, k: int, loss: SimultaneousLoss, intercept: str
    ) -> None:
        self.Z, self.codes, self.cost, self.k, self.loss = Z, codes, cost, k, loss
        self.has_intercept = intercept != "none"
        self.center = np.zeros(Z.shape[1])
        if intercept == "free" and not sparse.issparse(Z):
            self.center = cost @ Z / cost.sum()
            self.Z = Z - self.center
        self.ridge = np.ones((Z.shape[1] + self.has_intercept, 1))
        if intercept == "free":
            self.ridge[0] = 0

    def scores(self, theta: Array) -> Array:
        F = np.asarray(self.Z @ theta[1:]) + theta[0] if self.has_intercept else np.asarray(self.Z @ theta)
        return F - F.mean(axis=1, keepdims=True)

    def pull_back(self, G: Array) -> Array:
        """The transpose of ``scores``."""
        G = G - G.mean(axis=1, keepdims=True)
        inner = np.asarray(self.Z.T @ G)
        return np.vstack([G.sum(axis=0), inner]) if self.has_intercept else inner

    def value(self, theta: Array, F: Array) -> float:
        with np.errstate(over="ignore"):
            losses = self.loss.value(F, self.codes)
        return float(self.cost @ losses) + 0.5 * float(np.sum(self.ridge * theta**2))

    def gradient(self, theta: Array, F: Array) -> Array:
        return self.pull_back(self.cost[:, None] * self.loss.slope(F, self.codes)) + self.ridge * theta

    def scale(self, theta: Array) -> float:
        """The largest entry of the gradient; where classes balance and only rounding is left, that of its terms."""
        F = self.scores(theta)
        terms = float(np.abs(self.cost[:, None] * self.loss.slope(F, self.codes)).sum(axis=0).max())
        largest = max(float(abs(self.Z).max()) if min(self.Z.shape) else 0.0, float(self.has_intercept))
        return max(float(np.abs(self.gradient(theta, F)).max()), _BALANCED * terms * largest) or 1.0

    def preconditioner(self, F: Array) -> Array:
        weight = self.cost * self.loss.curvature(F, self.codes).mean(axis=1)
        squares = np.asarray((self.Z.multiply(self.Z) if sparse.issparse(self.Z) else np.square(self.Z)).T @ weight)
        if self.has_intercept:
            squares = np.r_[weight.sum(), squares]
        return 1 / np.maximum(squares[:, None] + self.ridge, 1e-300)

    def newton_step(self, F: Array, gradient: Array, accuracy: float) -> Array:
        curve = self.loss.curve(F, self.codes)
        inverse = self.preconditioner(F)
        step = np.zeros_like(gradient)
        residual = -gradient
        scaled = inverse * residual
        direction = scaled.copy()
        rho = first = float(np.sum(residual * scaled))
        for _ in range(_MAX_CG):
            image = self.pull_back(self.cost[:, None] * curve(self.scores(direction))) + self.ridge * direction
            curvature = float(np.sum(direction * image))
            if curvature <= 0:
                break
            alpha = rho / curvature
            step += alpha * direction
            residual -= alpha * image
            scaled = inverse * residual
            rho, previous = float(np.sum(residual * scaled)), rho
            if rho <= accuracy**2 * first:
                break
            direction = scaled + (rho / previous) * direction
        return step if np.any(step) else scaled


def solve_smooth(
    Z: Any,
    codes: NDArray[np.intp],
    cost: Array,
    n_classes: int,
    loss: SimultaneousLoss,
    *,
    intercept: str,
    tol: float,
    max_iter: int,
    start: SimultaneousSolution | None = None,
) -> SimultaneousSolution:
    """Fit by Newton's method from zero, or from ``start``."""
    problem = _Objective(Z, codes, cost, n_classes, loss, intercept)
    theta = np.zeros((len(problem.ridge), n_classes))
    scale = problem.scale(theta)
    if start is not None:
        theta[problem.has_intercept :] = start.coef
        if problem.has_intercept:
            theta[0] = start.intercept + problem.center @ start.coef
    F = problem.scores(theta)
    value = problem.value(theta, F)
    history, n_iter = [value], 0
    while True:
        gradient = problem.gradient(theta, F)
        size = float(np.abs(gradient).max()) / scale
        if size <= tol or n_iter >= max_iter:
            break
        step = problem.newton_step(F, gradient, min(0.1, np.sqrt(size)))
        slope, move = float(np.sum(gradient * step)), problem.scores(step)
        length = 1.0
        while length > 1e-10:
            trial = problem.value(theta + length * step, F + length * move)
            if trial <= value + 1e-4 * length * slope + 1e-14 * abs(value):
                break
            length *= 0.5
        if length <= 1e-10:  # rounding hides any further decrease
            break
        theta, value = theta + length * step, trial
        F = problem.scores(theta)
        history.append(value)
        n_iter += 1
    coef = theta[problem.has_intercept :]
    b = theta[0] - problem.center @ coef if problem.has_intercept else np.zeros(n_classes)
    done = size <= max(tol, 1e-9)
    return SimultaneousSolution(coef, b - b.mean(), value, size, n_iter, done, "relative gradient", None, history)
