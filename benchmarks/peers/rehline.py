"""ReHLine: coordinate descent for piecewise linear-quadratic losses."""

from __future__ import annotations

import numpy as np
from rehline import plqERM_Ridge

__all__ = ["hinge"]


def hinge(X: np.ndarray, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    """Weights and intercept of a linear SVM; the intercept is a scaled constant column."""
    model = plqERM_Ridge(loss={"name": "svm"}, C=C, tol=tol, max_iter=100_000)
    model.fit(X=np.column_stack([X, np.full(len(X), 10.0)]), y=y)
    return np.append(model.coef_[:-1], 10.0 * model.coef_[-1])
