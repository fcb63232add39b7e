"""What a coded chunk answers to boosting: risks, gradients, Hessians, histograms and coverages, all of them sums.

A task carries the model (rules as terms, coefficients, loss), never a vector over the rows. Bitsets, margins and slopes
of a chunk follow from the model and the chunk; the process that works on it keeps them from one task to the next as far
as ``room`` allows, and makes them again where they are missing: on another worker, after a crash, or for want of room.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dasum

from softmargin._compiled.coverage import rows_of
from softmargin._compiled.rules import fill
from softmargin.expansions import BinnedTable, Chunk, ClassCodes, ClassSigns, RowWeights, RuleColumns, coded_part
from softmargin.losses import Loss
from softmargin.solvers.rules.beam import Term

__all__ = ["About", "Bend", "Cover", "Forget", "HeldChunk", "Histograms", "Identify", "Model", "Visit", "Visited"]

Array = NDArray[np.floating[Any]]
Monomial = tuple[Term, ...]  # without terms it is the constant


@dataclass(frozen=True)
class About:
    """What stays the same through a fit; ``token`` tells fits apart, ``room`` bounds what a process keeps of one."""

    token: str
    binned: BinnedTable
    signs: tuple[ClassSigns, ...]
    weight: RowWeights
    room: int


@dataclass(frozen=True)
class Model:
    """Rules and the coefficients of one channel."""

    loss: Loss
    rules: tuple[Monomial, ...]
    channel: int
    coef: Array


@dataclass
class Point:
    """``c y psi'`` of each row under the coefficients of one channel, and what else a visit asks for."""

    key: tuple[Loss, bytes]
    pull: Array
    cost: float
    size: float
    lowest: float


class HeldChunk:
    """The rows of a chunk with the coverage of the rules asked about so far."""

    def __init__(self, about: About, chunk: Chunk) -> None:
        self.binned = coded_part(about.binned, chunk)
        self.y = np.stack([signs.of(chunk) for signs in about.signs])
        self.weights = about.weight.of(chunk)
        self.signed = self.weights * self.y
        self.columns = RuleColumns(len(chunk))
        self._rules: list[Monomial] = []
        self._points: dict[int, Point] = {}

    @property
    def nbytes(self) -> int:
        """Memory, without the codes, which may be mapped from a file."""
        points = sum(point.pull.nbytes for point in self._points.values())
        return int(2 * self.columns.bits.nbytes + 2 * self.y.nbytes + self.weights.nbytes + points)

    def cover(self, rules: Sequence[Monomial]) -> RuleColumns:
        """The columns of some rules; those that were asked about before are there."""
        same = 0
        while same < min(len(rules), len(self._rules)) and rules[same] == self._rules[same]:
            same += 1
        if same < len(self._rules) and same < len(rules):  # other rules from here on
            self.columns.keep(same)
            self._rules, self._points = self._rules[:same], {}
        for terms in rules[len(self._rules) :]:
            self.columns.append(self.binned.covered(terms))
            self._rules.append(terms)
        return self.columns if len(rules) == len(self._rules) else self.columns.select(range(len(rules)))

    def point(self, model: Model) -> Point:
        """The loss under a model."""
        columns = self.cover(model.rules)
        key = model.loss, np.trim_zeros(model.coef, "b").tobytes()
        found = self._points.get(model.channel)
        if found is None or found.key != key:
            margins = self._margins(columns, model)
            value, pull, _ = model.loss.evaluate(margins)
            pull *= self.signed[model.channel]
            cost, lowest = float(self.weights @ value), float(margins.min())
            found = self._points[model.channel] = Point(key, pull, cost, float(dasum(pull)), lowest)
        return found

    def hessian(self, model: Model, members: Sequence[int]) -> Array:
        """``H' diag(c psi'') H`` of some columns."""
        columns = self.cover(model.rules)
        curvature = self.weights * model.loss.evaluate(self._margins(columns, model))[2]
        return (columns if len(members) == columns.shape[1] else columns.select(members)).gram(curvature)

    def _margins(self, columns: RuleColumns, model: Model) -> Array:
        margins = columns.apply(model.coef)
        margins *= self.y[model.channel]
        return margins


class _Kept:
    """Held chunks of this process; whoever works on one owns it meanwhile."""

    def __init__(self) -> None:
        self._chunks: dict[tuple[str, int], tuple[HeldChunk, int]] = {}
        self._lock = threading.Lock()

    def take(self, about: About, chunk: Chunk) -> HeldChunk:
        with self._lock:
            found = self._chunks.pop((about.token, chunk.first), None)
        return HeldChunk(about, chunk) if found is None else found[0]

    def give(self, about: About, chunk: Chunk, held: HeldChunk) -> None:
        size = held.nbytes
        with self._lock:
            if sum(other for _, other in self._chunks.values()) + size <= about.room:
                self._chunks[about.token, chunk.first] = held, size

    def forget(self, token: str) -> None:
        with self._lock:
            self._chunks = {key: held for key, held in self._chunks.items() if key[0] != token}


_KEPT = _Kept()


@dataclass
class Sums:
    """Arrays that add up."""

    parts: list[Any]

    def plus(self, other: Sums) -> Sums:
        """The sums of two sets of rows."""
        return Sums([a + b for a, b in zip(self.parts, other.parts, strict=True)])


@dataclass
class Visited:
    """Cost, weight of the examples, lowest margin and gradient of one channel at ``coef``."""

    coef: Array
    cost: float
    size: float
    lowest: float
    gradient: Array

    def plus(self, other: Visited) -> Visited:
        """The same of two sets of rows."""
        return Visited(
            self.coef,
            self.cost + other.cost,
            self.size + other.size,
            min(self.lowest, other.lowest),
            self.gradient + other.gradient,
        )


@dataclass(frozen=True)
class Task(ABC):
    """A question to a coded chunk; None where it has no rows."""

    about: About

    @abstractmethod
    def answer(self, rows: HeldChunk, chunk: Chunk) -> Any: ...

    def __call__(self, chunk: Chunk) -> Any:
        if len(chunk) == 0:
            return None
        rows = _KEPT.take(self.about, chunk)
        answer = self.answer(rows, chunk)
        _KEPT.give(self.about, chunk, rows)
        return answer


@dataclass(frozen=True)
class Visit(Task):
    """Risk and gradient of a channel, in all columns or the last alone."""

    model: Model
    last: bool = False

    def answer(self, rows: HeldChunk, chunk: Chunk) -> Visited:
        point, columns = rows.point(self.model), rows.cover(self.model.rules)
        asked = columns.select([columns.shape[1] - 1]) if self.last else columns
        return Visited(self.model.coef, point.cost, point.size, point.lowest, asked.transpose(point.pull))


@dataclass(frozen=True)
class Bend(Task):
    """The Hessian of a channel in some columns."""

    model: Model
    members: tuple[int, ...]

    def answer(self, rows: HeldChunk, chunk: Chunk) -> Sums:
        return Sums([rows.hessian(self.model, self.members)])


@dataclass(frozen=True)
class Histograms(Task):
    """``g = c y psi'`` by code, over the rows that each monomial covers; total and size of ``g``.

    Edges are sizes, so minus the signed weights serve as well as those.
    """

    models: tuple[Model, ...]
    monomials: tuple[Monomial, ...]
    counted: bool = False

    def answer(self, rows: HeldChunk, chunk: Chunk) -> Sums:
        points = [rows.point(model) for model in self.models]
        total, size = np.array([point.pull.sum() for point in points]), sum(point.size for point in points)
        columns = [point.pull for point in points] + [np.ones(len(chunk))] * self.counted
        g = columns[0][:, None] if len(columns) == 1 else np.stack(columns, axis=1)
        return Sums([total, size, *(_histogram(rows.binned, g, one) for one in self.monomials)])


@dataclass(frozen=True)
class Identify(Task):
    """How many rows a monomial covers, all rows, and a number that only the same coverage has."""

    monomial: Monomial

    def answer(self, rows: HeldChunk, chunk: Chunk) -> Sums:
        bits = rows.binned.covered(self.monomial)
        digest = blake2b(bits.tobytes(), digest_size=8, salt=chunk.first.to_bytes(8, "little")).digest()
        return Sums([int(np.bitwise_count(bits).sum()), len(chunk), int.from_bytes(digest, "little")])


@dataclass(frozen=True)
class Cover(Task):
    """The weight that each rule covers of each class."""

    rules: tuple[Monomial, ...]
    codes: ClassCodes

    def answer(self, rows: HeldChunk, chunk: Chunk) -> Sums:
        columns, codes = rows.cover(self.rules), self.codes.of(chunk)
        return Sums([np.stack([columns.coverage(rows.weights * (codes == k)) for k in range(len(self.codes.values))])])


@dataclass(frozen=True)
class Forget(Task):
    """Let go of what was kept of a fit."""

    def answer(self, rows: HeldChunk, chunk: Chunk) -> None:
        return None

    def __call__(self, chunk: Chunk) -> None:
        _KEPT.forget(self.about.token)


def _histogram(binned: BinnedTable, g: Array, monomial: Monomial) -> Array:
    rows = None
    if monomial:
        room = np.empty(binned.n_rows, dtype=np.int32)
        rows = room[: rows_of(binned.covered(monomial), room)]
        g = np.take(g, rows, axis=0)
    hist = np.zeros((int(binned.offsets[-1]), g.shape[1]))
    fill(binned.codes, rows, g, binned.offsets, binned.asked, hist)
    return hist
