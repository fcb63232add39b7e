"""Support vector machines of scikit-learn (libsvm, liblinear), as functions of plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC, LinearSVC

__all__ = ["calibrated", "liblinear", "libsvm", "libsvm_scores", "refits"]


def libsvm(X: np.ndarray, y: np.ndarray, C: float, gamma: float) -> np.ndarray:
    """Signed multipliers of a Gaussian-kernel SVM."""
    model = SVC(C=C, gamma=gamma, cache_size=2000).fit(X, y)
    u = np.zeros(len(y))
    u[model.support_] = model.dual_coef_[0]
    return u


def libsvm_scores(model: Any, X: np.ndarray) -> np.ndarray:
    """Scores of new rows."""
    return model.decision_function(X)


def liblinear(X: np.ndarray, y: np.ndarray, C: float, tol: float) -> np.ndarray:
    """Weights and intercept; liblinear penalises the intercept, which the scaling makes negligible."""
    model = LinearSVC(loss="hinge", C=C, tol=tol, intercept_scaling=10.0, max_iter=10_000).fit(X, y)
    return np.append(model.coef_[0], model.intercept_[0])


def calibrated(X: np.ndarray, y: np.ndarray) -> Any:
    """An SVM with a cross-validated sigmoid."""
    return CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)


def refits(X: np.ndarray, y: np.ndarray, m: int) -> list[Any]:
    """The weighted SVMs of bracketing, one after the other."""
    weights = ({0: 2 * j / m, 1: 2 * (1 - j / m)} for j in range(1, m))
    return [SVC(class_weight=weight, cache_size=2000).fit(X, y) for weight in weights]
