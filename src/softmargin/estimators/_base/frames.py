"""Checks of a table that is read column by column, names and missing values included, instead of as one array.

scikit-learn's own checks would turn the columns into numbers, so only its bookkeeping (number and names of features) is
asked of it; the rest of what it says about arrays is said here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from softmargin.estimators._base.training_set import check_labels

__all__ = ["check_frame"]


def check_frame(estimator: Any, X: Any, **checks: Any) -> np.ndarray | None:
    """Check a frame, and its labels where given, which come back as an array; the estimator learns its features."""
    if "y" in checks and checks["y"] is None:
        raise ValueError("fit requires y to be passed, but the target y is None; give one label per row of X.")
    y = checks.pop("y", None)
    validate_data(estimator, X, skip_check_array=True, **checks)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(f"X has shape {X.shape}; at least one row and one column are needed.")
    if y is None:
        return None
    return check_labels(X, y)
