"""Columns of dates, times of day and durations as days: since 1970, since midnight, or in length.

Containers keep them as NumPy's dates of some unit, as periods, or as Python objects with None between them; a file
of rows may give them as ISO 8601 text. All of them are the same number of days, those with a zone by UTC. Which
columns hold dates is decided at ``fit``; at ``predict`` these are read as dates, whatever their container is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import held, is_missing

__all__ = ["cell_of", "dates_as_days"]

Array = NDArray[np.floating[Any]]

_EPOCH = datetime(1970, 1, 1)
_DAY = timedelta(days=1)
_MICROSECONDS = 86_400e6  # of a day; coarser than nanoseconds, but they reach every year that a calendar writes


def dates_as_days(X: Any, dates: Sequence[int] | None = None) -> tuple[Any, list[int]]:
    """A frame with columns of dates replaced by days, and which they are; None finds them out."""
    if dates is None:
        dates = [j for j in range(X.shape[1]) if _holds_dates(_series(X, j))]
    if not len(dates):
        return X, []
    names = list(X.columns)
    if hasattr(X, "with_columns"):  # polars
        days = [type(_series(X, j))(names[j], _days(_series(X, j), names[j])) for j in dates]
        return X.with_columns(days), list(dates)
    shown = X.copy(deep=False)
    for j in dates:
        shown.isetitem(j, _days(_series(X, j), names[j]))
    return shown, list(dates)


def _series(X: Any, j: int) -> Any:
    return X.iloc[:, j] if hasattr(X, "iloc") else X[:, j]


def cell_of(X: Any, row: int, j: int) -> Any:
    """A cell as a person wrote it."""
    return X.iloc[row, j] if hasattr(X, "iloc") else X[row, j]


def _holds_dates(series: Any) -> bool:
    kind = str(series.dtype).lower()
    if kind.startswith(("date", "time", "duration", "period")):
        return True
    if kind.startswith("categor"):
        return held(np.asarray(series.unique(), dtype=object)) == {"date"}
    return kind == "object" and held(series.to_numpy()) == {"date"}


def _days(series: Any, name: Any) -> Array:
    """The days of one column, NaN where missing."""
    values = _plain(series)
    if values.dtype.kind in "mM":
        ticks = values.astype(f"{values.dtype.kind}8[us]")
        return np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / _MICROSECONDS)
    days = np.full(len(values), np.nan)
    present = ~is_missing(values)
    days[present] = [_cell(value, name) for value in values[present].tolist()]
    return days


def _plain(series: Any) -> NDArray[Any]:
    """Dates of NumPy where a container gives them at once, otherwise its cells."""
    kind = str(series.dtype).lower()
    if hasattr(series, "dt") and hasattr(series, "iloc"):
        if kind.startswith("period"):
            return np.asarray(series.dt.to_timestamp().to_numpy())
        if getattr(series.dtype, "tz", None) is not None:
            return np.asarray(series.dt.tz_convert(None).to_numpy())
    return np.asarray(series.to_numpy())


def _cell(value: Any, name: Any) -> float:
    found = _moment(value)
    if found is None:
        raise ValueError(
            f"Column {name!r} held dates or times at fit, but holds {value!r}; give those, or ISO 8601 text."
        )
    return found / _DAY


def _moment(value: Any) -> timedelta | None:
    """The time since 1970, since midnight, or the duration itself; None for what is none of them."""
    if isinstance(value, str):
        value = _read(value)
    if hasattr(value, "to_timestamp"):  # a period begins
        value = value.to_timestamp()
    if isinstance(value, datetime):
        offset = value.utcoffset()
        return value.replace(tzinfo=None) - _EPOCH - (offset or timedelta())
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day) - _EPOCH
    if isinstance(value, time):
        return timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)
    return value if isinstance(value, timedelta) else None


def _read(text: str) -> datetime | time | None:
    for form in (datetime, time):
        try:
            return form.fromisoformat(text.strip())
        except ValueError:
            continue
    return None
