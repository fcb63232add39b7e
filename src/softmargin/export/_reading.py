"""How columns of a database become what a model reads: numbers, dates as days, texts told apart to the last character.

* A NaN is missing. Databases that can hold one take it for a number larger than all others.
* A date is days since 1970, fractions included; every database has words of its own for that, and standard SQL none.
* Some databases take texts for the same that differ in their case, in accents or in blanks at the end. There texts are
  compared by their bytes, or with a mark at the end that stands after the blanks.
"""

from __future__ import annotations

from dataclasses import dataclass

from softmargin.expansions import Dialect, dialect_of
from softmargin.export._formula import NotExportable

__all__ = ["Reading"]

_SECONDS, _MICROSECONDS = "86400e0", "86400e6"  # of a day
_EPOCH = "CAST(EXTRACT(EPOCH FROM {0}) AS {double}) / " + _SECONDS
_NAN_EQUALS_ITSELF = "NULLIF(CAST({0} AS {double}), CAST('NaN' AS {double}))"

_NUMBERS = {
    "bigquery": "IF(IS_NAN(CAST({0} AS {double})), NULL, CAST({0} AS {double}))",
    **dict.fromkeys(("duckdb", "postgres", "postgresql", "snowflake", "spark"), _NAN_EQUALS_ITSELF),
}
_DATES = {
    "bigquery": f"UNIX_MICROS(CAST({{0}} AS TIMESTAMP)) / {_MICROSECONDS}",
    **dict.fromkeys(("duckdb", "postgres", "postgresql"), _EPOCH),
    "mysql": f"TIMESTAMPDIFF(MICROSECOND, '1970-01-01', {{0}}) / {_MICROSECONDS}",
    "snowflake": f"TIMESTAMPDIFF(MICROSECOND, DATE '1970-01-01', {{0}}) / {_MICROSECONDS}",
    "spark": "(DATEDIFF({0}, DATE '1970-01-01') * 86400e0 + HOUR({0}) * 3600e0 + MINUTE({0}) * 60e0 "
    f"+ CAST(EXTRACT(SECOND FROM {{0}}) AS DOUBLE)) / {_SECONDS}",
    "sqlite": "(CAST(STRFTIME('%s', {0}) AS REAL) + CAST(STRFTIME('%f', {0}) AS REAL) "
    f"- CAST(STRFTIME('%S', {{0}}) AS REAL)) / {_SECONDS}",
    "sqlserver": f"DATEDIFF_BIG(MICROSECOND, '19700101', {{0}}) / {_MICROSECONDS}",
}
_TEXTS = {
    "mysql": "CAST(CONVERT({0} USING utf8mb4) AS BINARY)",
    "sqlite": "CAST({0} AS {text}) COLLATE BINARY",
    "sqlserver": "(CAST({0} AS {text}) + N'|') COLLATE Latin1_General_100_BIN2",
}
_MARKS = {"sqlserver": "|"}


@dataclass(frozen=True)
class Reading:
    """The words of one database."""

    name: str
    words: Dialect

    @classmethod
    def of(cls, dialect: str) -> Reading:
        """The words of a dialect."""
        return cls(dialect, dialect_of(dialect))

    def name_in(self, table: str, name: str) -> str:
        """A column as it is; SQLite takes a quoted name that is no column for a text, unless its table is named."""
        quoted = self.words.name(name)
        return f"{self.words.name(table)}.{quoted}" if self.name == "sqlite" else quoted

    def column(self, table: str, name: str, kind: str) -> str:
        """A column as what the model reads: "number", "date", "text" or "boolean"."""
        quoted = self.name_in(table, name)
        if kind == "boolean":
            return quoted
        return self._template(name, kind).format(quoted, double=self.words.double, text=self.words.text)

    def text(self, text: str) -> str:
        """A text to compare such a column with."""
        return self.words.string(text + _MARKS.get(self.name, ""))

    @property
    def log(self) -> str:
        """The natural logarithm."""
        return "LOG" if self.name == "sqlserver" else "LN"

    def _template(self, name: str, kind: str) -> str:
        if kind == "text":
            return _TEXTS.get(self.name, "CAST({0} AS {text})")
        if kind == "number":
            return _NUMBERS.get(self.name, "CAST({0} AS {double})")
        if self.name not in _DATES:
            raise NotExportable(
                f"Column {name!r} is a date, and dialect={self.name!r} has no words for the days of a date; give the "
                f"dialect of your database, one of {', '.join(sorted(_DATES))}."
            )
        return _DATES[self.name]
