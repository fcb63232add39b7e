"""The demo's patients: breast cancer from scikit-learn, with 15% of the training labels wrong on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from softmargin.datasets import flip_labels, load

__all__ = ["Patients", "patients"]


@dataclass(frozen=True)
class Patients:
    """Training rows whose labels have errors, and test rows whose labels do not.

    ``table`` holds the measurements in their own units, ``X`` the same standardised; ``wrong`` marks the flipped rows.
    """

    table: Any
    X: np.ndarray
    y: np.ndarray
    wrong: np.ndarray
    table_test: Any
    X_test: np.ndarray
    y_test: np.ndarray

    @property
    def names(self) -> list[str]:
        """The measurements."""
        return list(self.table.columns)

    @property
    def clean(self) -> np.ndarray:
        """The training labels before they were flipped."""
        other = np.where(self.y == "malignant", "benign", "malignant")
        return np.where(self.wrong, other, self.y)


@cache
def patients(rate: float = 0.15) -> Patients:
    """Two thirds to train, with ``rate`` of the labels flipped; one third to test, clean."""
    data = load("breast_cancer")
    table, table_test, y, y_test = train_test_split(data.X, data.y, test_size=1 / 3, stratify=data.y, random_state=0)
    X, X_test = table.to_numpy(), table_test.to_numpy()
    mean, spread = X.mean(axis=0), X.std(axis=0)
    noisy, wrong = flip_labels(y, rate, random_state=0)
    return Patients(table, (X - mean) / spread, noisy, wrong, table_test, (X_test - mean) / spread, y_test)
