"""Which columns a fitted model reads, and whether they are numbers, texts, truth values or dates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from softmargin._constraints import check_fitted
from softmargin.expansions import RuleScore, TreeScore
from softmargin.export._column_levels import column_levels, kind_of_levels
from softmargin.export._formula import Column
from softmargin.export._models import Answer, answer, is_a, translates
from softmargin.export._rows import Rows
from softmargin.export._tables import category_kind
from softmargin.export._transformers import transformed

__all__ = ["columns_read", "describe_inputs", "translated"]


def columns_read(model: Any) -> Rows:
    """The columns that a classifier or pipeline was fitted with."""
    check_fitted("model", model)
    names = _names(model)
    return Rows.read(describe_inputs(model, names))


def translated(model: Any, rows: Rows) -> Answer:
    """The formulas of a fitted classifier or pipeline over those columns."""
    return answer(model, rows)


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


def describe_inputs(model: Any, names: list[str]) -> list[Column]:
    """Every column: its kind, and its levels where the model knows them."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps[:-1] if step not in (None, "passthrough")]
        if not steps:
            return describe_inputs(model.steps[-1][1], names)
        levels = column_levels(Pipeline(list(enumerate(steps))), names)
        return [_column(name, levels.get(j, [])) for j, name in enumerate(names)]
    if is_a(model, "ScoreCalibrator"):
        return describe_inputs(model.estimator_, names)
    if is_a(model, "TunedClassifier"):
        return describe_inputs(model.best_estimator_, names)
    kinds = ["number"] * len(names)
    if is_a(model, "AutoClassifier"):
        kinds = _auto_kinds(model, names)
    if is_a(model, "RuleBoostClassifier"):
        kinds = _rule_kinds(model)
    return [Column(name, kind) for name, kind in zip(names, kinds, strict=True)]


def _column(name: str, levels: list[Any]) -> Column:
    kind = kind_of_levels(levels)
    return Column(name, kind, tuple(str(level) for level in levels if isinstance(level, str)))


def _auto_kinds(model: Any, names: list[str]) -> list[str]:
    encoder, kinds = model.encoder_, ["number"] * len(names)
    if model._kinds is None:
        return kinds
    place = 0
    for j, decision in enumerate(encoder.decisions):
        if decision.kind == "category":
            kinds[j], place = category_kind(model, j, place), place + 1
        elif model._kinds[j]:
            kinds[j] = "text"
        elif j in encoder.dates:
            kinds[j] = "date"
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
