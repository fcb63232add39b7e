"""Boosting rules over rows elsewhere: every question of a round is a pass over coded chunks that returns sums.

The driver holds rules and coefficients; a round asks for the histogram of all rows, those of the rules in the beam, the
coverage of the winner, and the risk and gradient after each Newton step. The search, the steps and the certificate are
those of rows in memory, so on the same bins the rules are the same.

Newton's steps take the Hessian of the sample, where rows stand for many: it is wrong by ``sqrt(columns / rows drawn)``,
which is how fast such steps contract, and costs no pass. One over all rows is added up where they contract too slowly.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import ClassCodes, ClassSigns, CodedChunks, RowWeights
from softmargin.losses import Loss
from softmargin.solvers.linalg import backtrack
from softmargin.solvers.rules.beam import RESOLUTION, Frame, Node, Term, beam_search
from softmargin.solvers.rules.chunk_passes import (
    About,
    Bend,
    Cover,
    Forget,
    HeldChunk,
    Histograms,
    Identify,
    Model,
    Visit,
    Visited,
)
from softmargin.solvers.rules.learners import Hypothesis, Proposal
from softmargin.solvers.rules.leveraging import ROUNDING, Block, SmoothedBlock, newton
from softmargin.solvers.rules.state import ModelState

__all__ = ["ChunkedRules", "ChunkedState"]

Array = NDArray[np.floating[Any]]

_ROOM = 1 << 31  # bytes of bitsets and margins that a process keeps between passes where no limit is given

_SHORTEST = 1e-3  # step of a line search, each trial of which is a pass


@dataclass(frozen=True)
class ChunkedRules:
    """Coded chunks with labels and weights, and how rules are searched."""

    coded: CodedChunks
    signs: tuple[ClassSigns, ...]
    weight: RowWeights
    total_weight: float
    max_literals: int
    beam: int
    room: int | None = None

    def state(self, loss: Loss, smoothing: float, fit_intercept: bool) -> ChunkedState:
        """An empty model."""
        room = _ROOM if self.room is None else self.room
        about = About(uuid.uuid4().hex, self.coded.binned, self.signs, self.weight, room)
        n_fixed = int(fit_intercept)
        coef = np.zeros((len(self.signs), n_fixed))
        return ChunkedState(loss=loss, smoothing=smoothing, n_fixed=n_fixed, coef=coef, rows=self, about=about)


@dataclass(kw_only=True)
class ChunkedState(ModelState):
    """A boosted model whose rows are asked by passes."""

    rows: ChunkedRules
    about: About
    _seen: dict[int, Visited] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sample = HeldChunk(self.about, self.rows.coded.sample)
        self.sample.weights = self.sample.weights * self.rows.coded.times

    def ask(self, task: Any) -> Any:
        """A pass over all chunks."""
        return self.rows.coded.source.total(task)

    def model(self, k: int, coef: Array | None = None) -> Model:
        """The rules held with the coefficients of a channel."""
        rules = ((),) * self.n_fixed + tuple(one.terms for one in self.hypotheses)
        return Model(self.loss, rules, k, self.coef[k].copy() if coef is None else coef)

    def visit(self, k: int, coef: Array) -> Visited:
        """Risk and gradient of a channel at some coefficients of all columns; the last ones are remembered."""
        known = self._seen.get(k)
        if known is None or not np.array_equal(known.coef, coef):
            known = self._seen[k] = self.ask(Visit(self.about, self.model(k, coef.copy())))
        return known

    def close(self) -> None:
        """Let the chunks forget this fit."""
        self.rows.coded.source.collect(Forget(self.about))

    def coverage(self, terms: Sequence[tuple[Term, ...]], codes: ClassCodes) -> Array:
        """The weight that each rule covers, (classes, rules)."""
        return np.asarray(self.ask(Cover(self.about, tuple(terms), codes)).parts[0])

    # -- what boosting asks --------------------------------------------------------------------------------------

    @property
    def size(self) -> float:
        return sum(self._here(k).size for k in range(len(self.coef)))

    def risk(self) -> float:
        return sum(self._here(k).cost for k in range(len(self.coef)))

    def switch(self, loss: Loss) -> None:
        self.loss = loss
        self._seen.clear()

    def propose(self, n_round: int, count: int) -> list[Proposal]:
        """The rule of largest edge that covers some rows and not all."""
        if count > 1:
            raise ValueError("criterion='exact' tries every candidate on rows in memory; chunks need criterion='edge'.")
        models = tuple(self.model(k) for k in range(len(self.coef)))
        total, size, root = self.ask(Histograms(self.about, models, ((),))).parts
        if size == 0 or self.about.binned.offsets[-1] == 0:
            return []
        frame = _ChunkFrame(self.about.binned, total, RESOLUTION / size, self, models, root)
        for node in beam_search(frame, self.rows.max_literals, self.rows.beam):
            covered, everything, name = self.ask(Identify(self.about, node.terms)).parts
            if 0 < covered < everything:
                terms = tuple(sorted(node.terms))
                return [Proposal((Hypothesis((covered, name), terms, terms),), node.score / RESOLUTION)]
        return []

    def after(self, proposal: Proposal) -> tuple[float, float]:
        raise ValueError("tuning='F' and 'E' try every loss on rows in memory; chunks need tuning='cv' or one loss.")

    def gradients(self, members: Sequence[int]) -> Array:
        blocks = [_ChunkBlock(self.loss, self.pseudo(members), self, k, list(members)) for k in range(len(self.coef))]
        return np.stack([one.gradient(self._here(k), self.coef[k, members])[0] for k, one in enumerate(blocks)])

    def largest_edge(self) -> float:
        members = list(range(self.n_columns))
        if not members:
            return 0.0
        blocks = [_ChunkBlock(self.loss, self.pseudo(members), self, k, members) for k in range(len(self.coef))]
        return max(one.gradient(self._here(k), self.coef[k])[1] for k, one in enumerate(blocks))

    def squared_norms(self, members: Sequence[int]) -> Array:
        return np.full(len(members), self.rows.total_weight)

    def reach(self, members: Sequence[int]) -> Array:
        return np.ones(len(members))

    def return_to(self, loss: Loss, coef: Array, smoothing: float) -> None:
        self.forget(coef.shape[1])
        self.coef, self.smoothing, self.loss = coef.copy(), smoothing, loss
        self._seen.clear()

    def _here(self, k: int) -> Visited:
        return self.visit(k, self.coef[k])

    def _append(self, hypothesis: Hypothesis) -> None:
        for k, known in self._seen.items():  # what is known of the other columns stays known
            if np.array_equal(known.coef, self.coef[k, :-1]):
                new = self.ask(Visit(self.about, self.model(k), last=True))
                new.gradient = np.append(known.gradient, new.gradient)
                self._seen[k] = new

    def _solved(self, k: int, members: list[int], tol: float) -> Block:
        block = _ChunkBlock(self.loss, self.pseudo(members), self, k, members)
        return newton(block, Block(self.coef[k, members], self._here(k)), tol)

    def _move(self, k: int, members: list[int], step: Array, block: Block | None) -> None:
        if block is not None:
            self._seen[k] = block.point


@dataclass
class _ChunkBlock(SmoothedBlock):
    """A block of columns of one channel; a point is a ``Visited``."""

    state: ChunkedState
    channel: int
    members: list[int]

    def first_hessian(self, point: Visited) -> Array:
        return self.state.sample.hessian(self.state.model(self.channel, point.coef), self.members)

    def hessian(self, point: Visited) -> Array:
        model = self.state.model(self.channel, point.coef)
        return np.asfortranarray(self.state.ask(Bend(self.state.about, model, tuple(self.members))).parts[0])

    def pull(self, point: Visited) -> tuple[Array, float]:
        return point.gradient[self.members], point.size

    def search(self, point: Visited, coef: Array, step: Array, gradient: Array) -> tuple[Array, Visited] | None:
        now = point.cost + self.pseudo_cost(coef)

        def at(length: float) -> tuple[float, tuple[Array, Visited]]:
            trial, whole = coef + length * step, point.coef.copy()
            whole[self.members] = trial
            there = self.state.visit(self.channel, whole)
            return there.cost + self.pseudo_cost(trial), (trial, there)

        found = backtrack(at, now, float(gradient @ step), noise=ROUNDING * abs(now), shortest=_SHORTEST)
        return None if found is None else found.there

    def lowest_margin(self, point: Visited) -> float:
        return point.lowest


@dataclass
class _ChunkFrame(Frame):
    """One search: a level of the beam is one pass."""

    state: ChunkedState
    models: tuple[Model, ...]
    whole: Array

    def root(self) -> Node:
        return Node((), -1)

    def histograms(self, nodes: Sequence[tuple[Node, Node]], counted: bool) -> None:
        """Those of the nodes; a ``>`` whose ``<=`` is there too is the parent minus it."""
        if nodes and not nodes[0][0].terms and not counted:
            nodes[0][0].hist = self.whole
            return
        by_terms = {child.terms: child for child, _ in nodes}
        derived = []
        for child, parent in nodes:
            low = (
                by_terms.get((*child.terms[:-1], (child.terms[-1][0], 0, child.terms[-1][2]))) if child.terms else None
            )
            width = len(self.total) + counted
            if (
                low is not None
                and child.terms[-1][1] == 1
                and parent.hist is not None
                and parent.hist.shape[1] == width
            ):
                derived.append((child, parent, low))
        later = {child.terms for child, _, _ in derived}
        asked = [child for child, _ in nodes if child.terms not in later]
        monomials = tuple(child.terms for child in asked)
        found = self.state.ask(Histograms(self.state.about, self.models, monomials, counted)).parts[2:]
        for child, hist in zip(asked, found, strict=True):
            child.hist = hist
        for child, parent, low in derived:
            assert parent.hist is not None
            assert low.hist is not None
            child.hist = parent.hist - low.hist
