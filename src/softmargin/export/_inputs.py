"""Which columns a fitted model reads, and whether they are numbers, texts or truth values."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from softmargin._constraints import check_fitted
from softmargin.expansions import RuleScore, TreeScore
from softmargin.export._models import Answer, answer, is_a, translates
from softmargin.export._rows import Rows
from softmargin.export._tables import category_kind
from softmargin.export._transformers import text_columns, transformed

__all__ = ["describe_inputs", "translated"]


def translated(model: Any) -> Answer:
    """The formulas of a fitted classifier or pipeline over the columns it was fitted with."""
    check_fitted("model", model)
    names = _names(model)
    return answer(model, Rows.read(names, describe_inputs(model, names)))


@translates(Pipeline)
def _pipeline(model: Any, rows: Rows) -> Answer:
    for _, step in model.steps[:-1]:
        rows = transformed(step, rows)
    return answer(model.steps[-1][1], rows)


def _names(model: Any) -> list[str]:
    first = model
    while isinstance(first, Pipeline) and not hasattr(first, "feature_names_in_"):
        first = first.steps[0][1]
    names = getattr(first, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(first.n_features_in_)]
    return [str(name) for name in names]


def describe_inputs(model: Any, names: list[str]) -> list[str]:
    """The kind of every column: "number", "text" or "boolean"."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        if not steps:
            return describe_inputs(model.steps[-1][1], names)
        texts = text_columns(steps[0], names)
        return ["text" if j in texts else "number" for j in range(len(names))]
    if is_a(model, "ScoreCalibrator"):
        return describe_inputs(model.estimator_, names)
    if is_a(model, "TunedClassifier"):
        return describe_inputs(model.best_estimator_, names)
    if is_a(model, "AutoClassifier"):
        return _auto_kinds(model, names)
    if is_a(model, "RuleBoostClassifier"):
        return _rule_kinds(model)
    return ["number"] * len(names)


def _auto_kinds(model: Any, names: list[str]) -> list[str]:
    encoder, kinds = model.encoder_, ["number"] * len(names)
    if model._kinds is None:
        return kinds
    place = 0
    for j, decision in enumerate(encoder.decisions):
        if decision.kind == "category":
            kinds[j], place = category_kind(encoder, place), place + 1
        elif model._kinds[j]:
            kinds[j] = "text"
    return kinds


def _rule_kinds(model: Any) -> list[str]:
    values: dict[int, list[Any]] = {j: [] for j, categorical in enumerate(model._kinds) if categorical}
    if isinstance(model._score, RuleScore):
        for rule in model._score.rules:
            for literal in rule.literals:
                if literal.feature in values and literal.value is not None:
                    values[literal.feature].append(literal.value)
    elif isinstance(model._score, TreeScore):
        for j in values:
            values[j] = list(model._score.categories.get(j, ((), False))[0])
    return [_kind(values[j]) if j in values else "number" for j in range(len(model._kinds))]


def _kind(values: list[Any]) -> str:
    if values and all(isinstance(value, bool | np.bool_) for value in values):
        return "boolean"
    numbers = values and all(isinstance(value, int | float | np.number) for value in values)
    return "number" if numbers else "text"
