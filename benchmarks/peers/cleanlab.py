"""cleanlab's label quality scores from out-of-fold probabilities."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Any

import numpy as np
from cleanlab.rank import get_label_quality_scores
from sklearn.model_selection import StratifiedKFold, cross_val_predict

__all__ = ["trust", "version"]


def version() -> str:
    return f"cleanlab {installed('cleanlab')}"


def trust(estimator: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Label quality of each row for labels 0..k-1."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    P = cross_val_predict(estimator, X, y, cv=folds, method="predict_proba")
    return np.asarray(get_label_quality_scores(y, P))
