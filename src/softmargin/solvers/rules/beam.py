"""Beam search for the rule of largest edge, wherever the rows are: it asks a frame for histograms and nothing else.

Conjunctions grow by one literal at a time, and the ``beam`` best of each length go on. A literal and its opposite tie
exactly at the start (a rule and its negation) but grow different rules, so both are kept; the histogram of one is the
parent's minus the other's.

An empty coverage is the constant, not a rule, and scores as the constant does. Only a count of rows tells it from a
coverage whose weights cancel, and counting doubles the work of a histogram; so a level is counted only where something
that scores no better than the constant would go on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.rules import scan
from softmargin.expansions import BinnedTable

__all__ = ["RESOLUTION", "Frame", "Node", "Term", "beam_search"]

Array = NDArray[np.floating[Any]]
Term = tuple[int, int, int]

RESOLUTION = 1e8  # scores closer than 1e-8 of the total weight are equal


@dataclass
class Node:
    """A partial monomial with the histogram of the rows it covers, and those rows where they are at hand."""

    terms: tuple[Term, ...]
    score: int
    bits: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    hist: Array | None = None

    @property
    def order(self) -> tuple[int, tuple[Term, ...]]:
        return -self.score, self.terms


@dataclass
class Frame(ABC):
    """The weights of one search: their ``total`` per channel, the unit of scores, and histograms on demand."""

    binned: BinnedTable
    total: Array
    scale: float

    @abstractmethod
    def root(self) -> Node:
        """The empty monomial, without its histogram."""

    @abstractmethod
    def histograms(self, nodes: Sequence[tuple[Node, Node]], counted: bool) -> None:
        """Fill the histograms of children, given with their parents; ``counted`` adds a column of row counts."""

    @property
    def constant(self) -> int:
        """What the constant scores, and with it every empty coverage."""
        return int(np.rint(np.abs(self.total).sum() * self.scale))

    def refinements(self, parent: Node, most: int) -> Iterator[Node]:
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
            yield Node((*parent.terms, term), int(scores[j, shape]))


def beam_search(frame: Frame, max_literals: int, beam: int) -> list[Node]:
    """The nodes kept at every length, best first; ties go to the shorter, then to the lowest tuple of terms."""
    root, constant = frame.root(), frame.constant
    level, pool = [(root, root)], []
    for _ in range(max_literals):
        frame.histograms(level, False)
        kept = _kept(frame, [node for node, _ in level], beam)
        if constant and any(child.score <= constant for child, _ in kept):
            frame.histograms(level, True)
            kept = _kept(frame, [node for node, _ in level], beam)
        if not kept:  # no longer rule is better than its parent
            break
        pool += [child for child, _ in kept]
        level = kept
    return sorted(pool, key=lambda node: (-node.score, len(node.terms), node.terms))


def _kept(frame: Frame, level: list[Node], beam: int) -> list[tuple[Node, Node]]:
    """The best children of a level with their parents."""
    children: dict[tuple[Term, ...], tuple[Node, Node]] = {}
    for parent in level:
        for child in frame.refinements(parent, 2 * max(beam, 2)):
            if child.score > parent.score:
                known = children.setdefault(tuple(sorted(child.terms)), (child, parent))
                if known[0].score < child.score:
                    children[tuple(sorted(child.terms))] = (child, parent)
    return sorted(children.values(), key=lambda pair: pair[0].order)[: max(beam, 2)]
