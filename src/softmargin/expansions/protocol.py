"""The closed list of questions solvers, paths and tuning may ask of an expansion ``f = Phi beta``.

The intercept is the solver's own. Nobody outside this package looks at the matrix behind an expansion, so the rows may
lie in an array, in a Gram matrix, in bitsets, in files or on other machines. There are two parts.

* :class:`RowPasses` is what every expansion answers, however large: its shape and one pass over its rows,

      sweep(coef, term, vectors):   s = Phi coef,  (g, cost, h) = term(s, *vectors)  ->  Phi'g, 1'g, cost, Phi'hPhi, ...

  A pass may go chunk by chunk: ``term`` sees the scores of some rows with the same rows of every vector (labels,
  weights, offsets), and only its sums travel. A *vector* is whatever the expansion splits as it splits its rows:
  a NumPy array if rows are resident, a column of the same partitions if they are not. ``term`` must therefore be a pure
  function of what it is given; an object with a loss and an intercept inside pickles to wherever the rows are.
* :class:`Expansion` adds what needs memory proportional to the rows or to a part of ``Phi``: products, moments, blocks
  of rows or columns, inner products of the rows. Expansions that answer it say ``is_resident``; solvers that ask only
  for passes accept the others as well.

Coefficients and sums are float64 whatever the data; products with ``Phi`` run in the precision of the data, so float32
data are never copied. ``ridge`` penalties measure ``beta`` by ``quadratic``: the plain sum of squares for features, the
reproducing-kernel norm for kernel columns (``is_kernel`` says which; then ``Phi`` is symmetric).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Expansion", "Response", "RowPasses", "Rows", "Sampled", "Term", "Totals", "row_blocks"]

Array = NDArray[np.floating[Any]]
Rows = slice | NDArray[np.intp]  # some rows: a slice where consecutive, which copies nothing, or their numbers

_BLOCK_BYTES = 1 << 21  # a block and its scaled copy stay in the second-level cache


class Response(NamedTuple):
    """What a term says about some rows: slopes in their scores, and where asked their cost and curvatures.

    ``slack`` is what the cost exceeds its own linear bound at those slopes by; smooth losses have none.
    """

    slope: Array
    cost: float = 0.0
    curvature: Array | None = None
    slack: float = 0.0


class Totals(NamedTuple):
    """The sums of one pass: ``Phi'g``, ``1'g``, ``sum |g|``, the cost and, of curvatures ``h``, three moments.

    ``hessian`` is ``Phi' diag(h) Phi``, ``border`` is ``Phi'h`` and ``mass`` is ``1'h``; they are None, None and 0
    where the term gave no curvatures. ``slack`` adds up that of the responses. Totals of different rows add up.
    """

    gradient: Array
    total: float
    size: float
    cost: float = 0.0
    hessian: Array | None = None
    border: Array | None = None
    mass: float = 0.0
    slack: float = 0.0

    def plus(self, other: Totals) -> Totals:
        """The totals of two sets of rows together, in the arrays of the first."""
        gradient, hessian, border = self.gradient, self.hessian, self.border
        gradient += other.gradient
        if hessian is not None and other.hessian is not None:
            hessian += other.hessian
        if border is not None and other.border is not None:
            border += other.border
        total, size, cost = self.total + other.total, self.size + other.size, self.cost + other.cost
        mass, slack = self.mass + other.mass, self.slack + other.slack
        return Totals(gradient, total, size, cost, hessian, border, mass, slack)


class Sampled(NamedTuple):
    """Some rows in memory: their expansion, the same rows of every vector, and how many rows each stands for."""

    expansion: Expansion
    vectors: list[Any]
    times: Array


Term = Callable[..., Response]  # (scores, *vectors) of some rows -> Response


class RowPasses(Protocol):
    """Training rows seen through a basis; ``shape`` is (n_samples, n_coef)."""

    is_kernel: bool
    is_landmark: bool  # ``Phi`` is a product that costs more to make than to multiply with
    is_sparse: bool
    is_resident: bool

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the products with ``Phi``."""
        ...

    def sweep(self, coef: Array, term: Term, vectors: Sequence[Any] = ()) -> Totals:
        """One pass over the rows: the totals of the responses to the scores ``Phi coef``.

        ``term(scores, *parts)`` gets the same rows of every vector; None stays None. Parts of resident vectors are
        views, so a term may leave per-row results in them.
        """
        ...

    def sample(self, vectors: Sequence[Any] = ()) -> Sampled | None:
        """A few of the rows in memory, where not all of them are; None where they are."""
        ...

    def quadratic(self, coef: Array) -> float:
        """``|coef|^2`` for features, ``coef' K coef`` for kernel columns."""
        ...

    def scorer(self, coef: Array) -> Callable[[Any], Array]:
        """A small picklable function from new rows to their scores without intercept."""
        ...

    def support(self, coef: Array) -> NDArray[np.intp] | None:
        """The training rows that prediction needs; None for features, which need none."""
        ...


class Expansion(RowPasses, Protocol):
    """Rows at hand: vectors over the rows are NumPy arrays, pieces of ``Phi`` are matrices (dense or CSR/CSC)."""

    @property
    def n_stored(self) -> int:
        """The entries a product with ``Phi`` touches."""
        ...

    # -- products and sums -----------------------------------------------------------------------------------------

    def apply(self, coef: Array) -> Array:
        """``Phi coef``: the scores of the training rows without intercept."""
        ...

    def transpose(self, r: Array) -> Array:
        """``Phi' r``."""
        ...

    def gram(self, weights: Array) -> Array:
        """``Phi' diag(weights) Phi`` for nonnegative weights; rows of zero weight cost nothing."""
        ...

    def bent(self, weights: Array, coef: Array, shift: float) -> tuple[Array, Array, float]:
        """``s = Phi coef``, ``Phi' f`` and ``sum f`` for ``f = weights (s + shift)``, in one pass over the data."""
        ...

    def moments(self, weights: Array) -> tuple[Array, Array]:
        """``Phi' diag(weights) Phi`` and ``Phi' weights`` in one pass over the data."""
        ...

    def squared_norms(self, weights: Array | None = None) -> Array:
        """``sum_i weights_i Phi_ij^2`` of each column."""
        ...

    # -- inner products of the rows: Phi Phi' for features, the Gram matrix itself for kernel columns ---------------

    def outer(self) -> Array:
        """All of them."""
        ...

    def diagonal(self) -> Array:
        """Those of each row with itself, in float64."""
        ...

    @property
    def has_outer(self) -> bool:
        """Whether ``outer()`` is at hand, so that asking for it costs nothing."""
        ...

    def outer_rows(self, dtype: Any) -> Callable[[NDArray[np.int64]], Array]:
        """A function from row numbers to those rows of ``outer()``, computed when called, in the given precision."""
        ...

    # -- pieces of Phi ---------------------------------------------------------------------------------------------

    def rows(self, at: Rows = slice(None)) -> Any:
        """Some rows of ``Phi``: a dense array, or CSR where ``is_sparse``; whole or consecutive rows are views."""
        ...

    def columns(self, at: NDArray[np.intp]) -> Any:
        """Some columns of ``Phi`` for loops over columns: Fortran order, or CSC where ``is_sparse``."""
        ...

    def take(self, rows: NDArray[np.intp]) -> Expansion:
        """The same functions on a subset of the training rows (kernel columns: of rows and columns)."""
        ...

    def centered(self) -> tuple[Expansion, Array] | None:
        """The features less their means, and the means, where offsets would drown their differences in rounding.

        None where nothing is to be gained or the columns cannot be shifted (sparse features, kernels).
        """
        ...

    def select(self, columns: NDArray[np.intp]) -> Expansion:
        """The features ``columns`` alone; kernel columns cannot be parted from their norm and refuse."""
        ...

    def cross(self, rows: Rows, members: NDArray[np.intp]) -> Any:
        """The matrix from coefficients of ``take(members)`` to the scores of ``rows``."""
        ...


def row_blocks(n_rows: int, row_bytes: int, least: int = 64) -> Iterator[slice]:
    """Consecutive slices of rows whose data fit in cache, but ``least`` rows."""
    step = max(64, least, _BLOCK_BYTES // max(row_bytes, 1))
    for first in range(0, n_rows, step):
        yield slice(first, min(first + step, n_rows))
