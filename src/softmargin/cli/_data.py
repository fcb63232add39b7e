"""The demo's patient: breast cancer from scikit-learn, with 15% of the training labels wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.model_selection import train_test_split

from softmargin.datasets import flip_labels, load

__all__ = ["Patients", "patients"]


@dataclass(frozen=True)
class Patients:
    """Standardised features, training labels with errors, which are wrong, and clean test labels."""

    X: np.ndarray
    y: np.ndarray
    wrong: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    names: list[str]

    @property
    def clean(self) -> np.ndarray:
        """The training labels before they were flipped."""
        other = np.where(self.y == "malignant", "benign", "malignant")
        return np.where(self.wrong, other, self.y)


@cache
def patients(rate: float = 0.15) -> Patients:
    """Two thirds to train, with ``rate`` of the labels flipped; one third to test, clean."""
    data = load("breast_cancer", encode=True)
    X, X_test, y, y_test = train_test_split(data.X, data.y, test_size=1 / 3, stratify=data.y, random_state=0)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    noisy, wrong = flip_labels(y, rate, random_state=0)
    return Patients((X - mean) / spread, noisy, wrong, (X_test - mean) / spread, y_test, data.feature_names)
