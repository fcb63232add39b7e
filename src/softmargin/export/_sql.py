"""Formulas as SQL: one query of named stages, each a SELECT over the one before.

A formula of width w is w scalar expressions. What is used more than once, or must be a plain name because the words
around it repeat it (CASE WHEN a > b THEN a ELSE b END), becomes a column of a stage, so that the query grows with the
model and not with the ways through it. Sums are bracketed in groups: databases limit how deep an expression may nest.

Numbers are written with an exponent, which makes them binary floating numbers in every dialect. Exponentials are cut at
700, beyond which some databases raise instead of answering zero or infinity.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from softmargin.expansions import ABOVE, AT_MOST, EQUAL, MISSING, UNEQUAL, TreeScore
from softmargin.export._formula import (
    Affine,
    ArgMax,
    Cases,
    Column,
    Concat,
    Constant,
    Distances,
    Filled,
    Formula,
    Levels,
    Matrix,
    Op,
    Piecewise,
    Reduce,
    Rules,
    Take,
    Trees,
    is_truth,
    kind_of,
    leaves,
)
from softmargin.export._reading import Reading
from softmargin.export._rows import check_distinct

__all__ = ["QueryWriter"]

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARED = {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "="}
_LITERALS = {AT_MOST: "<=", ABOVE: ">", EQUAL: "=", UNEQUAL: "<>"}
_GROUP = 40  # terms of a sum between one pair of brackets
_EXP = "7e2"
_SHORT = 12  # characters of a name such as s2_14; anything longer is worth a column of its own


class QueryWriter:
    """Writes formulas as expressions and remembers the stages they need."""

    def __init__(self, dialect: str, formulas: Sequence[Formula]) -> None:
        self.reading = Reading.of(dialect)
        self.dialect = self.reading.words
        self._written: dict[int, list[str]] = {}
        self._level: dict[str, int] = {}
        self._alive: list[Formula] = []
        self.inputs: dict[str, tuple[str, str]] = {}
        self.stages: list[list[tuple[str, str]]] = []
        self._uses: dict[int, int] = {}
        for formula in formulas:
            self._count(formula)
        named: list[str] = []
        for leaf in leaves(formulas):
            named += leaf.names if isinstance(leaf, Matrix) else [leaf.name]
            check_distinct(leaf.names if isinstance(leaf, Matrix) else ())
        self._alias = {name: f"x{place}" for place, name in enumerate(dict.fromkeys(named))}

    def _count(self, formula: Formula) -> None:
        waiting = [formula]
        while waiting:
            one = waiting.pop()
            self._uses[id(one)] = self._uses.get(id(one), 0) + 1
            if self._uses[id(one)] == 1:
                self._alive.append(one)
                waiting.extend(one.parts)

    # -- stages ----------------------------------------------------------------------------------------------------

    def write(self, formula: Formula) -> list[str]:
        """The expressions of a formula, one per column."""
        found = self._written.get(id(formula))
        if found is None:
            found = getattr(self, f"_{type(formula).__name__.lower()}")(formula)
            if self._uses.get(id(formula), 0) > 1 and not isinstance(formula, Constant | Take | Concat):
                found = self._named(found) if not is_truth(formula) else found
            self._written[id(formula)] = found
            self._alive.append(formula)
        return found

    def names(self, formula: Formula) -> list[str]:
        """The same as plain names or numbers, which may be repeated."""
        found = self._named(self._numbers(formula))
        if not is_truth(formula):
            self._written[id(formula)] = found
        return found

    def known(self, names: list[str]) -> str:
        """The condition that none of some columns is NULL."""
        if len(names) > 1:
            names = [self._column_of(f"CASE WHEN {' AND '.join(f'{one} IS NOT NULL' for one in names)} THEN 1e0 END")]
        return f"{names[0]} IS NOT NULL"

    def _named(self, expressions: list[str]) -> list[str]:
        return [one if len(one) <= _SHORT or _is_number(one) else self._column_of(one) for one in expressions]

    def _column_of(self, expression: str) -> str:
        level = max((self._level[name] for name in self.names_in(expression)), default=0)
        while len(self.stages) <= level:
            self.stages.append([])
        name = f"s{level + 1}_{len(self.stages[level])}"
        self.stages[level].append((name, expression))
        self._level[name] = level + 1
        return name

    def names_in(self, expression: str) -> list[str]:
        """The columns of earlier stages that an expression reads; quoted strings hold none of ours."""
        quoted = r"'(?:[^'\\]|''|\\.)*'" if self.dialect.backslash_escapes else r"'(?:[^']|'')*'"
        bare = re.sub(quoted, "", expression, flags=re.DOTALL)
        return [name for name in re.findall(r"\b[sx]\d+(?:_\d+)?\b", bare) if name in self._level]

    def carried(self, answers: Sequence[str]) -> list[list[str]]:
        """For each stage, the columns of earlier ones that later ones or the answers read: databases limit columns."""
        needed = {name for one in answers for name in self.names_in(one)}
        found: list[list[str]] = []
        for level in reversed(range(len(self.stages))):
            found.append(sorted(name for name in needed if self._level[name] <= level))
            needed.update(name for _, expression in self.stages[level] for name in self.names_in(expression))
        return found[::-1]

    def _numbers(self, formula: Formula) -> list[str]:
        found = self.write(formula)
        return [f"CASE WHEN {one} THEN 1e0 ELSE 0e0 END" for one in found] if is_truth(formula) else found

    def _number(self, value: float) -> str:
        if np.isnan(value):
            return "NULL"
        if np.isinf(value):
            return self.dialect.value(float(np.copysign(1.7e308, value)))
        return self.dialect.value(float(value))

    # -- inputs and shapes -----------------------------------------------------------------------------------------

    def _input(self, name: str, kind: str) -> str:
        if name not in self.inputs:
            self.inputs[name] = (self._alias[name], kind)
            self._level[self.inputs[name][0]] = 0
        return self.inputs[name][0]

    def _matrix(self, formula: Matrix) -> list[str]:
        return [self._input(name, "number") for name in formula.names]

    def _column(self, formula: Column) -> list[str]:
        return [self._input(formula.name, formula.kind)]

    def _constant(self, formula: Constant) -> list[str]:
        return [self._number(value) for value in formula.values]

    def _take(self, formula: Take) -> list[str]:
        if isinstance(formula.x, Matrix):
            return [self._input(formula.x.names[j], "number") for j in formula.at]
        found = self.write(formula.x)
        return [found[j] for j in formula.at]

    def _concat(self, formula: Concat) -> list[str]:
        truths = all(is_truth(block) for block in formula.blocks)
        return [one for block in formula.blocks for one in (self.write(block) if truths else self._numbers(block))]

    # -- arithmetic ------------------------------------------------------------------------------------------------

    def _op(self, formula: Op) -> list[str]:
        name, width = formula.name, formula.width
        repeated = name in ("max", "min", "exp", "sigmoid")
        columns = []
        for place, part in enumerate(formula.arguments):
            if name in ("and", "or", "not") or (name == "where" and place == 0):
                found = self.write(part)
            else:
                found = self.names(part) if repeated else self._numbers(part)
            columns.append(found * width if len(found) == 1 else found)
        return [self._scalar(name, parts) for parts in zip(*columns, strict=True)]

    def _scalar(self, name: str, parts: tuple[str, ...]) -> str:
        first = parts[0]
        if name in _INFIX:
            return f"({first} {_INFIX[name]} {parts[1]})"
        if name in _COMPARED:
            return f"{first} {_COMPARED[name]} {parts[1]}"
        if name in ("max", "min"):
            return _extreme(name, first, parts[1])
        if name == "where":
            return f"CASE WHEN {first} THEN {parts[1]} ELSE {parts[2]} END"
        if name == "exp":
            return f"CASE WHEN {first} < -{_EXP} THEN 0e0 WHEN {first} > {_EXP} THEN EXP({_EXP}) ELSE EXP({first}) END"
        if name == "sigmoid":
            inside = f"1e0 / (1e0 + EXP(0e0 - {first}))"
            return f"CASE WHEN {first} < -{_EXP} THEN 0e0 WHEN {first} > {_EXP} THEN 1e0 ELSE {inside} END"
        words = {
            "neg": "(0e0 - {0})",
            "abs": "ABS({0})",
            "log": f"{self.reading.log}({{0}})",
            "sqrt": "SQRT({0})",
            "not": "NOT ({0})",
            "and": "({0}) AND ({1})",
            "or": "({0}) OR ({1})",
            "missing": "{0} IS NULL",
        }
        return words[name].format(*parts)

    def _affine(self, formula: Affine) -> list[str]:
        truths = is_truth(formula.x)
        found = self.write(formula.x) if truths or formula.width == 1 else self.names(formula.x)
        sums = []
        for column in formula.weights.T:
            terms = []
            for value, one in zip(column, found, strict=True):
                if value != 0:
                    number = self._number(value)
                    terms.append(f"CASE WHEN {one} THEN {number} ELSE 0e0 END" if truths else f"{number} * {one}")
            sums.append(_sum(terms))
        return sums

    def _cases(self, formula: Cases) -> list[str]:
        conditions, values = self.write(formula.conditions), self._numbers(formula.values)
        (otherwise,) = self._numbers(formula.otherwise)
        cases = " ".join(f"WHEN {one} THEN {value}" for one, value in zip(conditions, values, strict=True))
        return [f"CASE {cases} ELSE {otherwise} END"]

    def _reduce(self, formula: Reduce) -> list[str]:
        if formula.name == "sum":
            return [_sum(self._numbers(formula.x))]
        left = self.names(formula.x)
        while len(left) > 1:  # in pairs, so that there are few stages
            pairs = [_extreme(formula.name, *left[first : first + 2]) for first in range(0, len(left) - 1, 2)]
            left = self._named(pairs) + left[len(left) - len(left) % 2 :]
        return left

    def _argmax(self, formula: ArgMax) -> list[str]:
        found = self.names(formula.x)
        cases = []
        for j, one in enumerate(found[:-1]):
            above = " AND ".join(f"{one} >= {other}" for other in found[j + 1 :])
            cases.append(f"WHEN {above} THEN {self._number(j)}")  # earlier ones are smaller, or they had won
        return [f"CASE {' '.join(cases)} ELSE {self._number(len(found) - 1)} END" if cases else "0e0"]

    def _distances(self, formula: Distances) -> list[str]:
        found = self.names(formula.x)
        sums = []
        for row in formula.rows:
            apart = [f"({one} - {self._number(value)})" for one, value in zip(found, row, strict=True)]
            squares = [f"ABS{one}" if formula.kind == "manhattan" else f"{one} * {one}" for one in apart]
            sums.append(_sum(squares))
        return sums

    # -- tables ----------------------------------------------------------------------------------------------------

    def _filled(self, formula: Filled) -> list[str]:
        (column,) = self.write(formula.column)
        return [f"COALESCE({column}, {self.reading.text(formula.text)})"]

    def _levels(self, formula: Levels) -> list[str]:
        (column,) = self.write(formula.column)
        return [f"{column} = {self._value(value, kind_of(formula.column))}" for value in formula.values]

    def _value(self, value: Any, kind: str) -> str:
        value = value.item() if isinstance(value, np.generic) else value
        if kind == "text":
            return self.reading.text(str(value))
        return self.dialect.value(bool(value) if kind == "boolean" else float(value))

    def _piecewise(self, formula: Piecewise) -> list[str]:
        (x,) = self.names(formula.x)
        return [
            f"CASE WHEN {x} IS NULL THEN NULL ELSE {self._halved(formula, x, j, 0, len(formula.centres) - 1)} END"
            for j in range(formula.width)
        ]

    def _halved(self, formula: Piecewise, x: str, j: int, first: int, last: int) -> str:
        if first == last:
            return self._polynomial(formula, x, j, first)
        middle = (first + last) // 2
        below = self._halved(formula, x, j, first, middle)
        above = self._halved(formula, x, j, middle + 1, last)
        return f"CASE WHEN {x} < {self._number(formula.knots[middle])} THEN {below} ELSE {above} END"

    def _polynomial(self, formula: Piecewise, x: str, j: int, piece: int) -> str:
        centre, radius = float(formula.centres[piece]), float(formula.radii[piece])
        coefficients = formula.coefficients[piece, :, j]
        highest = int(np.flatnonzero(coefficients)[-1]) if np.any(coefficients) else 0
        shifted = f"({x} - {self._number(centre)})"
        t = shifted if radius == 1.0 else f"({shifted} / {self._number(radius)})"
        text = self._number(coefficients[highest])
        for value in coefficients[:highest][::-1]:
            text = f"({text} * {t} + {self._number(value)})"
        return text

    def _rules(self, formula: Rules) -> list[str]:
        return [" AND ".join(self._literal(formula, one) for one in rule.literals) or "1 = 1" for rule in formula.rules]

    def _literal(self, formula: Rules, literal: Any) -> str:
        column = formula.columns[literal.feature]
        (name,) = self.write(column)
        if literal.op == MISSING:
            return f"{name} IS NULL"
        kind = kind_of(column) if literal.op in (EQUAL, UNEQUAL) else "number"
        return f"{name} {_LITERALS[literal.op]} {self._value(literal.value, kind)}"

    def _trees(self, formula: Trees) -> list[str]:
        names = [self.names(column)[0] for column in formula.columns]
        terms: list[list[str]] = [[] for _ in range(formula.width)]
        for root, channel in formula.score.roots.tolist():
            terms[channel].append(self._tree(formula.score, int(root), names))
        return [_sum(self._named(part)) for part in terms]

    def _tree(self, trees: TreeScore, k: int, names: list[str]) -> str:
        feature, _, missing_left, left, right = (int(field) for field in trees.nodes[k])
        if feature < 0:
            return self._number(trees.values[k])
        x, threshold = names[feature], float(trees.thresholds[k])
        if np.isnan(threshold):
            bits = np.unpackbits(trees.masks[k].astype("<u8").view(np.uint8), bitorder="little")
            listed = ", ".join(self._number(float(code)) for code in np.flatnonzero(bits))
            condition = f"{x} IN ({listed})" if listed else "1 = 0"
        else:
            condition = f"{x} IS NOT NULL" if np.isinf(threshold) else f"{x} <= {self._number(threshold)}"
        if missing_left:
            condition = f"{x} IS NULL OR {condition}"
        return f"CASE WHEN {condition} THEN {self._tree(trees, left, names)} ELSE {self._tree(trees, right, names)} END"


def _extreme(name: str, first: str, second: str) -> str:
    """The larger or smaller of two; a NULL among them stays one."""
    above, below = (">", "<=") if name == "max" else ("<", ">=")
    if _is_number(second):
        return f"CASE WHEN {first} {below} {second} THEN {second} ELSE {first} END"
    return f"CASE WHEN {first} {above} {second} THEN {first} WHEN {first} {below} {second} THEN {second} END"


def _sum(terms: Sequence[str]) -> str:
    if not terms:
        return "0e0"
    while len(terms) > _GROUP:
        terms = [_sum(terms[first : first + _GROUP]) for first in range(0, len(terms), _GROUP)]
    return f"({' + '.join(terms)})"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text == "NULL"
    return True
