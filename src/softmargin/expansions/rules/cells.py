"""Cells of a table: which are missing, what a column holds, and the level that a cell of a category stands for.

Containers spell one value in several ways: pandas keeps a category of integers as 10, or as 10.0 as soon as a cell
beside it is missing; truth values come as bool, as objects or as 0 and 1; a row read from a file has the types that
were inferred from it alone. A level is therefore read as what its column held at ``fit``, whatever its container is
now, so that the answer for a row does not depend on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

__all__ = ["as_levels", "as_numbers", "held", "is_missing"]

_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)  # Timestamp is a date, Timedelta a timedelta


def is_missing(values: np.ndarray) -> np.ndarray:
    """None, NaN, NaT and NA are the values that do not equal themselves, or that have no truth value."""
    if values.dtype.kind != "O":
        return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), dtype=bool)
    try:
        return np.asarray((values == None) | (values != values), dtype=bool)  # noqa: E711 - cell by cell
    except (TypeError, ValueError):  # NA has no truth value; neither has an array in a cell
        names = ("NoneType", "NAType", "NaTType")
        return np.array([type(v).__name__ in names or (isinstance(v, float) and v != v) for v in values], dtype=bool)


def held(values: np.ndarray) -> set[str]:
    """What the present cells are: "text", "boolean", "number", "date", or the names of other types."""
    return {_kind(one) for one in set(map(type, values[~is_missing(values)].tolist()))}


def _kind(type_: type) -> str:
    if issubclass(type_, str):
        return "text"
    if issubclass(type_, (bool, np.bool_)):
        return "boolean"
    if issubclass(type_, (Real, Decimal)):  # NumPy's integers and floats are registered as real numbers
        return "number"
    return "date" if issubclass(type_, _DATES) or type_.__name__ == "Period" else type_.__name__


def as_numbers(raw: np.ndarray, name: str) -> np.ndarray:
    """The cells of a column of numbers, NaN where missing."""
    if raw.dtype.kind == "O":
        raw = np.where(is_missing(raw), np.nan, raw)
    try:
        values = np.ascontiguousarray(raw, dtype=np.float64)
    except (TypeError, ValueError):
        seen = next(v for v in raw if not isinstance(v, (Real, Decimal)))
        raise ValueError(f"Column {name} is numeric, but holds {seen!r}; give numbers or missing values.") from None
    except OverflowError:
        raise ValueError(
            f"Column {name} holds an integer beyond the range of float64; divide the column by a constant first."
        ) from None
    if np.isinf(values).any():
        raise ValueError(f"Column {name} contains infinity; replace it by a large finite number or a missing value.")
    return values


def as_levels(raw: np.ndarray, kind: str | bool, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The levels of a category, None where missing, and where that is.

    ``kind`` is what the column held at fit: "text", "boolean", "number", or True for levels of several kinds.
    """
    missing = is_missing(raw)
    levels = np.full(len(raw), None, dtype=object)
    read, present = _READERS.get(kind, _same), raw[~missing].tolist()
    try:
        as_they_are = set(map(type, present)) <= {_LEVELS.get(kind)}  # as nearly always
        levels[~missing] = _filled(present if as_they_are else list(map(read, present)))
    except (TypeError, ValueError):
        strange = next(value for value in present if _fails(read, value))
        raise ValueError(
            f"Column {name} held {_WORDS[str(kind)]} at fit, but holds {strange!r}; give those, or missing values."
        ) from None
    return levels, missing


def _filled(levels: list[Any]) -> np.ndarray:
    """An array of objects, of which some may be sequences."""
    found = np.empty(len(levels), dtype=object)
    found[:] = levels
    return found


def _fails(read: Callable[[Any], Any], value: Any) -> bool:
    try:
        read(value)
    except (TypeError, ValueError):
        return True
    return False


def _text(value: Any) -> str:
    """A number or a truth value stands for the word that names it: a file of one row may hold nothing but digits."""
    if isinstance(value, str):
        return str(value)
    if _kind(type(value)) not in ("boolean", "number"):
        raise TypeError
    return str(_same(value))


def _truth(value: Any) -> bool:
    if isinstance(value, str):
        return {"true": True, "false": False}[value.lower()] if value.lower() in ("true", "false") else _truth(None)
    if _kind(type(value)) not in ("boolean", "number") or value not in (0, 1):
        raise TypeError
    return bool(value)


def _number(value: Any) -> int | float:
    if isinstance(value, str):
        return _same(float(value))
    kind = _kind(type(value))
    if kind not in ("boolean", "number"):
        raise TypeError
    return int(value) if kind == "boolean" else _same(value)


def _same(value: Any) -> Any:
    """A level as it is: 10 where it is 10.0, and what is neither text, truth nor number by what it is called."""
    kind = _kind(type(value))
    if kind == "boolean":
        return bool(value)
    if kind != "number":
        return value if kind == "text" else _called(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    number = float(value)
    return int(number) if number.is_integer() else number


def _called(value: Any) -> str:
    """The name of a date or of any other object; dates with a zone by UTC, those at midnight without it."""
    if getattr(value, "tzinfo", None) is not None and hasattr(value, "astimezone"):
        value = value.astimezone(UTC).replace(tzinfo=None)
    return str(value).removesuffix(" 00:00:00")


_READERS: dict[str | bool, Callable[[Any], Any]] = {"text": _text, "boolean": _truth, "number": _number}
_LEVELS: dict[str | bool, type] = {"text": str, "boolean": bool, "number": int}
_WORDS = {"text": "texts", "boolean": "truth values", "number": "numbers"}
