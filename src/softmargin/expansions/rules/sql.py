"""SQL words: names and values quoted so that a database reads exactly what the model holds.

Standard SQL writes a quote inside quotes twice and knows no other escape. Some databases also read a backslash in a
string as the start of an escape, so there every backslash is written twice; some quote names otherwise, or have no
words for true and false. Each such habit is one field of a ``Dialect``, and a new database is one line of ``DIALECTS``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from softmargin._constraints import one_of

__all__ = ["DIALECTS", "Dialect", "dialect_of"]


@dataclass(frozen=True)
class Dialect:
    """How a database writes; ``names`` are the marks around a name, ``booleans`` the words for false and true.

    ``double`` and ``text`` are its words for 64-bit floating numbers and strings; ``stage`` stands before the body of a
    named stage: where a planner would copy a stage into the next one, and with it every expression that is used twice,
    it has a word against that. With ``one_case``, names that differ in their case only are one name, quoted or not.
    """

    names: tuple[str, str] = ('"', '"')
    escaped_names: bool = False
    backslash_escapes: bool = False
    doubled_quotes: bool = True
    string_prefix: str = ""
    booleans: tuple[str, str] = ("FALSE", "TRUE")
    double: str = "DOUBLE PRECISION"
    text: str = "VARCHAR"
    stage: str = "AS"
    one_case: bool = False

    def name(self, name: str) -> str:
        """A table or column name."""
        first, last = self.names
        name = _printable(name, "name")
        if self.escaped_names:
            return first + name.replace("\\", "\\\\").replace(last, "\\" + last) + last
        return first + name.replace(last, 2 * last) + last

    def check_distinct(self, names: Iterable[str]) -> None:
        """Refuse names that the database takes for one."""
        seen: dict[str, str] = {}
        for name in names if self.one_case else ():
            if seen.setdefault(name.casefold(), name) != name:
                raise ValueError(
                    f"The columns {seen[name.casefold()]!r} and {name!r} are one in this dialect, which does not tell "
                    "names apart by their case; rename one and fit again."
                )

    def string(self, text: str) -> str:
        """A string value."""
        text = _printable(text, "value")
        if self.backslash_escapes:
            text = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        return f"{self.string_prefix}'" + text.replace("'", "''" if self.doubled_quotes else "\\'") + "'"

    def value(self, value: Any) -> str:
        """A threshold or category."""
        if isinstance(value, bool):
            return self.booleans[value]
        if isinstance(value, float):
            text = repr(float(value))  # an exponent makes it a binary number where decimals are another type
            return text if "e" in text else f"{text}e0"
        return repr(value) if isinstance(value, int) else self.string(str(value))


DIALECTS = {
    "ansi": Dialect(),
    "bigquery": Dialect(
        ("`", "`"),
        escaped_names=True,
        backslash_escapes=True,
        doubled_quotes=False,
        double="FLOAT64",
        text="STRING",
        one_case=True,
    ),
    "duckdb": Dialect(double="DOUBLE", one_case=True),
    "mysql": Dialect(("`", "`"), backslash_escapes=True, double="DOUBLE", text="CHAR", one_case=True),
    "postgres": Dialect(stage="AS MATERIALIZED"),
    "postgresql": Dialect(stage="AS MATERIALIZED"),
    "snowflake": Dialect(backslash_escapes=True),
    "spark": Dialect(
        ("`", "`"), backslash_escapes=True, doubled_quotes=False, double="DOUBLE", text="STRING", one_case=True
    ),
    "sqlite": Dialect(double="REAL", text="TEXT", stage="AS MATERIALIZED", one_case=True),
    "sqlserver": Dialect(
        ("[", "]"), string_prefix="N", booleans=("0", "1"), double="FLOAT", text="NVARCHAR(4000)", one_case=True
    ),
}


def dialect_of(name: str) -> Dialect:
    """The dialect called ``name``."""
    one_of(*DIALECTS).check("dialect", name)
    return DIALECTS[name]


def _printable(text: str, what: str) -> str:
    if "\0" in text:
        raise ValueError(f"The {what} {text!r} holds a NUL character, which no SQL text can carry; remove it first.")
    return text
