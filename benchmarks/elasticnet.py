"""Elastic-net paths and l1 fits: any smooth loss here against dedicated solvers.

Paths have 100 values of C from the first that moves a coefficient to 100 times it, l1_ratio 0.5, at certified relative
gaps of 1e-6; path peers stop by their default tolerances. Features are independent standard normals, 20 of them
informative. The l1 fits are on sparse data, 60 entries a row, at 5 and 50 times the first C; glum is left out there: it
forms the Hessian of all columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._harness import Contest, contest, peer
from softmargin import losses
from softmargin.expansions import expand
from softmargin.paths import margin_path
from softmargin.penalties import ElasticNet
from softmargin.problem import Problem
from softmargin.solvers import solve

L1_RATIO = 0.5


def _dense(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((n, p)))
    coef = np.zeros(p)
    coef[:20] = rng.standard_normal(20)
    return X, np.where(X @ coef + rng.logistic(size=n) > 0, 1.0, -1.0)


def _objectives(loss: Any, X: Any, y: np.ndarray, Cs: np.ndarray, l1_ratio: float, result: Any) -> np.ndarray:
    coefs, intercepts = np.atleast_2d(result[0]), np.atleast_1d(result[1])
    margins = y[:, None] * (X @ coefs.T + intercepts)
    ridge = 0.5 * (1 - l1_ratio) * np.square(coefs).sum(axis=1)
    return Cs * loss.value(margins).sum(axis=0) + ridge + l1_ratio * np.abs(coefs).sum(axis=1)


def _path(title: str, shape: tuple[int, int], loss: Any, bar: float, dream: float, peers: Any) -> Contest:
    X, y = _dense(*shape)
    grid = margin_path(X, y, loss=loss, l1_ratio=L1_RATIO, Cs=100, tol=1e-2).Cs

    def ours() -> tuple[np.ndarray, np.ndarray]:
        path = margin_path(X, y, loss=loss, l1_ratio=L1_RATIO, Cs=grid)
        return path.coefs, path.intercepts

    return Contest(
        title=f"{title}, dense {shape[0]} x {shape[1]}, 100 values",
        ours=ours,
        peers=peers(X, y, grid),
        objective=lambda result: _objectives(loss, X, y, grid, L1_RATIO, result),
        bar=bar,
        dream=dream,
    )


def _logistic_peers(X: np.ndarray, y: np.ndarray, grid: np.ndarray) -> dict[str, Any]:
    names = {"adelie": "adelie", "skglm (warm)": "skglm", "R glmnet": "glmnet"}
    return {name: peer(module, "logistic_path", X, y, grid, L1_RATIO) for name, module in names.items()}


def _huber_peers(X: np.ndarray, y: np.ndarray, grid: np.ndarray) -> dict[str, Any]:
    return {"R gcdnet": peer("glmnet", "huberized_hinge_path", X, y, grid, L1_RATIO)}


@contest
def wide_logistic(quick: bool) -> Contest:
    """Memory-bound: one pass over all columns per check."""
    return _path("Logistic path", (100, 2000) if quick else (200, 20000), losses.Logistic(), 0.8, 0.4, _logistic_peers)


@contest
def tall_logistic(quick: bool) -> Contest:
    """Bound by curvature and by evaluating the loss."""
    return _path("Logistic path", (2000, 50) if quick else (20000, 200), losses.Logistic(), 0.9, 0.5, _logistic_peers)


@contest
def wide_huber(quick: bool) -> Contest:
    """The hybrid huberised SVM."""
    shape = (100, 2000) if quick else (200, 20000)
    return _path("Huberised hinge path", shape, losses.HuberizedHinge(), 0.2, 0.1, _huber_peers)


@contest
def tall_huber(quick: bool) -> Contest:
    """The hybrid huberised SVM."""
    shape = (2000, 50) if quick else (20000, 200)
    return _path("Huberised hinge path", shape, losses.HuberizedHinge(), 0.2, 0.1, _huber_peers)


@contest
def wide_coherence(quick: bool) -> Contest:
    """C-learning; no peer fits this loss."""
    shape = (100, 2000) if quick else (200, 20000)
    return _path("Coherence path", shape, losses.Coherence(), 0.2, 0.1, lambda *_: {})


@contest
def tall_coherence(quick: bool) -> Contest:
    """C-learning; no peer fits this loss."""
    shape = (2000, 50) if quick else (20000, 200)
    return _path("Coherence path", shape, losses.Coherence(), 0.2, 0.1, lambda *_: {})


def _sparse(quick: bool) -> tuple[Any, np.ndarray]:
    n, p, per_row = (2000, 5000, 60) if quick else (20000, 50000, 60)
    rng = np.random.default_rng(0)
    columns = np.minimum((p * rng.random((n, per_row)) ** 2).astype(np.int32), p - 1)  # some words are common
    data = np.abs(rng.standard_normal((n, per_row)))
    X = sparse.csc_matrix((data.ravel(), (np.repeat(np.arange(n), per_row), columns.ravel())), shape=(n, p))
    coef = np.where(rng.random(p) < 0.01, rng.standard_normal(p), 0.0)
    return X, np.where(X @ coef + 0.5 * rng.logistic(size=n) > 0, 1.0, -1.0)


def _l1(quick: bool, times: float, word: str) -> Contest:
    X, y = _sparse(quick)
    C = times * margin_path(X, y, l1_ratio=1.0, Cs=1).Cs[0]
    problem = Problem(losses.Logistic(), expand(X), y, np.full(len(y), C), ElasticNet(1.0))

    def ours() -> tuple[np.ndarray, float]:
        solution = solve(problem, tol=1e-4)
        return solution.coef, solution.intercept

    return Contest(
        title=f"L1 logistic, {word} penalty, sparse {X.shape[0]} x {X.shape[1]}",
        ours=ours,
        peers={
            "skglm": peer("skglm", "logistic", X, y, C, 1.0),
            "skglm, tol = 3e-5": peer("skglm", "logistic", X, y, C, 1.0, tol=3e-5),
            "skglm, tol = 1e-5": peer("skglm", "logistic", X, y, C, 1.0, tol=1e-5),
            "celer (no intercept)": peer("celer", "logistic", X, y, C),
            "liblinear": peer("sklearn", "logistic", X, y, C, 1.0, solver="liblinear"),
        },
        objective=lambda result: _objectives(losses.Logistic(), X, y, np.array([C]), 1.0, result),
        bar=0.7,
        dream=0.3,
        tolerance=1e-4,
        note="All stop at their tolerance of 1e-4, skglm also at smaller ones as its own leaves it above the others; "
        "ours is a certified gap relative to the objective.",
    )


@contest
def strong_l1(quick: bool) -> Contest:
    """Few coefficients."""
    return _l1(quick, 5.0, "strong")


@contest
def weak_l1(quick: bool) -> Contest:
    """Many coefficients."""
    return _l1(quick, 50.0, "weak")
