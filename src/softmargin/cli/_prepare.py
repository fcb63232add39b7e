"""From a table and the words of a command to rows, labels and weights, with everything that was decided on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from softmargin.cli._read import BadInput
from softmargin.expansions import as_levels, held

__all__ = ["Prepared", "prepare", "refuse_target", "require_column", "without_copies"]

_MOST_CLASSES = 200


@dataclass
class Prepared:
    """What a fit needs, and what was noticed."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    id: np.ndarray | None
    notes: list[str] = field(default_factory=list)

    def take(self, rows: np.ndarray) -> Prepared:
        """Some of the rows."""
        return Prepared(
            self.X.iloc[rows],
            self.y[rows],
            None if self.weight is None else self.weight[rows],
            None if self.id is None else self.id[rows],
            self.notes,
        )


def prepare(
    frame: Any,
    target: str,
    *,
    weight: str | None = None,
    id: str | None = None,
    drop: Sequence[str] = (),
    positive: str | None = None,
) -> Prepared:
    """Split a table into features, labels, weights and identifiers, and drop rows without a label."""
    for name, column in (("--target", target), ("--weight", weight), ("--id", id), *(("--drop", c) for c in drop)):
        require_column(frame, name, column)
    refuse_target(target, weight, id, drop)
    notes: list[str] = []
    labels = frame[target]
    known = labels.notna().to_numpy()
    if not known.any():
        raise BadInput(f"--target {target!r} has no value in any row; name the column of the labels.")
    if not known.all():
        notes.append(f"{int((~known).sum())} rows have no {target} and are left out")
        frame, labels = frame[known], labels[known]  # the index still counts the rows of the file
    y = _labels(_named(labels), target)
    if positive is not None:
        y = _one_against_rest(y, positive, target, notes)
    weights = None if weight is None else _weights(frame[weight], weight)
    names = None if id is None else frame[id].to_numpy()
    X = frame.drop(columns=[c for c in {target, weight, id, *drop} if c is not None])
    if X.shape[1] and not X.notna().to_numpy().any():
        raise BadInput(f"no column besides {target} has a value in any row; a prediction needs at least one.")
    notes += [_mixed(X[column], str(column)) for column in X.columns if _mostly_numbers(X[column])]
    if not X.shape[1]:
        raise BadInput(f"no column is left besides {target}; a prediction needs at least one.")
    return Prepared(X, y, weights, names, notes)


def without_copies(rows: Prepared, target: str) -> Prepared:
    """The rows to learn from, without columns that tell the target exactly."""
    copies = _copies(rows.X, rows.y)
    if len(copies) == rows.X.shape[1]:
        raise BadInput(f"no column is left besides {target} and its copies; a prediction needs at least one.")
    notes = [f"{column} tells {target} exactly in every row: a copy, left out" for column in copies]
    return replace(rows, X=rows.X.drop(columns=copies), notes=[*notes, *rows.notes])


def require_column(frame: Any, option: str, column: str | None) -> None:
    """Refuse a column that the table does not have, with the nearest name it has."""
    if column is None or column in frame.columns:
        return
    names = [str(name) for name in frame.columns]
    if len(names) == 1:
        raise BadInput(
            f"{option} {column!r} is no column; the only one is {names[0][:60]!r}. If that is a line of names, "
            "separate them and the values by commas, semicolons, tabs or bars."
        )
    near = get_close_matches(column, names, n=1)
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else f"the columns are {', '.join(names[:12])}{' ...' * (len(names) > 12)}."
    )
    raise BadInput(f"{option} {column!r} is no column; {hint}")


def refuse_target(target: str, weight: str | None, id: str | None, drop: Sequence[str]) -> None:
    """Refuse options that name the target, which is none of what they ask for."""
    for option, column in (("--weight", weight), ("--id", id), *(("--drop", one) for one in drop)):
        if column == target:
            raise BadInput(f"{option} {target!r} is the --target as well; name another column, or leave {option} out.")


def _named(labels: Any) -> np.ndarray:
    """The labels; dates by what they are called, which every format agrees on."""
    dates = labels.dtype.kind in "mM" or held(np.asarray(labels.unique(), dtype=object)) == {"date"}
    return as_levels(np.asarray(labels.astype(object)), True, "y")[0] if dates else labels.to_numpy()


def _labels(values: np.ndarray, target: str) -> np.ndarray:
    if values.dtype.kind == "f" and np.all(values == np.round(values)):
        values = values.astype(np.int64)
    y = values.astype(str) if values.dtype.kind == "O" else values
    classes, counts = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise BadInput(f"--target {target!r} has one value only ({classes[0]}); a classifier needs two.")
    if len(classes) > _MOST_CLASSES or values.dtype.kind == "f":
        raise BadInput(
            f"--target {target!r} has {len(classes)} distinct values, a quantity and not a class; "
            "give a column with few values, or cut it into classes first."
        )
    if counts.min() < 2:
        rare = ", ".join(str(label) for label in classes[counts < 2][:5])
        raise BadInput(f"--target {target!r} has classes with one row only ({rare}); merge or remove them.")
    return y


def _one_against_rest(y: np.ndarray, positive: str, target: str, notes: list[str]) -> np.ndarray:
    """One class against all others, which are called "other"; two classes stay as they are."""
    classes = np.unique(y)
    own = y.astype(str) == positive
    if not own.any():
        shown = ", ".join(str(label) for label in classes[:12])
        raise BadInput(f"--positive {positive!r} is no value of {target}; its values are {shown}.")
    if len(classes) == 2:
        return y
    notes.append(f"{positive} against the {len(classes) - 1} other values of {target}")
    return np.where(own, positive, "other" if positive != "other" else "not other")


def _mostly_numbers(column: Any) -> bool:
    """Whether at least half of the different words of a column are numbers."""
    if getattr(column.dtype, "kind", "O") != "O" or getattr(column.dtype, "name", "") == "boolean":
        return False
    words = column.drop_duplicates().dropna().astype(str)
    return len(words) > 2 and 0.5 * len(words) <= sum(map(_is_number, words)) < len(words)


def _mixed(column: Any, name: str) -> str:
    other = next(word for word in column.dropna().astype(str).drop_duplicates() if not _is_number(word))
    return f"{name} holds numbers and words such as {other[:40]!r}: read as words; leave gaps empty to have numbers"


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _weights(column: Any, name: str) -> np.ndarray:
    known = column.dropna()
    if held(np.asarray(known.unique(), dtype=object)) - {"number", "boolean"}:
        raise BadInput(f"--weight {name!r} must hold numbers; got {str(known.iloc[0])!r}.")
    values = np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise BadInput(f"--weight {name!r} must be finite and nonnegative, and positive somewhere.")
    return values


def _copies(X: Any, y: np.ndarray) -> list[str]:
    """Columns whose values and the classes determine each other."""
    codes = np.unique(y, return_inverse=True)[1]
    n_classes = codes.max() + 1
    found = []
    for column in X.columns:
        values = X[column]
        if values.isna().any() or values.nunique() != n_classes:
            continue
        pairs = np.unique(codes * n_classes + values.factorize()[0])
        if len(pairs) == n_classes:
            found.append(column)
    return found
