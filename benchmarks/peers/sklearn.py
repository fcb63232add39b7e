"""scikit-learn, including liblinear through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression

__all__ = ["logistic", "version"]


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
