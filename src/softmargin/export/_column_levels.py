"""Which levels a transformer learnt of each column, and so which columns are texts or truth values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from softmargin.export._encoders import is_gap
from softmargin.export._transformers import column_places

__all__ = ["column_levels", "kind_of_levels"]


def column_levels(transformer: Any, names: Sequence[str]) -> dict[int, list[Any]]:
    """The levels of the columns that a transformer encodes or fills with words, by the number of the column."""
    if isinstance(transformer, Pipeline):
        return _of_steps([step for _, step in transformer.steps], names)
    if isinstance(transformer, ColumnTransformer):
        found: dict[int, list[Any]] = {}
        for _, one, columns in transformer.transformers_:
            places = column_places(columns, names)
            levels = column_levels(one, [names[place] for place in places])
            found |= {places[j]: of_one for j, of_one in levels.items()}
        return found
    if isinstance(transformer, FeatureUnion):
        parts = [column_levels(one, names) for _, one in transformer.transformer_list]
        return {j: levels for part in parts for j, levels in part.items()}
    if isinstance(transformer, OneHotEncoder | OrdinalEncoder):
        return {j: list(levels) for j, levels in enumerate(transformer.categories_)}
    if isinstance(transformer, SimpleImputer):
        return {j: [value] for j, value in enumerate(transformer.statistics_) if isinstance(value, str)}
    return {}


def _of_steps(steps: Sequence[Any], names: Sequence[str]) -> dict[int, list[Any]]:
    """What the first step says that is no imputer; imputers before it leave out columns that were empty at fit."""
    places = list(range(len(names)))
    fills: dict[int, list[Any]] = {}
    for step in steps:
        if not isinstance(step, SimpleImputer):
            own = column_levels(step, [names[place] for place in places])
            told = {places[j]: levels for j, levels in own.items()}
            return fills | {j: [one for one in levels if [one] != fills.get(j)] for j, levels in told.items()}
        fills |= {places[j]: value for j, value in column_levels(step, names).items()}
        places = [place for place, value in zip(places, step.statistics_, strict=True) if not is_gap(value)]
    return fills


def kind_of_levels(levels: Sequence[Any]) -> str:
    """Whether levels are "text", "boolean" or "number"; gaps are of any kind."""
    present = [level for level in levels if not is_gap(level)]
    if any(isinstance(level, str) for level in present):
        return "text"
    booleans = bool(present) and all(type(level).__name__ in ("bool", "bool_") for level in present)
    return "boolean" if booleans else "number"
