"""What a model says of itself: the rules of a rule set with their support, the coefficients of a linear machine."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.inference import Inference
from softmargin.report._held_out import shorten

__all__ = ["terms"]

Array = NDArray[np.floating[Any]]

_SHOWN = 40


def terms(model: Any, training: tuple[Any, Any] | None) -> dict[str, Any] | None:
    """A table of the largest terms; None for a model that is not a sum of readable ones."""
    if hasattr(model, "rule_support_"):
        return _rules(model)
    coef = np.atleast_2d(getattr(model, "coef_", np.zeros((2, 0))))
    if coef.shape[0] == 1 and coef.shape[1] > 0:
        return _coefficients(model, coef[0], training)
    return None


def _rules(model: Any) -> dict[str, Any] | None:
    rules = model.rules_
    if "coefficient" not in rules:
        return None
    largest = rules.reindex(rules["coefficient"].abs().sort_values(ascending=False).index)[:_SHOWN]
    cells = zip(largest["text"], largest["coefficient"], largest["support"], strict=True)
    rows = [[shorten(rule, 200), f"{coefficient:+.3f}", f"{100 * share:.1f}%"] for rule, coefficient, share in cells]
    return {"title": "Its rules", "head": ["rule", "coefficient", "rows it covers"], "rows": rows}


def _coefficients(model: Any, coef: Array, training: tuple[Any, Any] | None) -> dict[str, Any]:
    names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(coef))])
    largest = np.argsort(-np.abs(coef), kind="stable")[:_SHOWN]
    interval = _intervals(model, training)
    rows = [[shorten(names[j]), f"{coef[j]:+.4g}"] for j in largest]
    head = ["column", "coefficient"]
    if interval is not None:
        head.append("95% interval")
        rows = [[*row, "{:.4g} to {:.4g}".format(*interval[j])] for row, j in zip(rows, largest, strict=True)]
    return {"title": "Its coefficients", "head": head, "rows": rows}


def _intervals(model: Any, training: tuple[Any, Any] | None) -> Array | None:
    """Of the training rows, where the model has valid ones."""
    if training is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(Inference(model, *training).coef_interval(0.95))
    except (TypeError, ValueError, AttributeError):
        return None  # selected coefficients, several classes, another library's machine: there is no interval to show
