"""Exact solution paths against refitting scikit-learn's SVC at a grid of parameter values.

The path holds the exact solution at every value; the refits hold a grid, each to libsvm's tolerance. Both are valued by
the primal objective at the grid. R's svmpath and probsvm are the direct rivals; they need R and are not raced here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks._harness import Contest, contest, peer
from softmargin.paths import Path, cost_path, weight_path

__all__ = ["cost", "weight_large", "weight_small"]


def _disk(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform on the unit disk, labelled by its left and right half, a fifth of the labels flipped."""
    rng = np.random.default_rng(0)
    radius, angle = np.sqrt(rng.random(n)), 2 * np.pi * rng.random(n)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    y = np.where(X[:, 0] >= 0, 1, -1)
    flipped = rng.permutation(n)[: n // 5]
    y[flipped] *= -1
    return X, y


def _objectives(X: np.ndarray, y: np.ndarray, gamma: float, values: np.ndarray, costs: Any) -> Any:
    K = np.exp(-gamma * ((X[:, None] - X[None]) ** 2).sum(-1))

    def value(result: Any) -> np.ndarray:
        if isinstance(result, Path):
            return np.array([result.at(t).objective for t in values])
        out = []
        for model, t in zip(result, values, strict=True):
            u = np.zeros(len(y))
            u[model.support_] = model.dual_coef_.ravel()
            h = K @ u
            loss = np.maximum(1 - y * (h + model.intercept_[0]), 0)
            out.append(0.5 * u @ h + costs(t) @ loss)
        return np.array(out)

    return value


def _weight(n: int, bar: float) -> Contest:
    X, y = _disk(n)
    gamma, C, values = 1.0, 50.0 / n, np.linspace(0.02, 0.98, 200)
    weights = [{1: 2 * (1 - pi), -1: 2 * pi} for pi in values]

    def costs(pi: float) -> np.ndarray:
        return 2 * C * np.where(y > 0, 1 - pi, pi)

    return Contest(
        title=f"Class-weight path, rbf, n = {n}: every weight, against 200 weights",
        ours=lambda: weight_path(X, y, C=C, kernel="rbf", gamma=gamma),
        peers={"SVC refits": peer("sklearn", "svc_refits", X, y, gamma, [C] * len(values), weights)},
        objective=_objectives(X, y, gamma, values, costs),
        bar=bar,
        dream=0.5 * bar,
        runs=2,
        tolerance=1e-4,
    )


@contest
def weight_small(quick: bool) -> Contest:
    return _weight(100 if quick else 400, 1.0)


@contest
def weight_large(quick: bool) -> Contest:
    return _weight(200 if quick else 1000, 1.0)


@contest
def cost(quick: bool) -> Contest:
    n = 100 if quick else 500
    rng = np.random.default_rng(1)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    X = rng.normal(size=(n, 2))
    X[:, 0] += y
    values = np.logspace(-2, 3, 100)
    return Contest(
        title=f"Cost path, rbf, n = {n}: every C up to 1000, against 100 values",
        ours=lambda: cost_path(X, y, C_max=1e3, kernel="rbf", gamma=1.0),
        peers={"SVC refits": peer("sklearn", "svc_refits", X, y, 1.0, list(values), [None] * len(values))},
        objective=_objectives(X, y, 1.0, values, lambda C: np.full(n, C)),
        bar=0.2,
        dream=0.1,
        runs=3,
        tolerance=1e-4,
    )
