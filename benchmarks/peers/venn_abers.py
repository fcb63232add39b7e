"""Venn-Abers calibration (cross-fitted)."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Any

import numpy as np
from venn_abers import VennAbersCalibrator

__all__ = ["probabilities", "version"]


def version() -> str:
    return f"venn-abers {installed('venn-abers')}"


def probabilities(estimator: Any, X: np.ndarray, y: np.ndarray, X_new: np.ndarray) -> np.ndarray:
    """P(y = 1) of new rows for labels in {0, 1}."""
    calibrator = VennAbersCalibrator(estimator=estimator, inductive=False, n_splits=5, random_state=0)
    calibrator.fit(X, y)
    return np.asarray(calibrator.predict_proba(X_new))[:, 1]
