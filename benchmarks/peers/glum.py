"""glum: generalised linear models by iteratively reweighted least squares."""

from __future__ import annotations

from typing import Any

import glum
import numpy as np
from glum import GeneralizedLinearRegressor

__all__ = ["logistic", "version"]


def version() -> str:
    return f"glum {glum.__version__}"


def logistic(X: Any, y: np.ndarray, C: float, l1_ratio: float, tol: float | None = None) -> tuple[np.ndarray, float]:
    """One fit; glum minimises half the mean deviance, so alpha = 1 / (C n)."""
    model = GeneralizedLinearRegressor(
        family="binomial", alpha=1.0 / (C * len(y)), l1_ratio=l1_ratio, gradient_tol=tol, scale_predictors=False
    )
    model.fit(X, (y > 0).astype(float))
    return model.coef_, float(model.intercept_)
