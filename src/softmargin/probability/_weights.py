"""What sample weights may be, and how they reach the last step of any classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from softmargin._constraints import as_array, check_unmasked

__all__ = ["check_weight_range", "checked_weights", "row_weights", "weight_parameters"]

_MOST_WEIGHT = 1e100  # squares of weights, and sums of them, stay below the largest double 1e308


def checked_weights(given: Any, n: int, name: str = "sample_weight") -> np.ndarray:
    """One finite, nonnegative number per row, all ones by default."""
    check_unmasked(name, given)
    kind = "none" if given is None else as_array(name, given).dtype.name
    if kind.startswith(("complex", "str", "bytes", "datetime", "timedelta")):
        raise ValueError(f"{name} must hold a nonnegative number per row; got values of type {kind}.")
    try:
        weight = _check_sample_weight(given, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
    except (TypeError, ValueError, OverflowError) as error:
        said = str(error).replace("sample_weight", name)
        raise ValueError(said if name in said else f"{name} must hold a nonnegative number per row: {said}") from None
    if not np.isfinite(weight).all():  # one number for all rows is not looked at there
        raise ValueError(f"{name} contains NaN or infinite values; got {given!r}.")
    return weight


def row_weights(given: Any, n: int, name: str = "sample_weight") -> np.ndarray:
    """Such weights, not all zero, and such as can be added up."""
    weight = checked_weights(given, n, name)
    if not np.any(weight > 0):
        raise ValueError(f"{name} is zero for every row; at least one row of each class needs a positive weight.")
    check_weight_range(weight[weight > 0], name=name)
    return weight


def check_weight_range(weights: np.ndarray, C: Any = None, name: str = "sample_weight") -> None:
    """Refuse weights whose squares, times ``C``, leave the range of double precision."""
    scale = float(C) if isinstance(C, Real) else 1.0
    least, most = float(weights.min()) * scale, float(weights.max()) * scale
    if most > _MOST_WEIGHT or least < 1 / _MOST_WEIGHT:
        raise ValueError(
            f"{name}{'' if C is None else ' times C'} runs from {least:.2g} to {most:.2g}, beyond what double "
            "precision can add up; divide the weights by a constant so that they lie between "
            f"{1 / _MOST_WEIGHT:g} and {_MOST_WEIGHT:g}."
        )


def weight_parameters(estimator: Any, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """The keyword arguments of ``estimator.fit`` that carry the weights; a pipeline hands them to its last step."""
    if weight is None:
        return {}
    steps, last = [], estimator
    while isinstance(last, Pipeline):
        step, last = last.steps[-1]
        steps.append(step)
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(
            f"sample_weight was given but {type(last).__name__}.fit does not take it; leave it out, or use a "
            "classifier that does."
        )
    return {"__".join([*steps, "sample_weight"]): weight}
