"""How sample weights reach the last step of any classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

__all__ = ["weight_parameters"]


def weight_parameters(estimator: Any, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """The keyword arguments of ``estimator.fit`` that carry the weights; a pipeline hands them to its last step."""
    if weight is None:
        return {}
    name, last = "sample_weight", estimator
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        name = f"{step}__{name}"
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"sample_weight was given but {type(last).__name__}.fit does not take it; leave it out, or use a "
            "classifier that does."
        )
    return {name: weight}
