"""celer: l1 logistic regression with dual extrapolation and working sets; it has no intercept."""

from __future__ import annotations

from typing import Any

import celer
import numpy as np
from celer import LogisticRegression

__all__ = ["logistic", "version"]


def version() -> str:
    return f"celer {celer.__version__}"


def logistic(X: Any, y: np.ndarray, C: float, tol: float = 1e-4) -> tuple[np.ndarray, float]:
    """The l1 problem without intercept."""
    model = LogisticRegression(C=C, tol=tol, fit_intercept=False, max_iter=100).fit(X, y)
    return model.coef_.ravel(), 0.0
