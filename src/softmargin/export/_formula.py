"""A fitted model as a formula: what a row's columns become, step by step, said without any library to compute it.

A ``Formula`` is a vector for every row: numbers, truth values or texts in ``width`` columns. A dozen kinds of nodes
are enough for every model of this library, and each target (:mod:`softmargin.export._onnx`,
:mod:`softmargin.export._sql`) only says how it writes those. Formulas are built with ordinary arithmetic; a width of
one is repeated as often as the other side needs.

Missing values are NaN and NULL. A comparison with one is not true; arithmetic with one is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Affine",
    "ArgMax",
    "Cases",
    "Column",
    "Concat",
    "Constant",
    "Distances",
    "Filled",
    "Formula",
    "Levels",
    "Matrix",
    "NotExportable",
    "Op",
    "Piecewise",
    "Reduce",
    "Rules",
    "Take",
    "Trees",
    "concat",
    "constant",
    "everything",
    "is_fixed",
    "is_truth",
    "kind_of",
    "leaves",
]

Array = NDArray[np.floating[Any]]


class NotExportable(ValueError):
    """The model holds something that the target has no words for; the message names it and a way out."""


@dataclass(frozen=True, eq=False)
class Formula(ABC):
    """A vector of ``width`` entries for every row."""

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of its columns."""

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The formulas this one is made of: its fields that are formulas, in their order."""
        values = (getattr(self, field.name) for field in fields(self))
        several = (value if isinstance(value, tuple) else (value,) for value in values)
        return tuple(one for group in several for one in group if isinstance(one, Formula))

    def __add__(self, other: Any) -> Formula:
        return Op("add", (self, constant(other)))

    def __radd__(self, other: Any) -> Formula:
        return constant(other) + self

    def __sub__(self, other: Any) -> Formula:
        return Op("sub", (self, constant(other)))

    def __rsub__(self, other: Any) -> Formula:
        return constant(other) - self

    def __mul__(self, other: Any) -> Formula:
        return Op("mul", (self, constant(other)))

    def __rmul__(self, other: Any) -> Formula:
        return self * other

    def __truediv__(self, other: Any) -> Formula:
        return Op("div", (self, constant(other)))

    def __rtruediv__(self, other: Any) -> Formula:
        return constant(other) / self

    def __neg__(self) -> Formula:
        return Op("neg", (self,))

    def __abs__(self) -> Formula:
        return Op("abs", (self,))

    def __gt__(self, other: Any) -> Formula:
        return Op("gt", (self, constant(other)))

    def __lt__(self, other: Any) -> Formula:
        return Op("lt", (self, constant(other)))

    def __ge__(self, other: Any) -> Formula:
        return Op("ge", (self, constant(other)))

    def __le__(self, other: Any) -> Formula:
        return Op("le", (self, constant(other)))

    def equals(self, other: Any) -> Formula:
        """Where two numbers are the same."""
        return Op("eq", (self, constant(other)))

    def __and__(self, other: Formula) -> Formula:
        return Op("and", (self, other))

    def __invert__(self) -> Formula:
        return Op("not", (self,))

    def __getitem__(self, at: Any) -> Formula:
        places = np.atleast_1d(np.arange(self.width)[at])
        return self if len(places) == self.width == 1 else Take(self, places)


TRUTHS = frozenset({"gt", "lt", "ge", "le", "eq", "and", "or", "not", "missing"})


@dataclass(frozen=True, eq=False)
class Matrix(Formula):
    """The columns of a table of numbers, in the order of the fit."""

    names: tuple[str, ...]

    @property
    def width(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Column(Formula):
    """One column of a table; ``kind`` is "number", "text", "boolean" or "date" (days since 1970).

    ``levels`` are texts that it held at fit, where the model knows them.
    """

    name: str
    kind: str = "number"
    levels: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Constant(Formula):
    """The same numbers for every row."""

    values: Array

    @property
    def width(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Op(Formula):
    """An elementwise operation."""

    name: str
    arguments: tuple[Formula, ...]

    @property
    def width(self) -> int:
        widths = [argument.width for argument in self.arguments]
        return max(widths) if min(widths) else 0


@dataclass(frozen=True, eq=False)
class Affine(Formula):
    """``x @ weights``, truth values counting as one and zero."""

    x: Formula
    weights: Array

    @property
    def width(self) -> int:
        return self.weights.shape[1]


@dataclass(frozen=True, eq=False)
class Take(Formula):
    """Some of the columns."""

    x: Formula
    at: NDArray[np.intp]

    @property
    def width(self) -> int:
        return len(self.at)


@dataclass(frozen=True, eq=False)
class Concat(Formula):
    """Formulas side by side; all numbers or all truth values."""

    blocks: tuple[Formula, ...]

    @property
    def width(self) -> int:
        return sum(block.width for block in self.blocks)


@dataclass(frozen=True, eq=False)
class Reduce(Formula):
    """The "sum", "max" or "min" of the columns."""

    name: str
    x: Formula

    @property
    def width(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class ArgMax(Formula):
    """The number of the largest column, the first among equals."""

    x: Formula

    @property
    def width(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Distances(Formula):
    """Distances to reference rows: "squared" Euclidean, the same from "differences" of columns, or "manhattan"."""

    x: Formula
    rows: Array
    kind: str

    @property
    def width(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Filled(Formula):
    """A column of texts whose gaps hold a text."""

    column: Formula
    text: str

    @property
    def width(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Cases(Formula):
    """The value beside the first condition that holds, ``otherwise`` where none does."""

    conditions: Formula
    values: Formula
    otherwise: Formula

    @property
    def width(self) -> int:
        return 1


@dataclass(frozen=True, eq=False)
class Levels(Formula):
    """Whether a text or boolean column is each of some values; missing is none of them."""

    column: Formula
    values: tuple[Any, ...]

    @property
    def width(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Piecewise(Formula):
    """Polynomials between knots, of one column: ``sum_d coefficients[i, d] ((x - centres[i]) / radii[i])^d``.

    Piece ``i`` holds from ``knots[i - 1]`` (included) to ``knots[i]``; ``coefficients`` is (pieces, degree + 1, width).
    """

    x: Formula
    knots: Array
    centres: Array
    radii: Array
    coefficients: Array

    @property
    def width(self) -> int:
        return self.coefficients.shape[2]

    def __call__(self, x: Array) -> Array:
        """The values at numbers, shape (n, width)."""
        piece = np.searchsorted(self.knots, x, side="right")
        t = (x - self.centres[piece]) / self.radii[piece]
        found = np.zeros((len(x), self.width))
        for power in reversed(range(self.coefficients.shape[1])):
            found = found * t[:, None] + self.coefficients[piece, power]
        return found


@dataclass(frozen=True, eq=False)
class Rules(Formula):
    """Whether each rule holds; literals ask the columns by number."""

    columns: tuple[Formula, ...]
    rules: tuple[Any, ...]

    @property
    def width(self) -> int:
        return len(self.rules)


@dataclass(frozen=True, eq=False)
class Trees(Formula):
    """The sum of the leaves a row ends in, for each channel of a ``TreeScore``, without its intercept.

    Categorical columns are codes already, NaN where missing.
    """

    columns: tuple[Formula, ...]
    score: Any

    @property
    def width(self) -> int:
        return len(self.score.intercept)


def constant(value: Any) -> Formula:
    """A number, or several, as a formula; formulas stay what they are."""
    return value if isinstance(value, Formula) else Constant(np.atleast_1d(np.asarray(value, dtype=np.float64)))


def concat(blocks: Sequence[Formula]) -> Formula:
    """Formulas side by side; those of no columns leave nothing."""
    wide = [block for block in blocks if block.width]
    if not wide:
        return Constant(np.zeros(0))
    return wide[0] if len(wide) == 1 else Concat(tuple(wide))


def kind_of(x: Formula) -> str:
    """Whether a column is "number", "text" or "boolean"; a date is a number of days."""
    if isinstance(x, Filled):
        return "text"
    return x.kind if isinstance(x, Column) and x.kind != "date" else "number"


def is_truth(x: Formula) -> bool:
    """Whether a formula is of truth values."""
    if isinstance(x, Take | Concat):
        return all(is_truth(part) for part in x.parts)
    return isinstance(x, Rules | Levels) or (isinstance(x, Op) and x.name in TRUTHS)


def everything(formulas: Sequence[Formula]) -> Iterator[Formula]:
    """The formulas and all they are made of, each once, in the order met."""
    seen: set[int] = set()
    waiting = list(reversed(formulas))
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting.extend(reversed(one.parts))


def leaves(formulas: Sequence[Formula]) -> Iterator[Any]:
    """The matrix or the columns that formulas read, in the order met."""
    return (one for one in everything(formulas) if isinstance(one, Matrix | Column))


def is_fixed(formula: Formula) -> bool:
    """Whether a formula reads no column and is the same for every row."""
    return next(leaves([formula]), None) is None
