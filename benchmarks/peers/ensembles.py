"""scikit-learn's boosting: histogram trees of depth two, and AdaBoost over stumps."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier

__all__ = ["adaboost", "hist_boosting", "version"]


def version() -> str:
    return f"scikit-learn {sklearn.__version__}"


def hist_boosting(X: np.ndarray, y: np.ndarray, n_rules: int) -> Any:
    return HistGradientBoostingClassifier(max_depth=2, max_iter=n_rules).fit(X, y)


def adaboost(X: np.ndarray, y: np.ndarray, n_rules: int) -> Any:
    return AdaBoostClassifier(n_estimators=n_rules, random_state=0).fit(X, y)
