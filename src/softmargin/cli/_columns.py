"""What the columns of a table are: told to the reader of a file, so that a part of it is read like the whole.

A file says what its columns are by the cells it happens to hold: "010" beside "x" is a word, alone it is a number. What
a column was where a model learnt from it decides how it is read from then on. Models of numbers get columns of two
sorts: numbers, truth values among them, and words, of which a gap is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from softmargin.cli._read import BadInput
from softmargin.expansions import Table, held

__all__ = ["column_kinds", "encoder", "kinds_of", "plain_columns"]

_NUMBERS, _WORDS = "numbers", "words"


def kinds_of(frame: Any) -> dict[str, str]:
    """What the columns of a frame hold: "number", "boolean", "date" or "text"; those without a value are left out."""
    found = {str(name): _kind(frame[name]) for name in frame.columns}
    return {name: kind for name, kind in found.items() if kind is not None}


def _kind(series: Any) -> str | None:
    name = str(series.dtype).lower()
    if name.startswith(("date", "time", "period", "duration")):
        return "date"
    cells = held(np.asarray(series.dropna().unique(), dtype=object))
    if len(cells) == 1 and cells <= {"number", "boolean", "date"}:
        return cells.pop()
    return "text" if cells else None


def column_kinds(model: Any) -> dict[str, str]:
    """What the columns of a model were when it was fitted; none are known of models that keep no names."""
    words = _words(model)
    if words is not None:
        return dict.fromkeys(words, "text")
    kinds, names = getattr(model, "_kinds", None), getattr(model, "feature_names_in_", None)
    if kinds is None or names is None:
        return {}
    encoder = getattr(model, "encoder_", None)
    told = dict(zip(map(str, names), kinds, strict=True))
    told |= {str(names[j]): "date" for j in getattr(encoder, "dates", ())}
    truths = _truths(encoder)
    old = {name: "boolean" if name in truths else "text" for name in told}  # what True meant in files of version 0.2
    return {name: kind if isinstance(kind, str) else old[name] if kind else "number" for name, kind in told.items()}


def _truths(encoder: Any) -> list[str]:
    """Categories whose levels are called like truth values."""
    onehot = getattr(encoder, "onehot", None)
    if onehot is None:
        return []
    names = [one.name for one in encoder.decisions if one.kind == "category"]
    levels = zip(names, onehot.categories_, strict=True)
    return [name for name, found in levels if {str(one) for one in found} <= {"True", "False", ""}]


# -- models of numbers ---------------------------------------------------------------------------------------------


def encoder() -> Any:
    """Numbers filled and scaled, words as levels of which a gap is one: each of it has a formula in an export."""
    filled = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    numbers = make_pipeline(filled, StandardScaler())
    words = OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=3, max_categories=40)
    return ColumnTransformer(
        [
            (_NUMBERS, numbers, make_column_selector(dtype_include="number")),
            (_WORDS, words, make_column_selector(dtype_exclude="number")),
        ]
    )


def _parts(model: Any) -> ColumnTransformer | None:
    """The encoder above in a pipeline of it and a classifier."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    ours = isinstance(first, ColumnTransformer) and {name for name, *_ in first.transformers} <= {_NUMBERS, _WORDS}
    return first if ours else None


def _words(model: Any) -> list[str] | None:
    """The columns of words of a fitted pipeline; None for other models."""
    parts = _parts(model)
    if parts is None:
        return None
    return next(([str(one) for one in columns] for name, _, columns in parts.transformers_ if name == _WORDS), [])


def plain_columns(model: Any, X: Any) -> Any:
    """The columns as the encoder of a pipeline reads them; those of other models as they are.

    Before the fit the columns say themselves what they are, and the encoder loses the sort that it has no columns of.
    """
    parts = _parts(model)
    if parts is None:
        return X
    if hasattr(parts, "transformers_"):
        return _sorted_out(X, set(_words(model) or ()))
    _refuse_dates(X)
    made = _sorted_out(X, {name for name, kind in kinds_of(X).items() if kind == "text"})
    parts.transformers = [(name, part, columns) for name, part, columns in parts.transformers if columns(made)]
    return made


def _sorted_out(X: Any, words: set[str]) -> Any:
    table = Table(X, ["text" if str(name) in words else False for name in X.columns])
    return X.__class__({name: _cells(table, j) for j, name in enumerate(X.columns)}, index=X.index)


def _cells(table: Table, j: int) -> np.ndarray:
    column = table.column(j)
    return np.where(column.missing, np.nan, column.values) if column.categorical else column.values


def _refuse_dates(X: Any) -> None:
    dates = [name for name, kind in kinds_of(X).items() if kind == "date"]
    if dates:
        raise BadInput(f"the column {dates[0]!r} holds dates, which only --model auto reads; use it, or --drop them.")
