"""Is the certificate true? The objective recomputed with plain NumPy, and a search for a better point by another route.

A certified gap says that no point is better by more than the gap. So one better point disproves it: the objective is
minimised again from the returned point by L-BFGS (a piecewise linear loss through a soft kink of falling temperature,
an l1 norm through positive and negative parts), and what is found is measured with the true objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit

from .data import Data
from .faults import Fault
from .oracles import solutions_of

__all__ = ["HUGE", "LARGEST", "BinaryProblem", "better", "check_binary_certificate", "feature_rows", "gram", "spectral",
           "tells_value"]  # fmt: skip

_ROUNDING = 1e-15  # of a sum of terms, beside them
_SLACK = 1e-6
_SLOPE_SLACK = 1e-4  # of certificates that bound the slope, not the value
_STEEP = 1e-2  # a slope beyond which such a certificate says nothing of the value
HUGE = 1e8  # similarities whose products leave the second route no digits to judge by
LARGEST = 400  # rows and columns beyond which the second route costs more than it tells


@dataclass
class BinaryProblem:
    """``sum_i w_i phi(y_i (b + z_i'beta)) + ridge/2 |beta|^2 + l1 |beta|_1`` over features ``Z``."""

    loss: Any
    Z: np.ndarray
    y: np.ndarray
    w: np.ndarray
    ridge: float
    l1: float
    intercept: bool
    positive: bool

    def value(self, beta: np.ndarray, b: float) -> float:
        u = self.y * (self.Z @ beta + b)
        cost = float(self.w @ np.asarray(self.loss.value(u), dtype=float))
        return cost + 0.5 * self.ridge * float(beta @ beta) + self.l1 * float(np.abs(beta).sum())

    def smooth_part(self, theta: np.ndarray, softness: float) -> tuple[float, np.ndarray]:
        beta, b = theta[:-1], theta[-1]
        u = self.y * (self.Z @ beta + b)
        value, slope = _soft(self.loss, u, softness)
        g = self.y * (self.w * slope)
        gradient = np.append(self.Z.T @ g + self.ridge * beta, g.sum() if self.intercept else 0.0)
        return float(self.w @ value) + 0.5 * self.ridge * float(beta @ beta), gradient


def _soft(loss: Any, u: np.ndarray, softness: float) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope of the loss, a kink rounded over a width of ``softness``."""
    kink = getattr(loss, "kink", None)
    if kink is None:
        return np.asarray(loss.value(u), dtype=float), np.asarray(loss.slope(u), dtype=float)
    v = u - kink.at
    jump = kink.right_slope - kink.left_slope
    base = float(np.asarray(loss.value(np.array([kink.at])))[0])
    value = base + kink.right_slope * v + jump * softness * np.logaddexp(0, -v / softness)
    return value, kink.right_slope - jump * expit(-v / softness)


def better(problem: BinaryProblem, beta: np.ndarray, b: float) -> float:
    """The least objective found from the point."""
    p = len(beta)
    kinked = getattr(problem.loss, "kink", None) is not None

    def split(theta: np.ndarray, softness: float) -> tuple[float, np.ndarray]:
        value, g = problem.smooth_part(np.append(theta[:p] - theta[p : 2 * p], theta[-1]), softness)
        gradient = np.concatenate([g[:-1] + problem.l1, -g[:-1] + problem.l1, g[-1:]])
        return value + problem.l1 * float(theta[: 2 * p].sum()), gradient

    bounds = [(0, None)] * p + [(0, 0 if problem.positive else None)] * p + [(None, None)]
    split_signs = problem.l1 > 0 or problem.positive
    best = np.inf
    theta = np.append(beta, b)
    for softness in (0.1, 1e-2, 1e-3, 1e-4) if kinked else (0.0,):
        run: Callable[..., Any] = split if split_signs else problem.smooth_part
        start = np.concatenate([np.maximum(theta[:-1], 0), np.maximum(-theta[:-1], 0), theta[-1:]])
        with np.errstate(all="ignore"):
            done = minimize(
                run, start if split_signs else theta, args=(softness,), jac=True, method="L-BFGS-B",
                bounds=bounds if split_signs else None, options={"maxiter": 300, "ftol": 1e-15, "gtol": 1e-12},
            )  # fmt: skip
            theta = np.append(done.x[:p] - done.x[p : 2 * p], done.x[-1]) if split_signs else done.x
            found = problem.value(theta[:-1], float(theta[-1]))
        if np.isfinite(found):
            best = min(best, found)
    return best


def spectral(K: np.ndarray) -> np.ndarray:
    """Features whose products are ``K``."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    keep = values > max(values.max(initial=0), 0) * 1e-14
    return vectors[:, keep] * np.sqrt(values[keep])


def gram(model: Any, X: np.ndarray) -> np.ndarray | None:
    gamma = model.gamma
    if model.kernel == "rbf" and not isinstance(gamma, str):
        return np.exp(-gamma * cdist(X, X, "sqeuclidean"))  # squares of lengths would lose the digits of offset rows
    if model.kernel == "linear":
        return X @ X.T
    if model.kernel == "poly" and not isinstance(gamma, str):
        return (gamma * X @ X.T + model.coef0) ** model.degree
    return None


Features = tuple[np.ndarray, np.ndarray, np.ndarray, Callable[[int], np.ndarray]]


def feature_rows(model: Any, own: dict[str, Any], data: Data) -> Features | None:
    """Features, weights and numbers of the rows that count, and the coefficients of each score on those features."""
    weight, rows = _weights(own, data)
    X = data.dense[rows]
    if own.get("kernel") is None:
        if not hasattr(model, "coef_"):
            return None  # a machine of kernels that it makes itself
        return X, weight, rows, lambda j: np.asarray(model.coef_, dtype=float)[j]
    if own.get("positive", False) or own.get("l1_ratio", 0.0) != 0.0:
        return None  # bounds and costs of each kernel coefficient are none of the coefficients on these features
    K = gram(model, X)
    if K is None or np.abs(K).max() > HUGE:
        return None
    Z = spectral(K)
    return Z, weight, rows, lambda j: _kernel_coefficients(model, j, Z, rows)


def check_binary_certificate(model: Any, data: Data) -> bool:
    """Check every one-against-rest problem of a model of problem (P); False where there is nothing to check."""
    solutions, loss = solutions_of(model), getattr(model, "loss_", None)
    own = model.get_params(deep=False)
    if not solutions or loss is None or own.get("penalty") is not None or own.get("n_components") is not None:
        return False
    if max(data.dense.shape) > LARGEST or data.level in ("extreme", "invalid") or "C" not in own:
        return False
    found = feature_rows(model, own, data)
    if found is None:
        return False
    Z, weight, rows, coefficients = found
    ratio = own.get("l1_ratio", 0.0)
    for j, solution in enumerate(solutions):
        y = np.where(data.codes[rows] == (1 if len(solutions) == 1 else j), 1.0, -1.0)
        problem = BinaryProblem(
            loss, Z, y, own["C"] * weight, 1 - ratio, ratio, own.get("fit_intercept", True), own.get("positive", False)
        )
        single = getattr(data.X, "dtype", np.dtype(float)).itemsize < 8
        rounding = _ROUNDING * _largest_terms(model, j, Z) * float(problem.w.sum())
        _check_one(problem, coefficients(j), float(model.intercept_[j]), solution, single, rounding)
    return True


def _largest_terms(model: Any, j: int, Z: np.ndarray) -> float:
    """What the terms of a kernel's score add up to without their signs: the rounding of scores is in its units."""
    if getattr(model, "kernel", None) is None:
        return 0.0
    return float(np.square(Z).sum(axis=1).max(initial=0.0) * np.abs(np.asarray(model.dual_coef_, dtype=float)[j]).sum())


def _weights(own: dict[str, Any], data: Data) -> tuple[np.ndarray, np.ndarray]:
    times = np.ones(len(data.codes)) if data.times is None else data.times
    if own.get("class_weight") == "balanced":
        totals = np.bincount(data.codes, weights=times)
        weight = times * (totals.sum() / (len(totals) * totals))[data.codes]
    else:
        weight = times
    rows = np.flatnonzero(times > 0)
    return weight[rows], rows


def _kernel_coefficients(model: Any, j: int, Z: np.ndarray, rows: np.ndarray) -> np.ndarray:
    place = {int(row): i for i, row in enumerate(rows)}
    alpha = np.zeros(len(rows))
    for value, row in zip(np.asarray(model.dual_coef_, dtype=float)[j], model.support_, strict=True):
        alpha[place[int(row)]] = value
    return Z.T @ alpha


def tells_value(solution: Any) -> bool:
    """Whether the certificate bounds how much better a point can be: a gap does, a slope if small or enough."""
    return "gap" in solution.certificate or solution.converged or solution.gap <= _STEEP


def _check_one(
    problem: BinaryProblem, beta: np.ndarray, b: float, solution: Any, single: bool, noise: float = 0.0
) -> None:
    value = problem.value(beta, b)
    rounding = 1e-3 if single else 1e-6
    if not abs(value - solution.objective) <= rounding * max(abs(value), 1e-9) + noise:
        raise Fault("false objective", f"claimed {solution.objective!r}, is {value!r} at coef_ and intercept_")
    if not problem.loss.convex or not tells_value(solution):
        return
    best = better(problem, beta, b)
    slack = _SLACK if "gap" in solution.certificate else _SLOPE_SLACK
    allowed = (2 * solution.gap + slack + rounding * single) * max(abs(value), 1e-12) + noise
    if value - best > allowed:
        raise Fault(
            f"false certificate ({solution.certificate})",
            f"objective {value:.9g}, a point of {best:.9g} exists; gap claimed {solution.gap:.1e}, "
            f"converged {solution.converged}, loss {problem.loss!r}",
        )
