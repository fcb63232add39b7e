"""skglm: working sets and Anderson-accelerated coordinate descent, compiled on the first call."""

from __future__ import annotations

from typing import Any

import numpy as np
import skglm
from skglm.datafits import Logistic
from skglm.penalties import L1, L1_plus_L2
from skglm.solvers import ProxNewton

__all__ = ["logistic", "logistic_path", "version"]


def version() -> str:
    return f"skglm {skglm.__version__}"


def _penalty(C: float, l1_ratio: float, n: int) -> Any:
    strength = 1.0 / (C * n)
    return L1(strength) if l1_ratio == 1 else L1_plus_L2(strength, l1_ratio)


def logistic(X: Any, y: np.ndarray, C: float, l1_ratio: float, tol: float = 1e-4) -> tuple[np.ndarray, float]:
    """One fit by proximal Newton, intercept included."""
    solver = ProxNewton(tol=tol, fit_intercept=True, max_iter=50)
    w = solver.solve(X, y, Logistic(), _penalty(C, l1_ratio, len(y)))[0]
    return w[:-1], float(w[-1])


def logistic_path(
    X: Any, y: np.ndarray, Cs: np.ndarray, l1_ratio: float, tol: float = 1e-4
) -> tuple[np.ndarray, np.ndarray]:
    """A warm-started path, as skglm's own path functions do it."""
    solver = ProxNewton(tol=tol, fit_intercept=True, max_iter=50, warm_start=True)
    w, Xw, found = np.zeros(X.shape[1] + 1, X.dtype), np.zeros(len(y), X.dtype), []
    for C in Cs:
        w = solver.solve(X, y, Logistic(), _penalty(C, l1_ratio, len(y)), w_init=w, Xw_init=Xw)[0]
        Xw = X @ w[:-1] + w[-1]
        found.append(w.copy())
    path = np.array(found)
    return path[:, :-1], path[:, -1]
