"""Which text stands for a missing one in ONNX, whose strings are never missing.

The empty text does, unless the model tells it from a missing one because it was a level of the column at fit; then
``<missing>`` does, with more brackets where that is a level itself. The model's metadata say which.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from softmargin.expansions import EQUAL, UNEQUAL
from softmargin.export._formula import Column, Filled, Formula, Levels, Rules, everything, leaves

__all__ = ["gap_texts"]


def gap_texts(formulas: Sequence[Formula], given: str | None = None) -> dict[str, str]:
    """The text for missing values of every text column that formulas read; ``given`` is the caller's choice."""
    asked = _texts_asked(formulas)
    return {
        leaf.name: _gap(leaf.name, asked.get(leaf.name, set()) | set(leaf.levels), given)
        for leaf in leaves(formulas)
        if isinstance(leaf, Column) and leaf.kind == "text"
    }


def _gap(name: str, asked: set[str], given: str | None) -> str:
    if given is not None:
        if given in asked:
            raise ValueError(
                f"missing_text={given!r} is a level of column {name!r} and cannot stand for a missing value as well; "
                "give a text that is no level."
            )
        return given
    text = "<missing>" if "" in asked else ""
    while text in asked:
        text = f"<{text}>"
    return text


def _texts_asked(formulas: Sequence[Formula]) -> dict[str, set[str]]:
    """The texts that each column is compared with, but for the one its gaps are filled with: that is no other."""
    found: dict[str, set[str]] = {}
    for column, values in _comparisons(formulas):
        filled = column.text if isinstance(column, Filled) else None
        column = column.column if isinstance(column, Filled) else column
        if isinstance(column, Column) and column.kind == "text":
            found.setdefault(column.name, set()).update({str(value) for value in values} - {filled})
    return found


def _comparisons(formulas: Sequence[Formula]) -> Iterable[tuple[Formula, Sequence[Any]]]:
    for one in everything(formulas):
        if isinstance(one, Levels):
            yield one.column, one.values
        elif isinstance(one, Rules):
            for literal in (literal for rule in one.rules for literal in rule.literals):
                if literal.op in (EQUAL, UNEQUAL):
                    yield one.columns[literal.feature], (literal.value,)
