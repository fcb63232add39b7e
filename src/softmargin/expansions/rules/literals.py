"""Literals and rules: the words of a rule model.

A literal is a question about one column: ``x <= t``, ``x > t``, ``x == v``, ``x != v``, ``x is missing``. Every literal
but the last is false on a missing value, so ``x <= t`` and ``x > t`` are complements only where ``x`` is present. A
category never seen in training fails ``==`` and passes ``!=``. A rule is a conjunction of literals; the empty rule
always holds. As a feature of the model a rule is worth +1 where it holds and -1 elsewhere.

SQL agrees without help: a comparison with NULL is not true, so ``CASE WHEN rule`` reads missing values the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softmargin.expansions.rules.sql import Dialect
from softmargin.expansions.rules.table import Column, Table

__all__ = ["ABOVE", "AT_MOST", "EQUAL", "MISSING", "UNEQUAL", "Literal", "Rule"]

AT_MOST, ABOVE, EQUAL, UNEQUAL, MISSING = range(5)
_WORDS = ("<=", ">", "==", "!=", "is missing")
_SQL = ("<=", ">", "=", "<>", "IS NULL")


@dataclass(frozen=True, order=True)
class Literal:
    """A question about one column; ``op`` is one of AT_MOST, ABOVE, EQUAL, UNEQUAL, MISSING."""

    feature: int
    op: int
    value: Any = None

    def holds(self, column: Column) -> np.ndarray:
        """Where the literal is true."""
        if self.op == MISSING:
            return column.missing
        if self.op == AT_MOST:
            return column.values <= self.value  # NaN compares false
        if self.op == ABOVE:
            return column.values > self.value
        same = np.asarray(column.values == self.value, dtype=bool)
        return same & ~column.missing if self.op == EQUAL else ~same & ~column.missing

    def text(self, names: Sequence[str], digits: int | None = 4) -> str:
        """The literal in words; ``digits`` significant digits for thresholds, None for all."""
        if self.op == MISSING:
            return f"{names[self.feature]} is missing"
        return f"{names[self.feature]} {_WORDS[self.op]} {_shown(self.value, digits)}"

    def sql(self, names: Sequence[str], dialect: Dialect) -> str:
        """The literal as an SQL condition."""
        name = dialect.name(names[self.feature])
        if self.op == MISSING:
            return f"{name} IS NULL"
        return f"{name} {_SQL[self.op]} {dialect.value(self.value)}"


@dataclass(frozen=True)
class Rule:
    """A conjunction of literals, kept sorted and without literals implied by others."""

    literals: tuple[Literal, ...]

    @classmethod
    def of(cls, literals: Sequence[Literal]) -> Rule:
        """The conjunction, with ``x <= 5 and x <= 3`` said as ``x <= 3``."""
        tightest: dict[tuple[int, int, Any], Literal] = {}
        for literal in literals:
            key = (literal.feature, literal.op, literal.value if literal.op in (EQUAL, UNEQUAL) else None)
            known = tightest.get(key)
            if known is None or _tighter(literal, known):
                tightest[key] = literal
        return cls(tuple(sorted(tightest.values(), key=lambda q: (q.feature, q.op, str(q.value)))))

    def holds(self, table: Table) -> np.ndarray:
        """Where every literal is true."""
        covered = np.ones(len(table), dtype=bool)
        for literal in self.literals:
            covered &= literal.holds(table.column(literal.feature))
        return covered

    def text(self, names: Sequence[str], digits: int | None = 4) -> str:
        """The rule in words."""
        return " and ".join(literal.text(names, digits) for literal in self.literals) or "always"

    def sql(self, names: Sequence[str], dialect: Dialect) -> str:
        """The rule as an SQL condition."""
        return " AND ".join(literal.sql(names, dialect) for literal in self.literals) or "1 = 1"


def _tighter(literal: Literal, known: Literal) -> bool:
    if literal.op == AT_MOST:
        return bool(literal.value < known.value)
    return literal.op == ABOVE and bool(literal.value > known.value)


def _shown(value: Any, digits: int | None) -> str:
    if isinstance(value, float):
        return repr(value) if digits is None else f"{value:.{digits}g}"
    return repr(value) if isinstance(value, str) else str(value)
