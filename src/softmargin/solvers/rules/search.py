"""Which rule has the largest edge? Three searches over the same histograms.

With ``g = c y w`` (a column per class) the edge of a rule is ``E = 2 G(covered) - G``. For +-1 rules ``|E|`` is not a
heuristic: the second-order decrease of the risk is ``E^2 / (2 sum c psi'')`` with the same denominator for every rule.

* ``beam``: grow conjunctions one literal at a time and keep the ``beam`` best of each length, at most one ``<=`` and
  one ``>`` per feature and parent. A literal and its opposite tie exactly at the start (a rule and its negation) but
  grow different rules, so both are kept; the histogram of one is the parent's minus the other's.
* ``exhaustive``: all pairs of literals by joint histograms; longer rules by fixing the first literals in turn.
* ``exact``: branch and bound from the beam's answer.

Scores are integers in units of 1e-8 of the total weight and ties go to the shorter, then to the lowest tuple of
(feature, op, code): the same rule is found whatever the order of the rows, the number of threads or the rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.coverage import rows_of
from softmargin._compiled.monomials import best_monomial, best_pair
from softmargin._compiled.rules import fill, scan
from softmargin.expansions import BinnedTable, in_threads

__all__ = ["SEARCHES", "Found", "RuleSearch"]

Array = NDArray[np.floating[Any]]
Term = tuple[int, int, int]

SEARCHES = ("beam", "exact", "exhaustive")
_RESOLUTION = 1e8  # scores closer than 1e-8 of the total weight are equal
_THREADED = 200_000  # cells from which a second thread pays (``python -m benchmarks thresholds`` times both ways)


@dataclass(frozen=True)
class Found:
    """A monomial, its score and the rows it covers."""

    terms: tuple[Term, ...]
    score: int
    bits: NDArray[np.uint64]

    @property
    def edge(self) -> float:
        """The edge relative to the total weight, to the resolution of scores."""
        return self.score / _RESOLUTION


@dataclass
class _Node:
    """A partial monomial with the histogram of the rows it covers."""

    terms: tuple[Term, ...]
    score: int
    bits: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    hist: Array | None = None

    @property
    def order(self) -> tuple[int, tuple[Term, ...]]:
        return -self.score, self.terms


class RuleSearch:
    """Finds the rule of at most ``max_literals`` literals with the largest edge on given weights."""

    def __init__(
        self, binned: BinnedTable, *, max_literals: int, search: str = "beam", beam: int = 4, n_threads: int = 1
    ) -> None:
        self.binned = binned
        self.max_literals = max_literals
        self.search = search
        self.beam = beam
        self.n_threads = n_threads
        self._rows = np.empty(binned.n_rows, dtype=np.int32)

    def best(self, g: Array) -> Found | None:
        """The best rule for signed weights ``g`` of shape (rows, channels); None when no literal exists."""
        candidates = self.candidates(g)
        return candidates[0] if candidates else None

    def candidates(self, g: Array, count: int = 1) -> list[Found]:
        """The best rules found, best first, at most ``count`` and with different coverages."""
        g = np.ascontiguousarray(g, dtype=np.float64)
        size = float(np.abs(g).sum())
        if size == 0 or self.binned.offsets[-1] == 0:
            return []
        frame = _Frame.of(self.binned, g, _RESOLUTION / size, self.n_threads)
        pool = sorted(self._beam(frame), key=lambda node: (-node.score, len(node.terms), node.terms))
        if self.search != "beam" and pool:
            pool = self._certify(frame, pool)
        return _distinct(pool, count, self.binned)

    def _beam(self, frame: _Frame) -> list[_Node]:
        root = _Node((), -1, self.binned.all_rows(), frame.histogram(None))
        level, pool = [root], []
        for depth in range(self.max_literals):
            children: dict[tuple[Term, ...], tuple[_Node, _Node]] = {}
            for parent in level:
                for child in frame.refinements(parent, 2 * max(self.beam, 2)):
                    if child.score > parent.score:
                        known = children.setdefault(tuple(sorted(child.terms)), (child, parent))
                        if known[0].score < child.score:
                            children[tuple(sorted(child.terms))] = (child, parent)
            kept = sorted(children.values(), key=lambda pair: pair[0].order)[: max(self.beam, 2)]
            pool += [child for child, _ in kept]
            if depth + 1 < self.max_literals:
                for child, parent in kept:
                    child.bits = self.binned.refine(parent.bits, child.terms[-1])
                self._fill(frame, kept)
            level = [child for child, _ in kept]
        return pool

    def _fill(self, frame: _Frame, kept: list[tuple[_Node, _Node]]) -> None:
        """Histograms of the children; a sibling ``>`` of a ``<=`` is the parent minus it when nothing is missing."""
        by_terms = {child.terms: (child, parent) for child, parent in kept}
        for child, parent in sorted(kept, key=lambda pair: int(np.bitwise_count(pair[0].bits).sum())):
            if child.hist is not None:
                continue
            count = rows_of(child.bits, self._rows)
            child.hist = frame.histogram(self._rows[:count])
            feature, op, code = child.terms[-1]
            twin = by_terms.get((*child.terms[:-1], (feature, 1 - op, code))) if op < 2 else None
            if twin is not None and self.binned.layout[feature, 3] < 0 and parent.hist is not None:
                twin[0].hist = parent.hist - child.hist

    def _certify(self, frame: _Frame, pool: list[_Node]) -> list[_Node]:
        best = pool[0]
        frame = frame.counting(best.score)
        if self.search == "exact":
            score, terms = frame.branch_and_bound(self.max_literals, best.score)
        else:
            score, terms = frame.exhaust(self.max_literals, best.score)
        return [_Node(terms, score), *pool] if score > best.score else pool


@dataclass
class _Frame:
    """The weights of one search and what the kernels need beside them."""

    binned: BinnedTable
    g: Array
    total: Array
    scale: float
    n_threads: int

    @classmethod
    def of(cls, binned: BinnedTable, g: Array, scale: float, n_threads: int) -> _Frame:
        """The frame of a search, with rows counted if the constant has an edge of its own."""
        return cls(binned, g, g.sum(axis=0), scale, n_threads).counting(0)

    def counting(self, incumbent: int) -> _Frame:
        """The frame with rows counted where needed: an empty coverage scores as the constant, harmless up to here."""
        counted = self.g.shape[1] > len(self.total)
        needed = np.rint(np.abs(self.total).sum() * self.scale) > incumbent
        if counted == needed:
            return self
        g = self.g[:, : len(self.total)]
        g = np.column_stack([g, np.ones(len(g))]) if needed else np.ascontiguousarray(g)
        return replace(self, g=g)

    def histogram(self, rows: NDArray[np.int32] | None) -> Array:
        """Signed weight by code of every feature, over some rows or all (None)."""
        offsets, codes = self.binned.offsets, self.binned.codes
        g = self.g if rows is None else np.take(self.g, rows, axis=0)
        hist = np.zeros((int(offsets[-1]), g.shape[1]))
        features = self.binned.asked
        parts = self.n_threads if len(g) * len(features) >= _THREADED else 1
        in_threads(lambda part: fill(codes, rows, g, offsets, part, hist), np.array_split(features, parts), parts)
        return hist

    def refinements(self, parent: _Node, most: int) -> Iterator[_Node]:
        """The best literal of each shape and feature on top of ``parent``, at most ``most`` of them."""
        layout = self.binned.layout
        scores = np.empty((len(layout), 3), dtype=np.int64)
        codes = np.empty((len(layout), 3), dtype=np.int32)
        scan(parent.hist, self.binned.offsets, layout, self.total, self.scale, scores, codes)
        features, shapes = np.nonzero(scores > parent.score)
        if len(features) > most:
            top = np.sort(np.argsort(-scores[features, shapes], kind="stable")[:most])
            features, shapes = features[top], shapes[top]
        for j, shape in zip(features.tolist(), shapes.tolist(), strict=True):
            op = 4 if shape == 2 else shape + 2 * int(layout[j, 2])
            term = (j, op, int(codes[j, shape]))
            yield _Node((*parent.terms, term), int(scores[j, shape]))

    def branch_and_bound(self, max_literals: int, incumbent: int) -> tuple[int, tuple[Term, ...]]:
        """A better monomial than ``incumbent`` if there is one."""
        best = np.full((max_literals, 3), -1, dtype=np.int32)
        score, _ = best_monomial(
            self.binned.codes, self.g, self.binned.offsets, self.binned.layout, self.total, self.scale,
            max_literals, incumbent, best,
        )  # fmt: skip
        return score, _terms(best)

    def exhaust(
        self, max_literals: int, incumbent: int, rows: NDArray[np.int32] | None = None
    ) -> tuple[int, tuple[Term, ...]]:
        """The same by trying every pair of literals, under every choice of the literals before it."""
        if max_literals == 1 or (rows is not None and len(rows) == 0):
            return incumbent, ()  # a beam of one level is already exhaustive
        score, terms = self._best_pair(incumbent, rows)
        for term in self._all_terms() if max_literals > 2 else ():
            inside = self._restrict(term, rows)
            found, rest = self.exhaust(max_literals - 1, score, inside)
            if found > score:
                score, terms = found, (term, *rest)
        return score, terms

    def _best_pair(self, incumbent: int, rows: NDArray[np.int32] | None) -> tuple[int, tuple[Term, ...]]:
        g = self.g if rows is None else np.take(self.g, rows, axis=0)
        d = len(self.binned.codes)
        # the first feature meets all later ones: equal shares of pairs need unequal blocks
        parts = self.n_threads * 4 if len(g) * d >= _THREADED else 1
        marks = np.unique((d * (1 - np.sqrt(1 - np.arange(parts + 1) / parts))).astype(int))
        marks[-1] = d

        def search(block: tuple[int, int]) -> tuple[int, NDArray[np.int32]]:
            best = np.full((2, 3), -1, dtype=np.int32)
            score = best_pair(
                self.binned.codes, rows, g, self.binned.offsets, self.binned.layout, self.total,
                self.scale, block[0], block[1], best,
            )  # fmt: skip
            return score, best

        blocks = list(pairwise(marks.tolist()))
        score, best = max(in_threads(search, blocks, self.n_threads), key=lambda pair: pair[0])
        return (score, _terms(best)) if score > incumbent else (incumbent, ())

    def _all_terms(self) -> Iterator[Term]:
        for j, (n_values, n_other, categorical, missing) in enumerate(self.binned.layout.tolist()):
            if self.binned.offsets[j + 1] == self.binned.offsets[j]:
                continue
            shapes = [(2, n_values), (3, n_values if n_values + n_other > 2 else 0)]
            for op, count in shapes if categorical else [(0, n_values - 1), (1, n_values - 1)]:
                yield from ((j, op, code) for code in range(count))
            if missing >= 0:
                yield j, 4, missing

    def _restrict(self, term: Term, rows: NDArray[np.int32] | None) -> NDArray[np.int32]:
        codes = self.binned.codes[term[0]]
        kept = self.binned.accepted(*term)[codes if rows is None else codes[rows]]
        inside = np.flatnonzero(kept).astype(np.int32)
        return inside if rows is None else rows[inside]


def _terms(best: NDArray[np.int32]) -> tuple[Term, ...]:
    return tuple((int(a), int(b), int(c)) for a, b, c in best if a >= 0)


def _distinct(pool: list[_Node], count: int, binned: BinnedTable) -> list[Found]:
    """The first ``count`` nodes with different coverages that are neither empty nor everything."""
    found: list[Found] = []
    seen: set[bytes] = set()
    for node in pool:
        bits = node.bits if len(node.bits) else binned.covered(node.terms)
        covered = int(np.bitwise_count(bits).sum())
        key = bits.tobytes() if count > 1 else b""
        if 0 < covered < binned.n_rows and (count == 1 or key not in seen):
            seen.add(key)
            found.append(Found(tuple(sorted(node.terms)), node.score, bits))
            if len(found) == count:
                break
    return found
