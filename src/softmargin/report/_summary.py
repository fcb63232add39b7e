"""Every number of a report, as plain lists and dictionaries; ``docs/report.md`` documents the schema."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import (
    NONE,
    Constraint,
    check_each,
    check_fitted,
    check_labels,
    count_rows,
    finite_numbers,
    integer,
    mapping,
)
from softmargin.report._baselines import crossed_baselines, fit_baselines
from softmargin.report._columns import dependence, importance, reading
from softmargin.report._held_out import HeldOut, as_table, shorten
from softmargin.report._labels import labels
from softmargin.report._paths import exact_paths
from softmargin.report._reliability import reliability
from softmargin.report._scores import LEVEL, confusion, scores, thresholds
from softmargin.report._terms import terms

__all__ = ["SCHEMA", "summarise"]

Array = NDArray[np.floating[Any]]

SCHEMA = 2
_MOST_COLUMNS, _MOST_CLASSES = 200, 200
_OPTIONS = {
    "training": NONE | Constraint("a pair (X, y)", lambda value: isinstance(value, (tuple, list)) and len(value) == 2),
    "baselines": NONE | mapping("a dict from names to probabilities"),
    "random_state": integer(0),
}


def summarise(
    model: Any,
    X: Any,
    y: Any,
    *,
    training: tuple[Any, Any] | None = None,
    baselines: Mapping[str, Array] | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """The numbers of a report about a fitted classifier, from rows it has not seen.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``
    X, y : rows and labels that were not used to fit
    training : pair (X, y), optional
        The rows the model was fitted to: class shares, logistic regression and boosted trees are fitted to
        them, and coefficients get intervals. Without, they are fitted to the other folds of X.
    baselines : dict of str to array of shape (n, k), optional
        Probabilities of the rows of ``X`` by other classifiers, instead of these.
    random_state : int
        Of samples of rows and shuffled columns.

    Returns
    -------
    dict
        Its keys are documented in docs/report.md.
    """
    check_each(_OPTIONS, training=training, baselines=baselines, random_state=random_state)
    held = _held_out(model, X, y, random_state)
    others = _beside(held, training) if baselines is None else _given(baselines, held.P.shape)
    named = {type(model).__name__: held.P, **others}
    columns = importance(held)
    leading = [item["column"] for item in columns]
    return {
        "schema": SCHEMA,
        "level": LEVEL,
        "data": _data(held),
        "scores": {shorten(name): scores(np.asarray(P), held.codes) for name, P in named.items()},
        "baselines_crossed": baselines is None and training is None,
        "reliability": reliability(held.P, held.codes),
        "thresholds": thresholds(held.P[:, 1], held.codes) if len(held.classes) == 2 else None,
        "confusion": confusion(held.P, held.codes),
        "paths": exact_paths(held, leading),
        "labels": labels(held),
        "columns": columns,
        "terms": terms(model, training),
        "dependence": dependence(held, leading),
        "reading": reading(held, leading),
        "made": _made(model),
    }


def _beside(held: HeldOut, training: tuple[Any, Any] | None) -> dict[str, Array]:
    if training is None:
        return crossed_baselines(held.X, held.codes, len(held.classes))
    X, y = as_table(training[0]), training[1]
    y = check_labels(y, held.classes, count_rows("training[0]", X), ("training[1]", "training[0]"))
    return fit_baselines(X, y, held.X, held.classes)


def _given(baselines: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, Array]:
    return {name: finite_numbers(f"baselines[{name!r}]", P, *shape) for name, P in baselines.items()}


def _held_out(model: Any, X: Any, y: Any, seed: int) -> HeldOut:
    if hasattr(model, "fit"):  # what has none was made elsewhere
        check_fitted("model", model)
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"model must have predict_proba; {type(model).__name__} has none. Wrap it in ScoreCalibrator first."
        )
    classes = np.asarray(model.classes_)
    y = check_labels(y, classes, count_rows("X", X))
    if not len(y):
        raise ValueError("y is empty; a report needs rows that the model has not seen.")
    P = np.asarray(model.predict_proba(X), dtype=np.float64)
    return HeldOut(model, as_table(X), np.searchsorted(classes, y), classes, P, seed)


def _data(held: HeldOut) -> dict[str, Any]:
    decisions = getattr(getattr(held.model, "encoder_", None), "decisions", [])[:_MOST_COLUMNS]
    return {
        "rows": len(held),
        "n_columns": int(held.X.shape[1]) if getattr(held.X, "ndim", 0) == 2 else 1,
        "n_classes": len(held.classes),
        "classes": held.names[:_MOST_CLASSES],
        "counts": np.bincount(held.codes, minlength=len(held.classes)).tolist()[:_MOST_CLASSES],
        "columns": [{"name": shorten(d.name), "kind": d.kind, "reason": shorten(d.reason, 200)} for d in decisions],
        "mixture": {shorten(name): float(w) for name, w in getattr(held.model, "mixture_", {}).items()},
    }


def _made(model: Any) -> dict[str, Any]:
    libraries = ("softmargin", "numpy", "scipy", "scikit-learn")
    made: dict[str, Any] = {"model": shorten(" ".join(repr(model).split()), 600)}
    solution = getattr(model, "solution_", None)
    if solution is not None and hasattr(solution, "gap"):
        made["certificate"] = f"{getattr(solution, 'certificate', 'gap')} {float(solution.gap):.1e}"
        made["converged"] = "yes" if bool(solution.converged) else "no"
    return made | {"python": platform.python_version(), **{name: version(name) for name in libraries}}
