"""A chunk: some consecutive rows in memory, with their labels and weights, and vectors as functions of a chunk.

Solvers that ask for passes never see a vector over all rows. What they hold in its place says how to make its part from
a chunk, wherever that is: :class:`ClassSigns` the labels -1 and +1 of one class against the rest, :class:`RowWeights`
the weights. Both are small and picklable, so they travel to the rows instead of the rows to them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions.features import DenseFeatures, SparseFeatures
from softmargin.expansions.protocol import Array

__all__ = [
    "Chunk",
    "ChunkVector",
    "ClassCodes",
    "ClassSigns",
    "FoldWeights",
    "RowWeights",
    "SignedWeights",
    "Source",
    "check_finite",
]


@dataclass(frozen=True)
class Chunk:
    """Rows ``first``, ``first + 1``, ...; ``y`` holds the labels as their source writes them, None where unknown."""

    X: Any
    y: NDArray[Any] | None = None
    weight: Array | None = None
    first: int = 0

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def features(self) -> DenseFeatures | SparseFeatures:
        """The rows as linear features."""
        return SparseFeatures(self.X) if sparse.issparse(self.X) else DenseFeatures(self.X)

    @property
    def weights(self) -> Array:
        """The weight of each row, one where none was given."""
        return np.ones(len(self)) if self.weight is None else np.asarray(self.weight, dtype=np.float64)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, which a fit cannot do without."""
        if self.y is None:
            raise ValueError("These rows have no labels: name the column of the labels (target=) to fit them.")
        return self.y

    def take(self, rows: NDArray[np.intp]) -> Chunk:
        """A copy of some of the rows."""
        y = None if self.y is None else np.asarray(self.y)[rows]
        weight = None if self.weight is None else np.asarray(self.weight)[rows]
        return Chunk(self.X[rows], y, weight, self.first)


class Source(Protocol):
    """Where chunks come from: a task goes to every chunk, and results come back in the order of the rows."""

    @property
    def n_chunks(self) -> int | None:
        """How many chunks, where it is known."""
        ...

    @property
    def decodes(self) -> bool:
        """Whether a pass decodes chunks, which costs several times what reading their numbers would."""
        ...

    def collect(self, task: Callable[[Chunk], Any]) -> list[Any]:
        """``[task(chunk) for chunk in chunks]``."""
        ...

    def total(self, task: Callable[[Chunk], Any]) -> Any:
        """The sum of ``task(chunk)``, by its method ``plus``; empty chunks are left out."""
        ...

    def mapped(self, function: Callable[[Chunk], Chunk]) -> Source:
        """The chunks that ``function`` makes of these, kept; their ``first`` tells those with rows apart."""
        ...


class ChunkVector(ABC):
    """A vector over the rows that is never whole."""

    @abstractmethod
    def of(self, chunk: Chunk) -> Array:
        """Its part that belongs to the rows of a chunk."""

    def astype(self, dtype: Any, copy: bool = True) -> ChunkVector:
        """Itself: parts are float64."""
        return self


@dataclass(frozen=True)
class ClassSigns(ChunkVector):
    """+1 for the rows of one class, -1 for all others; ``value`` is how the source writes that class."""

    value: Any

    def of(self, chunk: Chunk) -> Array:
        return np.where(chunk.labels == self.value, 1.0, -1.0)


@dataclass(frozen=True)
class ClassCodes(ChunkVector):
    """The number of each row's class; ``values`` are how the source writes the classes, in order."""

    values: tuple[Any, ...]

    def of(self, chunk: Chunk) -> NDArray[Any]:
        return np.searchsorted(np.asarray(self.values), chunk.labels)


@dataclass(frozen=True)
class RowWeights(ChunkVector):
    """``scale`` times the weight of a row times that of its class."""

    scale: float = 1.0
    values: tuple[Any, ...] = ()
    by_class: tuple[float, ...] = ()

    def of(self, chunk: Chunk) -> Array:
        weights = self.scale * chunk.weights
        for value, factor in zip(self.values, self.by_class, strict=True):
            if factor != 1.0:
                weights[chunk.labels == value] *= factor
        return weights

    def __mul__(self, factor: float) -> RowWeights:
        return replace(self, scale=self.scale * float(factor))

    __rmul__ = __mul__


@dataclass(frozen=True)
class SignedWeights(ChunkVector):
    """Weights times one number where the sign of a row is positive, and another where it is not."""

    weights: ChunkVector
    signs: ChunkVector
    positive: float
    negative: float

    def of(self, chunk: Chunk) -> Array:
        return self.weights.of(chunk) * np.where(self.signs.of(chunk) > 0, self.positive, self.negative)


@dataclass(frozen=True)
class FoldWeights(RowWeights):
    """The weights of one fold's rows (``held``) or of all others; the rest weigh nothing.

    A chunk draws the fold of each of its rows, always the same, so folds take no pass and no memory.
    """

    n_folds: int = 5
    fold: int = 0
    held: bool = False
    seed: int = 0

    @classmethod
    def of_rows(cls, weight: RowWeights, n_folds: int, fold: int, held: bool, seed: int = 0) -> FoldWeights:
        """The weights of a fold, from those of all rows."""
        return cls(weight.scale, weight.values, weight.by_class, n_folds, fold, held, seed)

    def of(self, chunk: Chunk) -> Array:
        return np.where((self.folds(chunk) == self.fold) == self.held, super().of(chunk), 0.0)

    def folds(self, chunk: Chunk) -> NDArray[np.int64]:
        """The fold of each row."""
        random = np.random.default_rng([self.seed, chunk.first, len(chunk)])
        return random.integers(self.n_folds, size=len(chunk))


def check_finite(chunk: Chunk, where: str) -> Chunk:
    """The chunk, unless one of its numbers is missing or infinite; ``where`` names the source of the rows."""
    values = chunk.X.data if sparse.issparse(chunk.X) else chunk.X
    if not np.isfinite(np.sum(values, dtype=np.float64)) and not np.all(np.isfinite(values)):
        raise ValueError(f"{where} hold a value that is missing, infinite or too large; fill or remove it.")
    if chunk.weight is not None and not (np.all(np.isfinite(chunk.weight)) and np.all(chunk.weight >= 0)):
        raise ValueError(f"{where} hold a weight that is negative, missing or infinite; weights are finite and >= 0.")
    return chunk
