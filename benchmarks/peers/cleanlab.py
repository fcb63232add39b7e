"""cleanlab's label quality scores, issues and noise matrix from out-of-fold probabilities, and its robust learner."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Any

import numpy as np
from cleanlab.classification import CleanLearning
from cleanlab.count import estimate_py_and_noise_matrices_from_probabilities
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.model_selection import StratifiedKFold, cross_val_predict

__all__ = ["audit", "clean_learning", "trust", "version"]

_SCORES: dict[str, dict[str, Any]] = {
    "self_confidence": {"method": "self_confidence"},
    "normalized_margin": {"method": "normalized_margin"},
    "adjusted": {"method": "self_confidence", "adjust_pred_probs": True},
    "adjusted margin": {"method": "normalized_margin", "adjust_pred_probs": True},
}


def version() -> str:
    return f"cleanlab {installed('cleanlab')}"


def trust(estimator: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Label quality of each row for labels 0..k-1."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    P = cross_val_predict(estimator, X, y, cv=folds, method="predict_proba")
    return np.asarray(get_label_quality_scores(y, P))


def audit(P: np.ndarray, y: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Scores of every row by name, the rows flagged, and the matrix with the true class in rows."""
    P = np.clip(P, 1e-9, 1)
    P = P / P.sum(axis=1, keepdims=True)
    scores = {name: np.asarray(get_label_quality_scores(y, P, **options)) for name, options in _SCORES.items()}
    matrix = estimate_py_and_noise_matrices_from_probabilities(y, P)[1]
    return scores, np.asarray(find_label_issues(y, P, n_jobs=1)), np.asarray(matrix).T


def clean_learning(estimator: Any, X: Any, y: np.ndarray) -> Any:
    """``CleanLearning`` fitted to noisy labels."""
    return CleanLearning(estimator, seed=0, find_label_issues_kwargs={"n_jobs": 1}).fit(X, y)
