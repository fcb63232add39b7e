"""What imputers and encoders make of a column with gaps or levels, as formulas.

A missing value may be a level of its own (None or NaN among the categories), be filled by an imputer, or be a level
never seen. The empty text is a level like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from softmargin.export._formula import Affine, Filled, Formula, Levels, NotExportable, Op, concat, constant, kind_of
from softmargin.export._functions import is_missing, where
from softmargin.export._rows import Rows, as_number

__all__ = ["imputed", "is_gap", "one_hot", "one_hot_columns", "ordinal_codes"]


def is_gap(value: Any) -> bool:
    """Whether a value is None, NaN or NA."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and bool(np.isnan(value)))


# -- gaps ----------------------------------------------------------------------------------------------------------


def imputed(step: Any, rows: Rows) -> Rows:
    """A ``SimpleImputer``: gaps filled column by column, with their indicators beside."""
    if not is_gap(step.missing_values):
        raise NotExportable(f"SimpleImputer(missing_values={step.missing_values!r}) has no formula; use NaN.")
    kept = [j for j, value in enumerate(step.statistics_) if not is_gap(value)]
    gaps = [int(j) for j in step.indicator_.features_] if step.add_indicator else []
    if rows.whole is not None and not any(isinstance(value, str) for value in step.statistics_):
        x = rows.take(kept).matrix
        filled = where(is_missing(x), constant(np.array(step.statistics_[kept], dtype=np.float64)), x)
        return Rows.of(concat([filled, as_number(is_missing(rows.matrix[gaps]))]) if gaps else filled)
    columns = [_filled(rows.columns[j], step.statistics_[j]) for j in kept]
    columns += [as_number(is_missing(rows.columns[j])) for j in gaps]
    return Rows(tuple(columns), tuple(rows.names[j] for j in [*kept, *gaps]))


def _filled(column: Formula, value: Any) -> Formula:
    kind = kind_of(column)
    if kind == "text":
        return Filled(column, str(value))
    if isinstance(value, str):  # a word among numbers is no level of theirs, as a gap is none
        return column
    if kind == "boolean":
        return where(is_missing(column), float(value), where(Levels(column, (True,)), 1.0, 0.0))
    return where(is_missing(column), float(value), column)


# -- levels --------------------------------------------------------------------------------------------------------


def one_hot_columns(step: OneHotEncoder, rows: Rows) -> Rows:
    """A ``OneHotEncoder``; where it refuses levels never seen, they are missing."""
    if step.handle_unknown != "error":
        return Rows.of(as_number(one_hot(step, rows.columns)))
    blocks = []
    for j, column in enumerate(rows.columns):
        seen = _any_of([level_of(column, level) for level in _levels(step, j, column)])
        blocks += [where(seen, as_number(block), np.nan) for block in _hot(step, j, column)]
    return Rows.of(concat(blocks))


def one_hot(step: OneHotEncoder, columns: Sequence[Formula], read: Callable[[str, Any], Any] | None = None) -> Formula:
    """Truth values of the levels of every column, rare ones together; ``read`` says what a level is, of a kind."""
    return concat([block for j, column in enumerate(columns) for block in _hot(step, j, column, read)])


def _hot(step: OneHotEncoder, j: int, column: Formula, read: Callable[[str, Any], Any] | None = None) -> list[Formula]:
    levels = _levels(step, j, column)
    if read is not None:
        levels = [read(kind_of(column), level) for level in levels]
    rare = (getattr(step, "_infrequent_indices", None) or [None] * (j + 1))[j]
    few = [] if rare is None else [int(place) for place in rare]
    blocks = [level_of(column, level) for place, level in enumerate(levels) if place not in few]
    if few:
        unseen = step.handle_unknown in ("infrequent_if_exist", "warn")
        blocks.append(_none_of(blocks) if unseen else _any_of([level_of(column, levels[place]) for place in few]))
    dropped = None if step.drop_idx_ is None else step._drop_idx_after_grouping[j]
    return [block for place, block in enumerate(blocks) if place != dropped]


def ordinal_codes(step: Any, rows: Rows) -> Rows:
    """An ``OrdinalEncoder``; where it refuses levels never seen, they are missing."""
    if getattr(step, "_infrequent_enabled", False):
        raise NotExportable("OrdinalEncoder with rare levels has no formula here; use OneHotEncoder.")
    unknown = float(step.unknown_value) if step.handle_unknown == "use_encoded_value" else np.nan
    blocks = []
    for j, column in enumerate(rows.columns):
        levels = _levels(step, j, column)
        present = [place for place, level in enumerate(levels) if not is_gap(level)]
        truths = concat([level_of(column, levels[place]) for place in present])
        code = Affine(truths, np.array(present, dtype=np.float64)[:, None] + 1.0) if present else constant(0.0)
        found = where(code > 0.0, code - 1.0, unknown)
        for place, level in enumerate(levels):
            if is_gap(level):
                code_of_gap = float(place if level is None else step.encoded_missing_value)
                found = where(level_of(column, level), code_of_gap, found)
        blocks.append(found)
    return Rows.of(concat(blocks))


def _levels(step: Any, j: int, column: Formula) -> list[Any]:
    levels = list(step.categories_[j])
    gaps = [level for level in levels if is_gap(level)]
    if isinstance(column, Filled) and column.text in levels:  # an imputer for NaN leaves None as it is
        gaps = [column.text, *gaps]
    if len(gaps) > 1:
        raise NotExportable(
            f"{type(step).__name__} tells {' from '.join(map(repr, gaps))} where column number {j} is missing; other "
            "systems know one missing value only. Fit with None or with NaN alone."
        )
    return levels


def level_of(column: Formula, level: Any) -> Formula:
    """Whether a column is one value, where missing may be a value."""
    level = level.item() if isinstance(level, np.generic) else level
    if is_gap(level):
        return is_missing(column.column if isinstance(column, Filled) else column)
    kind = kind_of(column)
    if not isinstance(level, str if kind == "text" else bool | int | float):
        raise NotExportable(
            f"The level {level!r} of type {type(level).__name__} has no formula beside others of its column; give all "
            "levels as texts or all as numbers."
        )
    return Levels(column, (level,))


def _none_of(truths: Sequence[Formula]) -> Formula:
    """Whether no other level holds: rare levels, levels never seen and gaps, of which SQL's NOT says nothing."""
    return as_number(_any_of(truths)) < 0.5


def _any_of(truths: Sequence[Formula]) -> Formula:
    """Whether one of many holds, halved again and again: databases and writers limit how deep a formula may nest."""
    if len(truths) < 2:
        return truths[0] if truths else constant(0.0) > 1.0
    middle = len(truths) // 2
    return Op("or", (_any_of(truths[:middle]), _any_of(truths[middle:])))
