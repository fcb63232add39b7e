"""Which rule has the largest edge? Three searches over the same histograms.

With ``g = c y w`` (a column per class) the edge of a rule is ``E = 2 G(covered) - G``. For +-1 rules ``|E|`` is not a
heuristic: the second-order decrease of the risk is ``E^2 / (2 sum c psi'')`` with the same denominator for every rule.

* ``beam``: grow conjunctions one literal at a time and keep the ``beam`` best of each length, at most one ``<=`` and
  one ``>`` per feature and parent (:mod:`softmargin.solvers.rules.beam`).
* ``exhaustive``: all pairs of literals by joint histograms; longer rules by fixing the first literals in turn.
* ``exact``: branch and bound from the beam's answer.

Scores are integers in units of 1e-8 of the total weight and ties go to the shorter, then to the lowest tuple of
(feature, op, code): the same rule is found whatever the order of the rows, the number of threads or the rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.coverage import rows_of
from softmargin._compiled.monomials import best_monomial, best_pair
from softmargin._compiled.rules import fill
from softmargin.expansions import BinnedTable, in_threads
from softmargin.solvers.rules.beam import RESOLUTION, Frame, Node, Term, beam_search

__all__ = ["SEARCHES", "Found", "RuleSearch"]

Array = NDArray[np.floating[Any]]

SEARCHES = ("beam", "exact", "exhaustive")
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
        return self.score / RESOLUTION


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
        frame = _Frame(self.binned, g.sum(axis=0), RESOLUTION / size, g, self._rows, self.n_threads)
        pool = beam_search(frame, self.max_literals, self.beam)
        if self.search != "beam" and pool:
            pool = self._certify(frame, pool)
        return _distinct(pool, count, self.binned)

    def _certify(self, frame: _Frame, pool: list[Node]) -> list[Node]:
        best = pool[0]
        frame = frame.counting(best.score)
        if self.search == "exact":
            score, terms = frame.branch_and_bound(self.max_literals, best.score)
        else:
            score, terms = frame.exhaust(self.max_literals, best.score)
        return [Node(terms, score), *pool] if score > best.score else pool


@dataclass
class _Frame(Frame):
    """The weights of one search over rows in memory and what the kernels need beside them."""

    g: Array
    spare: NDArray[np.int32]
    n_threads: int

    def root(self) -> Node:
        return Node((), -1, self.binned.all_rows())

    def histograms(self, nodes: Sequence[tuple[Node, Node]], counted: bool) -> None:
        """Those of the nodes; a sibling ``>`` of a ``<=`` is the parent minus it when nothing is missing."""
        frame = self.counting(0) if counted else self
        by_terms = {child.terms: (child, parent) for child, parent in nodes}
        for child, parent in nodes:
            child.hist = None
            if child.terms:
                child.bits = self.binned.refine(parent.bits, child.terms[-1])
        for child, parent in sorted(nodes, key=lambda pair: int(np.bitwise_count(pair[0].bits).sum())):
            if child.hist is not None:
                continue
            rows = None if not child.terms else self.spare[: rows_of(child.bits, self.spare)]
            child.hist = frame.histogram(rows)
            feature, op, code = child.terms[-1] if child.terms else (0, 2, 0)
            twin = by_terms.get((*child.terms[:-1], (feature, 1 - op, code))) if op < 2 else None
            if twin is None or parent.hist is None or self.binned.layout[feature, 3] >= 0:
                continue
            if parent.hist.shape == child.hist.shape:
                twin[0].hist = parent.hist - child.hist

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
        shares = [features] if parts == 1 else np.array_split(features, parts)
        in_threads(lambda part: fill(codes, rows, g, offsets, part, hist), shares, parts)
        return hist

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


def _distinct(pool: list[Node], count: int, binned: BinnedTable) -> list[Found]:
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
