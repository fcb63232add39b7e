"""scikit-learn, including liblinear through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

__all__ = ["logistic", "svc_refits", "version"]


def version() -> str:
    return f"scikit-learn {sklearn.__version__}"


def logistic(
    X: Any, y: np.ndarray, C: float, l1_ratio: float, *, solver: str, tol: float = 1e-4, max_iter: int = 10_000
) -> tuple[np.ndarray, float]:
    """Logistic regression; ``solver="liblinear"`` penalises its intercept, so its scaling is made large."""
    scaling = {"intercept_scaling": 100.0} if solver == "liblinear" else {}
    model = LogisticRegression(C=C, l1_ratio=l1_ratio, solver=solver, tol=tol, max_iter=max_iter, **scaling)
    model.fit(X, y)
    return model.coef_.ravel(), float(model.intercept_[0])


def svc_refits(X: Any, y: np.ndarray, gamma: float, costs: list[float], class_weights: list[Any]) -> list[SVC]:
    """One fit per cost and class weight, at libsvm's default tolerance."""
    pairs = zip(costs, class_weights, strict=True)
    return [SVC(C=C, gamma=gamma, class_weight=weight).fit(X, y) for C, weight in pairs]
