"""Functions of formulas: elementwise ones of one formula or two, and reductions of its columns."""

from __future__ import annotations

from typing import Any

from softmargin.export._formula import Formula, Op, Reduce, constant

__all__ = ["exp", "is_missing", "larger", "largest", "log", "sigmoid", "smaller", "smallest", "sqrt", "total", "where"]


def exp(x: Formula) -> Formula:
    """The exponential."""
    return Op("exp", (x,))


def log(x: Formula) -> Formula:
    """The natural logarithm."""
    return Op("log", (x,))


def sqrt(x: Formula) -> Formula:
    """The square root."""
    return Op("sqrt", (x,))


def sigmoid(x: Formula) -> Formula:
    """``1 / (1 + exp(-x))``."""
    return Op("sigmoid", (x,))


def larger(x: Formula, y: Any) -> Formula:
    """The larger of two."""
    return Op("max", (x, constant(y)))


def smaller(x: Formula, y: Any) -> Formula:
    """The smaller of two."""
    return Op("min", (x, constant(y)))


def where(condition: Formula, x: Any, y: Any) -> Formula:
    """``x`` where the condition holds, ``y`` elsewhere."""
    return Op("where", (condition, constant(x), constant(y)))


def is_missing(x: Formula) -> Formula:
    """Where there is no value."""
    return Op("missing", (x,))


def total(x: Formula) -> Formula:
    """The sum of the columns."""
    return Reduce("sum", x)


def largest(x: Formula) -> Formula:
    """The largest of the columns."""
    return Reduce("max", x)


def smallest(x: Formula) -> Formula:
    """The smallest of the columns."""
    return Reduce("min", x)
