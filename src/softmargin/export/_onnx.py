"""Formulas as an ONNX graph in float64, which onnxruntime reads anywhere.

Every node becomes a few standard operations on matrices of shape (rows, width). Kernels are matrix products and
exponentials, rules are comparisons counted by a product with their table of literals, and trees are descended level by
level, all of them at once; the operators that ONNX has for support vector machines and tree ensembles compute in
float32 and are not used. Missing numbers are NaN; a missing text is a text agreed on (:mod:`softmargin.export._gaps`).
What reads no column has one row, until it stands beside others or is an output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import ABOVE, AT_MOST, EQUAL, MISSING, UNEQUAL, Literal
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
    constant,
    is_fixed,
    is_truth,
    kind_of,
)
from softmargin.export._functions import is_missing
from softmargin.export._models import Answer
from softmargin.export._node_tables import MOST_CODES, NodeTables

__all__ = ["GraphWriter", "label_values", "write_answer"]

Array = NDArray[Any]

_OPERATORS = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "div": "Div",
    "neg": "Neg",
    "abs": "Abs",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "max": "Max",
    "min": "Min",
    "gt": "Greater",
    "lt": "Less",
    "ge": "GreaterOrEqual",
    "le": "LessOrEqual",
    "eq": "Equal",
    "and": "And",
    "or": "Or",
    "not": "Not",
    "where": "Where",
}
_REDUCTIONS = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin"}
_COMPARISONS = {AT_MOST: "LessOrEqual", ABOVE: "Greater", MISSING: "IsNaN"}
_LARGEST_SQUARED = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e150}
_SMALLEST = {np.dtype(np.float32): 1e-37, np.dtype(np.float64): 0.0}


class GraphWriter:
    """Writes formulas as nodes; each formula once.

    ``emit(operator, inputs, attributes) -> name`` and ``keep(array) -> name`` are the target's: a graph of ours or one
    that skl2onnx builds. ``inputs`` are the names of the tensors that columns and matrices come from, ``gaps`` the
    texts that stand for missing ones.
    """

    def __init__(
        self,
        emit: Callable[..., str],
        keep: Callable[[Array], str],
        inputs: dict[Any, str],
        dtype: Any = np.float64,
        gaps: Mapping[str, str] | None = None,
    ) -> None:
        self._emit, self._keep, self._inputs, self._gaps = emit, keep, inputs, gaps or {}
        self.dtype = np.dtype(dtype)
        self._written: dict[int, str] = {}
        self._alive: list[Formula] = []

    def write(self, formula: Formula) -> str:
        """The name of the tensor of a formula."""
        found = self._written.get(id(formula))
        if found is None:
            found = self._written[id(formula)] = getattr(self, f"_{type(formula).__name__.lower()}")(formula)
            self._alive.append(formula)
        return found

    def _numbers(self, formula: Formula) -> str:
        """As numbers, truth values as one and zero."""
        name = self.write(formula)
        return self._cast(name) if is_truth(formula) else name

    def _cast(self, name: str, kind: str = "number") -> str:
        from onnx import TensorProto

        number = TensorProto.FLOAT if self.dtype == np.float32 else TensorProto.DOUBLE
        return self._emit("Cast", [name], to={"number": number, "integer": TensorProto.INT64}[kind])

    def number(self, values: Any) -> str:
        """Numbers as a tensor of the graph's type; what is too small for it is its smallest number."""
        array = np.asarray(values, dtype=np.float64)
        least = _SMALLEST[self.dtype]
        tiny = (array != 0) & (np.abs(array) < least)
        return self._keep(np.where(tiny, np.sign(array) * least, array).astype(self.dtype))

    # -- inputs and shapes -----------------------------------------------------------------------------------------

    def _matrix(self, formula: Matrix) -> str:
        return self._inputs["matrix"]

    def _column(self, formula: Column) -> str:
        return self._inputs[formula.name]

    def _constant(self, formula: Constant) -> str:
        return self.number(formula.values[None, :])

    def _take(self, formula: Take) -> str:
        return self._emit("Gather", [self.write(formula.x), self._keep(formula.at.astype(np.int64))], axis=1)

    def _concat(self, formula: Concat) -> str:
        truths = [is_truth(block) for block in formula.blocks]
        write = self.write if all(truths) else self._numbers
        if is_fixed(formula):
            return self._emit("Concat", [write(block) for block in formula.blocks], axis=1)
        return self._emit("Concat", [self._spread(write(block), block) for block in formula.blocks], axis=1)

    def output(self, formula: Formula) -> str:
        """The tensor of a formula, with as many rows as were given."""
        return self._spread(self._numbers(formula), formula)

    def _spread(self, name: str, block: Formula) -> str:
        """What reads no column has one row; here it gets as many as the others."""
        if not is_fixed(block):
            return name
        anchor = next(iter(self._inputs.values()))
        rows = self._emit("Shape", [anchor], start=0, end=1)
        shape = self._emit("Concat", [rows, self._keep(np.array([block.width], dtype=np.int64))], axis=0)
        return self._emit("Expand", [name, shape])

    # -- arithmetic ------------------------------------------------------------------------------------------------

    def _op(self, formula: Op) -> str:
        if formula.name == "missing":
            column = formula.arguments[0]
            name = self.write(column)
            if isinstance(column, Column) and column.kind == "text":
                return self._emit("Equal", [name, self._text(self._gaps.get(column.name, ""))])
            if isinstance(column, Filled):
                return self._emit("Not", [self._emit("Equal", [name, name])])
            return self._emit("IsNaN", [name])
        scaled = _unscaled(formula)
        if scaled is not None and isinstance(scaled[0], Affine):
            return self.write(Affine(scaled[0].x, scaled[0].weights * scaled[1]))
        truths = formula.name in ("and", "or", "not")
        names = [
            self.write(part) if truths or (formula.name == "where" and place == 0) else self._numbers(part)
            for place, part in enumerate(formula.arguments)
        ]
        if formula.name == "sigmoid":  # onnxruntime's own has no digits of small probabilities
            below = self._emit("Add", [self._emit("Exp", [self._emit("Neg", names)]), self.number([[1.0]])])
            return self._emit("Div", [self.number([[1.0]]), below])
        return self._emit(_OPERATORS[formula.name], names)

    def _affine(self, formula: Affine) -> str:
        """A product; onnxruntime would keep a single factor beside it in float32, so that goes into the weights."""
        scaled = _unscaled(formula.x)
        if scaled is not None:
            return self.write(Affine(scaled[0], formula.weights * scaled[1]))
        if not len(formula.weights):
            return self.number(np.zeros((1, formula.width)))
        return self._emit("MatMul", [self._numbers(formula.x), self.number(formula.weights)])

    def _cases(self, formula: Cases) -> str:
        """The condition "otherwise" comes last and always holds; the first largest truth is the first."""
        holds = self.output(Concat((formula.conditions, constant(1.0))))
        values = self.output(Concat((formula.values, formula.otherwise)))
        return self._emit("GatherElements", [values, self._emit("ArgMax", [holds], axis=1, keepdims=1)], axis=1)

    def _reduce(self, formula: Reduce) -> str:
        axes = self._keep(np.array([1], dtype=np.int64))
        return self._emit(_REDUCTIONS[formula.name], [self._numbers(formula.x), axes], keepdims=1)

    def _argmax(self, formula: ArgMax) -> str:
        return self._cast(self._emit("ArgMax", [self._numbers(formula.x)], axis=1, keepdims=1))

    def _distances(self, formula: Distances) -> str:
        x = self._numbers(formula.x)
        if formula.kind != "squared":
            apart = self._emit("Sub", [self._emit("Unsqueeze", [x, self._axis(1)]), self.number(formula.rows[None])])
            sizes = self._emit("Abs", [apart]) if formula.kind == "manhattan" else self._emit("Mul", [apart, apart])
            return self._emit("ReduceSum", [sizes, self._axis(2)], keepdims=0)
        centre = formula.rows.mean(axis=0)  # far from the origin squares lose digits
        rows = formula.rows - centre
        end = _LARGEST_SQUARED[self.dtype]  # beyond, squares overflow, and the rows are as far away as can be
        shifted = self._emit("Sub", [x, self.number(centre[None])])
        shifted = self._emit("Max", [self._emit("Min", [shifted, self.number([[end]])]), self.number([[-end]])])
        squares = self._emit("ReduceSum", [self._emit("Mul", [shifted, shifted]), self._axis(1)], keepdims=1)
        cross = self._emit("MatMul", [shifted, self.number(-2.0 * rows.T)])
        both = self._emit("Add", [self._emit("Add", [cross, squares]), self.number(np.square(rows).sum(axis=1)[None])])
        return self._emit("Max", [both, self.number([[0.0]])])

    def _axis(self, axis: int) -> str:
        return self._keep(np.array([axis], dtype=np.int64))

    # -- tables ----------------------------------------------------------------------------------------------------

    def _text(self, text: str) -> str:
        return self._keep(np.array([[text]], dtype=object))

    def _filled(self, formula: Filled) -> str:
        gone = self.write(is_missing(formula.column))
        return self._emit("Where", [gone, self._text(formula.text), self.write(formula.column)])

    def _levels(self, formula: Levels) -> str:
        if kind_of(formula.column) == "text":
            values = np.array([[str(value) for value in formula.values]], dtype=object)
            return self._emit("Equal", [self.write(formula.column), self._keep(values)])
        numbers = np.array([[float(value) for value in formula.values]])
        return self._emit("Equal", [self.write(formula.column), self.number(numbers)])

    def _piecewise(self, formula: Piecewise) -> str:
        x = self.write(formula.x)
        beyond = self._cast(self._emit("GreaterOrEqual", [x, self.number(formula.knots[None])]), "integer")
        piece = self._emit("ReduceSum", [beyond, self._axis(1)], keepdims=0)

        def pick(table: Array) -> str:
            return self._emit("Gather", [self.number(table), piece], axis=0)

        t = self._emit("Div", [self._emit("Sub", [x, pick(formula.centres[:, None])]), pick(formula.radii[:, None])])
        value = pick(formula.coefficients[:, -1])
        for power in reversed(range(formula.coefficients.shape[1] - 1)):
            value = self._emit("Add", [self._emit("Mul", [value, t]), pick(formula.coefficients[:, power])])
        return value

    def _rules(self, formula: Rules) -> str:
        """A rule holds where as many of its literals do as it has."""
        groups: dict[str, list[tuple[int, Literal]]] = {}
        for place, rule in enumerate(formula.rules):
            for literal in rule.literals:
                numeric = literal.op not in (EQUAL, UNEQUAL) and kind_of(formula.columns[literal.feature]) == "number"
                group = _COMPARISONS[literal.op] if numeric else "words"
                groups.setdefault(group, []).append((place, literal))
        blocks = [self._literals(formula.columns, kind, [one for _, one in held]) for kind, held in groups.items()]
        order = [place for held in groups.values() for place, _ in held]
        needed = np.array([len(rule.literals) for rule in formula.rules], dtype=np.float64)
        member = np.zeros((len(order), len(needed)))
        member[np.arange(len(order)), order] = 1.0
        held = blocks[0] if len(blocks) == 1 else self._emit("Concat", blocks, axis=1)
        counted = self._emit("MatMul", [held, self.number(member)])
        return self._emit("GreaterOrEqual", [counted, self.number(needed[None] - 0.5)])

    def _literals(self, columns: tuple[Formula, ...], kind: str, literals: list[Literal]) -> str:
        """Literals of one kind side by side, one and zero."""
        if kind == "words":
            names = [self._word(columns[literal.feature], literal) for literal in literals]
            return self._cast(names[0] if len(names) == 1 else self._emit("Concat", names, axis=1))
        x = self._side_by_side(columns, [literal.feature for literal in literals])
        if kind == "IsNaN":
            return self._cast(self._emit("IsNaN", [x]))
        return self._cast(self._emit(kind, [x, self.number([[literal.value for literal in literals]])]))

    def _word(self, column: Formula, literal: Literal) -> str:
        gone = self.write(is_missing(column))
        if literal.op == MISSING:
            return gone
        same = self.write(Levels(column, (literal.value,)))
        if literal.op == EQUAL:
            return self._emit("And", [same, self._emit("Not", [gone])])
        return self._emit("Not", [self._emit("Or", [same, gone])])

    def _side_by_side(self, columns: tuple[Formula, ...], features: list[int]) -> str:
        """The columns asked, repeated as often as they are asked."""
        asked = [columns[j] for j in features]
        whole = asked[0].parts[0] if isinstance(asked[0], Take) else None
        if whole is not None and all(isinstance(one, Take) and one.x is whole for one in asked):
            return self.write(Take(whole, np.concatenate([one.at for one in asked if isinstance(one, Take)])))
        names = [self._numbers(one) for one in asked]
        return names[0] if len(names) == 1 else self._emit("Concat", names, axis=1)

    # -- trees -----------------------------------------------------------------------------------------------------

    def _trees(self, formula: Trees) -> str:
        nodes = NodeTables.of(formula.score)
        x = self._side_by_side(formula.columns, list(range(len(formula.columns))))
        rows = self._emit("Shape", [x], start=0, end=1)
        shape = self._emit("Concat", [rows, self._keep(np.array([len(nodes.roots)], dtype=np.int64))], axis=0)
        at = self._emit("Expand", [self._keep(nodes.roots[None]), shape])
        for _ in range(nodes.depth):
            at = self._descend(x, at, nodes)
        leaves = self._emit("Gather", [self.number(formula.score.values), at], axis=0)
        channel = np.eye(formula.width)[formula.score.roots[:, 1]]
        return self._emit("MatMul", [leaves, self.number(channel)])

    def _descend(self, x: str, at: str, nodes: NodeTables) -> str:
        """One level down in every tree; a leaf leads to itself."""

        def pick(table: Array) -> str:
            kept = self.number(table) if table.dtype.kind == "f" else self._keep(table)
            return self._emit("Gather", [kept, at], axis=0)

        value = self._emit("GatherElements", [x, pick(nodes.features)], axis=1)
        gone = self._emit("IsNaN", [value])
        left = self._emit("LessOrEqual", [value, pick(nodes.thresholds)])
        if nodes.members.size:
            code = self._emit("Where", [gone, self.number([[0.0]]), value])
            code = self._emit("Min", [code, self.number([[MOST_CODES - 1.0]])])
            place = self._emit("Add", [pick(nodes.first), self._cast(code, "integer")])
            listed = self._emit("Gather", [self._keep(nodes.members), place], axis=0)
            left = self._either(pick(nodes.categorical), listed, left)
        left = self._either(gone, pick(nodes.missing_left), left)
        return self._emit("Where", [left, pick(nodes.left), pick(nodes.right)])

    def _either(self, condition: str, yes: str, no: str) -> str:
        """Where of truth values, which onnxruntime has no Where for."""
        return self._emit(
            "Or",
            [self._emit("And", [condition, yes]), self._emit("And", [self._emit("Not", [condition]), no])],
        )


def _unscaled(formula: Formula) -> tuple[Formula, float] | None:
    """The formula and the number that multiply to this one, if it is such a product."""
    if not isinstance(formula, Op) or formula.name not in ("mul", "div"):
        return None
    first, second = formula.arguments
    if isinstance(first, Constant) and formula.name == "mul":
        first, second = second, first
    if not isinstance(second, Constant) or second.width > 1 or isinstance(first, Constant):
        return None
    factor = float(second.values[0])
    return first, factor if formula.name == "mul" else 1 / factor


def write_answer(writer: GraphWriter, emit: Any, keep: Any, answer: Answer) -> dict[str, str]:
    """The tensors of label, probabilities and scores, by the name of the output."""
    from onnx import TensorProto

    flat = keep(np.array([-1], dtype=np.int64))
    code = emit("Cast", [emit("Reshape", [writer.output(answer.label), flat])], to=TensorProto.INT64)
    found = {"label": emit("Gather", [keep(label_values(answer.classes)), code], axis=0)}
    if answer.probabilities is not None:
        found["probabilities"] = writer.output(answer.probabilities)
    scores = writer.output(answer.scores)
    found["scores"] = emit("Reshape", [scores, flat]) if answer.scores.width == 1 else scores
    return found


def label_values(classes: NDArray[Any]) -> NDArray[Any]:
    """The labels as a tensor: numbers stay numbers, all else is text."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "bf":
        return classes.astype(bool if classes.dtype.kind == "b" else np.float64)
    if all(isinstance(label, int | np.integer) and not isinstance(label, bool) for label in classes):
        return classes.astype(np.int64)
    return np.array([str(label) for label in classes], dtype=object)
