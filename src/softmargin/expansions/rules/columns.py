"""Rules as an expansion: column ``t`` is +1 on the rows rule ``t`` covers and -1 elsewhere, kept as bitsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

import softmargin._compiled.coverage as kernel
from softmargin._compiled.rules import fill
from softmargin._threads import in_threads
from softmargin.expansions.features.base import Features
from softmargin.expansions.memory import require_square
from softmargin.expansions.protocol import Rows
from softmargin.expansions.rules.literals import Rule
from softmargin.expansions.rules.table import Table

__all__ = ["RuleColumns", "cover", "pack"]

Array = NDArray[np.floating[Any]]

# Rows times rules from which a second thread is taken for a product; to be measured by `python -m benchmarks rules`.
_THREADED = 500_000
_BYTES = 256
_SIGNS = 2.0 * np.unpackbits(np.arange(_BYTES, dtype=np.uint8)[:, None], axis=1, bitorder="little") - 1  # (256, 8)
# Rules whose products with the rows are made one by one: tables of 256 sums each take longer (569 rows: 6 and 40 us).
_SINGLY = 2


def pack(covered: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """One bit per row, 64 rows a word, row 0 in the lowest bit; tail bits are zero."""
    packed = np.packbits(covered, bitorder="little")
    words = np.zeros(-(-len(packed) // 8), dtype=np.uint64)
    words.view(np.uint8)[: len(packed)] = packed
    return words


class RuleColumns(Features):
    """The +-1 columns of some rules over the training rows; grows one rule at a time.

    The words of all rules sit in one array with room to grow, so that appending costs no copy of what is there. For
    products the bits of eight rules also sit in one byte per row, written by the first product that needs them.
    ``known`` are the rules in words, where they have been put into words: new rows can be scored by those only.
    """

    def __init__(self, n_rows: int, room: int = 16, n_threads: int = 1) -> None:
        self.n_rows, self.n_threads = n_rows, n_threads
        self.known: list[Rule] = []
        self._words = np.zeros((max(room, 1), (n_rows + 63) // 64), dtype=np.uint64)
        self._count = 0
        self._groups = np.zeros((0, n_rows), dtype=np.uint8)
        self._grouped = 0  # rules whose bits are in the bytes

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, self._count

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def bits(self) -> NDArray[np.uint64]:
        """The coverage of each rule, (rules, words)."""
        return self._words[: self._count]

    def append(self, bits: NDArray[np.uint64]) -> None:
        """Add a rule by its coverage."""
        if self._count == len(self._words):
            self._words = np.concatenate([self._words, np.zeros_like(self._words)])
        self._words[self._count] = bits
        self._count += 1

    def append_constant(self) -> None:
        """Add the empty rule, which covers every row."""
        self.append(pack(np.ones(self.n_rows, dtype=bool)))

    def keep(self, count: int) -> None:
        """Forget all but the first ``count`` rules."""
        self._count = min(self._count, count)
        self._grouped = min(self._grouped, count)

    def select(self, columns: Sequence[int] | NDArray[np.intp]) -> RuleColumns:
        """Some of the rules, in the given order."""
        members = np.asarray(columns, dtype=np.intp)
        part = RuleColumns(self.n_rows, len(members), self.n_threads)
        part._words[: len(members)] = self._words[members]
        part._count = len(members)
        part.known = [self.known[t] for t in members] if self.known else []
        return part

    def take(self, rows: NDArray[np.intp]) -> RuleColumns:
        part = RuleColumns(len(rows), self._count, self.n_threads)
        for t in range(self._count):
            part.append(pack(self.column(t)[rows] > 0))
        part.known = self.known
        return part

    def column(self, t: int) -> Array:
        """Rule ``t`` as +-1."""
        return 2.0 * self._covered(t) - 1

    def _covered(self, t: int) -> NDArray[np.uint8]:
        return np.unpackbits(self._words[t].view(np.uint8), count=self.n_rows, bitorder="little")

    def columns(self, at: NDArray[np.intp]) -> Array:
        dense = np.empty((self.n_rows, len(at)), order="F")
        for place, t in enumerate(at):
            dense[:, place] = self.column(int(t))
        return dense

    def rows(self, at: Rows = slice(None)) -> Array:
        return self.columns(np.arange(self._count))[at]

    def outer(self) -> Array:
        require_square(self.n_rows)
        dense = self.rows()
        return dense @ dense.T

    def diagonal(self) -> Array:
        return np.full(self.n_rows, float(self._count))

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        if len(self.known) < self._count:
            raise ValueError("These rules are known by their coverage only; cover() them on a table to score new rows.")
        from softmargin.expansions.rules.score import RuleScore  # which covers tables with columns of this module

        score = RuleScore(tuple(self.known), np.atleast_2d(coef), np.zeros(1))
        return score.first

    def coverage(self, weight: Array | None = None) -> Array:
        """The (weighted) number of rows each rule covers."""
        if weight is None:
            return np.bitwise_count(self.bits).sum(axis=1, dtype=np.int64)
        return (self.transpose(weight) + weight.sum()) / 2

    def apply(self, coef: Array) -> Array:
        """``H coef``."""
        out = np.empty(self.n_rows)
        groups = self._bytes()
        padded = np.zeros(8 * len(groups))
        padded[: self._count] = coef
        tables = np.ascontiguousarray(padded.reshape(-1, 8) @ _SIGNS.T)
        if self._parts() == 1:
            kernel.add_up(groups, tables, out)
            return out
        marks = np.linspace(0, self.n_rows, self._parts() + 1).astype(int)

        def rows(part: tuple[int, int]) -> None:
            kernel.add_up(groups[:, part[0] : part[1]], tables, out[part[0] : part[1]])

        in_threads(rows, pairwise(marks), self._parts())
        return out

    def transpose(self, r: Array) -> Array:
        """``H' r``."""
        if self._count <= _SINGLY:
            return np.array([self.column(t) @ r for t in range(self._count)])
        groups, r = self._bytes(), np.ascontiguousarray(r, dtype=np.float64)
        offsets = (_BYTES * np.arange(len(groups) + 1)).astype(np.int32)
        hist = np.zeros((_BYTES * len(groups), 1))
        whole = np.arange(len(groups), dtype=np.int32)
        parts = [whole] if self._parts() == 1 else np.array_split(whole, self._parts())
        in_threads(lambda part: fill(groups, None, r[:, None], offsets, part, hist), parts, self._parts())
        return np.asarray((hist.reshape(-1, _BYTES) @ _SIGNS).ravel()[: self._count])

    def _bytes(self) -> NDArray[np.uint8]:
        """The bits of rules ``8 g, ..., 8 g + 7`` in byte ``g`` of each row."""
        needed = -(-self._count // 8)
        if len(self._groups) < needed:
            more = np.zeros((needed - len(self._groups), self.n_rows), dtype=np.uint8)
            self._groups = np.concatenate([self._groups, more])
        for t in range(self._grouped, self._count):
            group = self._groups[t // 8]
            group &= np.uint8((1 << t % 8) - 1)  # rules forgotten since may have left theirs here
            group |= self._covered(t) << np.uint8(t % 8)
        self._grouped = self._count
        return self._groups[:needed]

    def _parts(self) -> int:
        return self.n_threads if self.n_rows * self._count >= _THREADED else 1

    def gram(self, weights: Array) -> Array:
        """``H' diag(weights) H``."""
        out = np.empty((self._count, self._count), order="F")
        kernel.gram(self.bits, np.ascontiguousarray(weights, dtype=np.float64), out)
        return out

    def squared_norms(self, weights: Array | None = None) -> Array:
        """Every column has entries +-1."""
        return np.full(self._count, float(self.n_rows if weights is None else weights.sum()))


def cover(rules: Sequence[Rule], table: Table) -> RuleColumns:
    """The columns of some rules on the rows of a table; every column asked about is read once."""
    columns = RuleColumns(len(table), len(rules))
    covered = np.empty((len(rules), columns._words.shape[1]), dtype=np.uint64)
    covered[:] = pack(np.ones(len(table), dtype=bool))
    questions = [(literal.feature, t, literal) for t, rule in enumerate(rules) for literal in rule.literals]
    questions.sort(key=lambda question: question[:2])
    for feature, group in groupby(questions, key=lambda question: question[0]):
        column = table.column(feature)
        for _, t, literal in group:
            covered[t] &= pack(literal.holds(column))
    for bits in covered:
        columns.append(bits)
    columns.known = list(rules)
    return columns
