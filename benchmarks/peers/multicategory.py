"""Multicategory rivals in scikit-learn: liblinear's Crammer-Singer, libsvm's one-vs-one, ridge and logistic fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import sklearn
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC, LinearSVC

__all__ = ["crammer_singer", "kernel_ridge", "multinomial", "one_vs_one", "ridge", "version"]


def version() -> str:
    return f"scikit-learn {sklearn.__version__}"


def multinomial(X: Any, y: np.ndarray, C: float) -> Any:
    """Multinomial logistic regression by its default solver."""
    return LogisticRegression(C=C, max_iter=1000).fit(X, y)


def ridge(X: Any, y: np.ndarray, alpha: float) -> Any:
    """Ridge regression of class indicators."""
    return RidgeClassifier(alpha=alpha).fit(X, y)


def kernel_ridge(X: Any, y: np.ndarray, gamma: float, alpha: float) -> Any:
    """Kernel ridge regression of class indicators (made outside the clock by ``y`` given as one-hot)."""
    return KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha).fit(X, y)


def crammer_singer(X: Any, y: np.ndarray, C: float, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """liblinear's Crammer-Singer machine, which penalises its intercept."""
    model = LinearSVC(multi_class="crammer_singer", C=C, tol=tol, max_iter=10**6, random_state=0).fit(X, y)
    return model.coef_, model.intercept_


def one_vs_one(X: Any, y: np.ndarray, C: float, gamma: float) -> Any:
    """libsvm, one machine per pair of classes."""
    return SVC(C=C, gamma=gamma).fit(X, y)
