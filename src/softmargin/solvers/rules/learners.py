"""Weak learners: where the hypotheses of a round come from.

Boosting asks a learner two things: an empty set of columns to hold hypotheses in, and, given signed weights of the
rows, the block of hypotheses ``T_j`` to leverage next. ``RuleLearner`` searches conjunctions of literals.
``GivenLearner`` holds a matrix whose columns are the hypotheses, any real values, and takes the column of largest edge
or the blocks its user lists, in turn.

The edge of a given column is normalised by its own size, ``e = sum_i c_i y_i h_i w_i / (Z m)`` with
``m^2 = sum_i c_i h_i^2 / sum_i c_i``: the plain edge for values +-1, and unmoved by the units of a column.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion, Features, RuleColumns
from softmargin.solvers.rules.search import RuleSearch

__all__ = ["GivenColumns", "GivenLearner", "HeldColumns", "Hypothesis", "Learner", "Proposal", "RuleLearner"]

Array = NDArray[np.floating[Any]]

_LARGEST = 1e150  # squares and sums of them stay below the largest double 1e308


@dataclass(frozen=True)
class Hypothesis:
    """A weak hypothesis; ``content`` is what its columns hold, ``terms`` its literals or the number of its column."""

    key: Hashable
    content: Any
    terms: Any


@dataclass(frozen=True)
class Proposal:
    """The block to leverage in a round, with the largest normalised edge on it."""

    block: tuple[Hypothesis, ...]
    edge: float


class HeldColumns(Expansion, Protocol):
    """The columns of the hypotheses held so far."""

    def append(self, content: Any) -> None: ...

    def append_constant(self) -> None: ...

    def keep(self, count: int) -> None: ...

    def select(self, columns: Any) -> HeldColumns: ...

    def column(self, t: int) -> Array: ...


class Learner(Protocol):
    """Proposes hypotheses on weighted rows."""

    n_threads: int

    def hold(self, room: int) -> HeldColumns:
        """An empty set of columns."""
        ...

    def values(self, hypothesis: Hypothesis) -> Array:
        """A hypothesis on the training rows."""
        ...

    def propose(self, g: Array, n_round: int, count: int) -> list[Proposal]:
        """At most ``count`` blocks for signed weights ``g`` (rows, channels), best first; none if there is no edge."""
        ...


class RuleLearner:
    """Rules found by a search; the block of a round is one rule."""

    def __init__(self, search: RuleSearch) -> None:
        self.search, self.n_threads = search, search.n_threads

    def hold(self, room: int) -> RuleColumns:
        return RuleColumns(self.search.binned.n_rows, room=room, n_threads=self.n_threads)

    def values(self, hypothesis: Hypothesis) -> Array:
        columns = RuleColumns(self.search.binned.n_rows, 1)
        columns.append(hypothesis.content)
        return columns.column(0)

    def propose(self, g: Array, n_round: int, count: int) -> list[Proposal]:
        found = self.search.candidates(g, count)
        return [Proposal((Hypothesis(one.bits.tobytes(), one.bits, one.terms),), one.edge) for one in found]


class GivenColumns(Features):
    """Some columns of a matrix; -1 stands for the constant one."""

    def __init__(self, matrix: Array, held: Sequence[int] = ()) -> None:
        self._matrix = matrix
        self._held = list(held)
        self._values = np.empty((len(matrix), 0), order="F")
        for j in self._held:
            self._values = np.column_stack([self._values, self._column_of(j)])

    @property
    def shape(self) -> tuple[int, int]:
        return self._values.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def _column_of(self, j: int) -> Array:
        return np.ones(len(self._matrix)) if j < 0 else self._matrix[:, j]

    def append(self, content: int) -> None:
        self._held.append(content)
        self._values = np.column_stack([self._values, self._column_of(content)])

    def append_constant(self) -> None:
        self.append(-1)

    def keep(self, count: int) -> None:
        self._held, self._values = self._held[:count], self._values[:, :count]

    def select(self, columns: Any) -> GivenColumns:
        return GivenColumns(self._matrix, [self._held[t] for t in columns])

    def take(self, rows: NDArray[np.intp]) -> GivenColumns:
        return GivenColumns(self._matrix[rows], self._held)

    def column(self, t: int) -> Array:
        return self._values[:, t]

    def columns(self, at: NDArray[np.intp]) -> Array:
        return np.asfortranarray(self._values[:, at])

    def rows(self, at: Any = slice(None)) -> Array:
        return self._values[at]

    def apply(self, coef: Array) -> Array:
        return self._values @ coef

    def transpose(self, r: Array) -> Array:
        return self._values.T @ r

    def gram(self, weights: Array) -> Array:
        scaled = self._values * np.sqrt(weights)[:, None]
        return np.asfortranarray(scaled.T @ scaled)

    def squared_norms(self, weights: Array | None = None) -> Array:
        return np.square(self._values).T @ (np.ones(len(self._values)) if weights is None else weights)

    def outer(self) -> Array:
        return self._values @ self._values.T

    def diagonal(self) -> Array:
        return np.square(self._values).sum(axis=1)


class GivenLearner:
    """The columns of a matrix; ``blocks`` are taken in turn, without them the column of largest edge."""

    def __init__(self, matrix: Array, weights: Array, blocks: Sequence[Sequence[int]] | None = None) -> None:
        self.matrix, self.blocks, self.n_threads = matrix, blocks, 1
        largest = float(np.abs(matrix).max(initial=0.0))
        if not largest < _LARGEST:
            raise ValueError(
                f"The columns of X reach {largest:.3g}, and squares of such numbers overflow. Scale the columns of X "
                "(StandardScaler)."
            )
        self._size = np.sqrt(np.square(matrix).T @ weights / weights.sum())

    def hold(self, room: int) -> GivenColumns:
        return GivenColumns(self.matrix)

    def values(self, hypothesis: Hypothesis) -> Array:
        return self.matrix[:, hypothesis.content]

    def propose(self, g: Array, n_round: int, count: int) -> list[Proposal]:
        total = float(np.abs(g).sum())
        size = self._size * total
        edges = np.abs(self.matrix.T @ g).sum(axis=1)
        edges = np.divide(edges, size, out=np.zeros_like(edges), where=size > 0)
        if total == 0 or not edges.any():
            return []
        if self.blocks is not None:
            block = self.blocks[(n_round - 1) % len(self.blocks)]
            return [Proposal(tuple(_given(j) for j in block), float(edges[list(block)].max()))]
        best = np.argsort(-np.round(edges, 12), kind="stable")[:count]
        return [Proposal((_given(int(j)),), float(edges[j])) for j in best if edges[j] > 0]


def _given(j: int) -> Hypothesis:
    return Hypothesis(j, j, j)
