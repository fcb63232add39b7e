"""The same question for machines of k scores that sum to zero: is there a better point than the one returned?

The scores are ``F = (Z theta + b)(I - 11'/k)`` and the objective ``C sum_i s_i L(F_i, y_i) + 1/2 sum_j |theta_j|^2``;
hinges are rounded at a falling temperature for the search and exact for the verdict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax

from .certificate import LARGEST, feature_rows, tells_value
from .data import Data
from .faults import Fault
from .oracles import solutions_of

__all__ = ["check_simultaneous_certificate"]

Loss = Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]  # scores, own class, temperature


def _hinge(a: np.ndarray, soft: float) -> tuple[np.ndarray, np.ndarray]:
    """``[a]_+`` and its slope, rounded over a width of ``soft``."""
    if soft == 0:
        return np.maximum(a, 0), (a > 0).astype(float)
    return soft * np.logaddexp(0, a / soft), expit(a / soft)


def _reinforced(mix: float) -> Loss:
    def loss(F: np.ndarray, own: np.ndarray, soft: float) -> tuple[np.ndarray, np.ndarray]:
        others, rise = _hinge(1 + F, soft)
        mine, fall = _hinge(F.shape[1] - 1 - F, soft)
        value = np.where(own, mix * mine, (1 - mix) * others).sum(axis=1)
        return value, np.where(own, -mix * fall, (1 - mix) * rise)

    return loss


def _lee_lin_wahba(F: np.ndarray, own: np.ndarray, soft: float) -> tuple[np.ndarray, np.ndarray]:
    return _reinforced(0.0)(F, own, soft)


def _weston_watkins(F: np.ndarray, own: np.ndarray, soft: float) -> tuple[np.ndarray, np.ndarray]:
    cost, slope = _hinge(np.where(own, -np.inf, 1 - F[own][:, None] + F), soft)
    return cost.sum(axis=1), slope - own * slope.sum(axis=1, keepdims=True)


def _crammer_singer(F: np.ndarray, own: np.ndarray, soft: float) -> tuple[np.ndarray, np.ndarray]:
    short = np.where(own, 0.0, 1 - F[own][:, None] + F)
    if soft == 0:
        return short.max(axis=1), np.zeros_like(F)
    share = softmax(short / soft, axis=1)
    return soft * logsumexp(short / soft, axis=1), share - own


def _softmax(F: np.ndarray, own: np.ndarray, soft: float) -> tuple[np.ndarray, np.ndarray]:
    return logsumexp(F, axis=1) - F[own], softmax(F, axis=1) - own


def _composite(loss: Any, mix: float) -> Loss:
    def value(F: np.ndarray, own: np.ndarray, soft: float) -> tuple[np.ndarray, np.ndarray]:
        u, weight = np.where(own, F, -F), np.where(own, mix, 1 - mix)
        return (weight * loss.value(u)).sum(axis=1), np.where(own, 1, -1) * weight * loss.slope(u)

    return value


@dataclass
class _Simultaneous:
    loss: Loss
    Z: np.ndarray
    own: np.ndarray
    cost: np.ndarray
    intercept: bool
    ridge_on_intercept: float

    def at(self, theta: np.ndarray, soft: float) -> tuple[float, np.ndarray]:
        """Objective and gradient at ``theta`` (m + 1, k), whose last row holds the intercepts."""
        k = self.own.shape[1]
        theta = theta.reshape(-1, k)
        theta = theta - theta.mean(axis=1, keepdims=True)
        F = self.Z @ theta[:-1] + theta[-1]
        value, G = self.loss(F, self.own, soft)
        G = self.cost[:, None] * G
        scale = np.append(np.ones(len(theta) - 1), self.ridge_on_intercept)[:, None]
        gradient = np.vstack([self.Z.T @ G, G.sum(axis=0)]) + scale * theta
        if not self.intercept:
            gradient[-1] = 0
        gradient -= gradient.mean(axis=1, keepdims=True)
        return float(self.cost @ value) + 0.5 * float((scale * theta**2).sum()), gradient.ravel()

    def best(self, theta: np.ndarray, kinked: bool) -> float:
        """The least objective found from ``theta``."""
        least, point = np.inf, theta.ravel()
        for soft in (0.1, 1e-2, 1e-3, 1e-4) if kinked else (0.0,):
            with np.errstate(all="ignore"):
                done = minimize(self.at, point, args=(soft,), jac=True, method="L-BFGS-B",
                                options={"maxiter": 300, "ftol": 1e-15, "gtol": 1e-12})  # fmt: skip
                point = done.x
                least = min(least, self.at(point, 0.0)[0])
        return least


def _loss_of(model: Any) -> tuple[Loss, bool] | None:
    """The loss of a model and whether it has kinks; None where another route is not known."""
    name = type(model).__name__
    if name == "MulticategorySVC":
        known: dict[str, Loss] = {
            "reinforced": _reinforced(model.mix), "lee_lin_wahba": _lee_lin_wahba,
            "weston_watkins": _weston_watkins, "crammer_singer": _crammer_singer,
        }  # fmt: skip
        return (known[model.method], True) if model.method in known else None
    if name == "CompositeMarginClassifier":
        from softmargin import losses

        return _composite(losses.get(model.loss), model.mix), False
    if name == "TruncatedSoftmaxClassifier" and model.level is not None and np.isinf(model.level):
        return _softmax, False
    return None


def check_simultaneous_certificate(model: Any, data: Data) -> bool:
    """Look for a better point; False where there is nothing to check."""
    loss, solutions = _loss_of(model), solutions_of(model)
    own = model.get_params(deep=False)
    if loss is None or len(solutions) != 1 or own.get("n_components") is not None:
        return False
    if own.get("penalty") is not None or own.get("l1_ratio", 0.0):
        return False  # the second route knows the sum of squares only
    if max(data.dense.shape) > LARGEST or data.level in ("extreme", "invalid"):
        return False
    found = feature_rows(model, own, data)
    if found is None:
        return False
    Z, weight, rows, coefficients = found
    k = len(model.classes_)
    columns = [coefficients(j) for j in range(1 if k == 2 else k)]
    intercepts = np.asarray(model.intercept_, dtype=float)
    theta = np.vstack([np.column_stack(columns), intercepts])
    theta = np.hstack([-theta, theta]) if k == 2 else theta
    problem = _Simultaneous(
        loss[0], Z, data.codes[rows][:, None] == np.arange(k), own["C"] * weight, own["fit_intercept"],
        float(own.get("penalize_intercept", False)),
    )  # fmt: skip
    value, best, solution = problem.at(theta, 0.0)[0], problem.best(theta, loss[1]), solutions[0]
    single = getattr(data.X, "dtype", np.dtype(float)).itemsize < 8
    rough = 1e-3 if single else 1e-6
    # coefficients of single precision: every term of a score is rounded, and the loss may charge each row for it
    rounding = float(np.finfo(np.float32).eps * problem.cost @ (np.abs(Z) @ np.abs(theta[:-1])).sum(axis=1)) * single
    if not abs(value - solution.objective) <= max(rough, 2 * solution.gap) * max(abs(value), 1e-9) + rounding:
        raise Fault("false objective (simultaneous)", f"claimed {solution.objective!r}, is {value!r}")
    if not tells_value(solution):
        return False
    slack = rough + 2 * solution.gap + (0.0 if "gap" in solution.certificate else 1e-4)
    if value - best > slack * max(abs(value), 1e-9):
        raise Fault(
            f"false certificate ({type(model).__name__})",
            f"objective {value:.9g}, a point of {best:.9g} exists; gap claimed {solution.gap:.1e}",
        )
    return True
