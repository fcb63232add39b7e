"""How many landmarks, and which: rows at random, then rows that those leave out, until little of the kernel is left.

The second half of the landmarks is drawn with chances proportional to ``d_i = k(x_i, x_i) - |phi(x_i)|^2``, what the
landmarks so far leave of a row's similarity to itself: a randomly pivoted Cholesky factor (Chen, Epperly, Tropp and
Webber, 2023), in blocks, each thinned by a pivoted factor of its own. The first half is drawn evenly: drawn by
remainders alone, landmarks approximate the kernel about as well and classify no better
(``python -m benchmarks landmarks --only choice``). What is left of the trace, ``sum_i d_i / sum_i k(x_i, x_i)``, is
the error of the approximation, measured on rows that are no landmarks.

Candidates are distinct rows drawn by content (:mod:`softmargin.expansions.row_lottery`): neither the order of the rows
nor repeating them changes the landmarks, so integer weights are repeated rows. The list ends where the error is small,
where it has ``10 sqrt(n)`` landmarks (learning asks for ``sqrt(n)`` up to logarithms: Rudi, Camoriano and Rosasco,
2015) or 5000, or where memory ends it: a fit holds a few matrices of the landmarks squared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from sklearn.utils import check_random_state

from softmargin.expansions import memory
from softmargin.expansions.kernels import Kernel
from softmargin.expansions.landmarks.nystroem import distinct_rows
from softmargin.expansions.protocol import Array

__all__ = ["EXACT_ROWS", "Choice", "choose_landmarks", "most_landmarks"]

EXACT_ROWS = 3000  # up to which all pairs cost no more than a second (``python -m benchmarks landmarks --only exact``)
# landmarks for each unit of sqrt(n), at most, and the error below which more of them change no prediction
# (``python -m benchmarks landmarks --only magic skin``)
_PER_ROOT, _MOST, _ENOUGH = 10, 5000, 1e-6
_EVENLY = 0.5  # share of the landmarks drawn evenly (``python -m benchmarks landmarks --only choice``)
_CANDIDATES, _FEWEST_CANDIDATES = 3, 4000  # rows for each landmark that may become one, and at least
_SQUARES, _SHARE = 4, 0.25  # matrices of the landmarks squared that a fit holds, and the share of memory they may take
_BLOCKS, _LEAST_BLOCK = 20, 32  # in which landmarks are drawn
_NEW = 1e-3  # of the largest remainder in its block: a landmark must have as much of its own, or it is rounding


class Choice(NamedTuple):
    """The row numbers of landmarks, in the order of the rows, and the share of the kernel's trace they leave."""

    rows: NDArray[np.intp]
    error: float


def most_landmarks(n_rows: int) -> int:
    """How many landmarks so many rows may have."""
    most = min(n_rows, _MOST, max(int(_PER_ROOT * np.sqrt(n_rows)), _LEAST_BLOCK))
    while most > _LEAST_BLOCK and not memory.fits(_SQUARES * 8 * most * most, _SHARE):
        most //= 2
    return most


def choose_landmarks(X: Any, kernel: Kernel, random_state: Any, n_rows: int | None = None) -> Choice:
    """Landmarks among the rows ``X``, which stand for ``n_rows``."""
    random = check_random_state(random_state)
    n_rows = X.shape[0] if n_rows is None else n_rows
    distinct = distinct_rows(X, kernel, random)
    most = most_landmarks(max(len(distinct), n_rows if n_rows > X.shape[0] else 0))
    if len(distinct) <= EXACT_ROWS <= most:
        return Choice(np.sort(distinct), 0.0)
    rows = distinct[: max(_CANDIDATES * most, _FEWEST_CANDIDATES)]
    chosen, error = _drawn(_Candidates(X, kernel, rows), min(most, len(rows)), random)
    return Choice(np.sort(rows[chosen]), error * (1 - len(chosen) / max(n_rows, len(chosen))))


class _Candidates:
    """Rows that may become landmarks, with their similarities."""

    def __init__(self, X: Any, kernel: Kernel, rows: NDArray[np.intp]) -> None:
        self.kernel, self.rows = kernel, rows
        self.X = X[rows][:, rows] if kernel.precomputed else X[rows]

    def to(self, at: NDArray[np.intp]) -> Array:
        """The similarities of all candidates to some of them."""
        found: Any = self.X[:, at] if self.kernel.precomputed else self.kernel(self.X, self.X[at])
        return np.asarray(found.toarray() if sparse.issparse(found) else found, dtype=np.float64)

    def diagonal(self) -> Array:
        """The similarity of each to itself."""
        if self.kernel.precomputed:
            return np.asarray(self.X.diagonal(), dtype=np.float64)
        parts = (self.X[first : first + _LEAST_BLOCK] for first in range(0, len(self.rows), _LEAST_BLOCK))
        return np.concatenate([np.diagonal(self.kernel(part, part)) for part in parts]).astype(np.float64)


def _drawn(candidates: _Candidates, most: int, random: Any) -> tuple[NDArray[np.intp], float]:
    """The places of at most so many landmarks, and the error on the other rows."""
    diagonal = candidates.diagonal()
    left, n = diagonal.copy(), len(diagonal)
    total = float(diagonal.sum())
    factor, chosen = np.empty((n, most)), list[int]()
    size = max(most // _BLOCKS, _LEAST_BLOCK)
    while len(chosen) < most and left.sum() > _ENOUGH * total:
        k = len(chosen)
        chances = left if k >= _EVENLY * most else np.where(left > 0, 1.0, 0.0)
        block = np.unique(random.choice(n, size=min(size, most - k), p=chances / chances.sum()))
        columns = candidates.to(block) - factor[:, :k] @ factor[block, :k].T
        inner = columns[block]
        lower, pivots, rank, _ = linalg.lapack.dpstrf(inner, tol=_NEW * float(inner.diagonal().max()), lower=1)
        kept = pivots[:rank] - 1
        more = linalg.solve_triangular(lower[:rank, :rank], columns[:, kept].T, lower=True, check_finite=False).T
        factor[:, k : k + rank] = more
        chosen.extend(block[kept])
        left = np.maximum(left - np.einsum("ij,ij->i", more, more), 0.0)
        left[chosen] = 0.0
    others = np.setdiff1d(np.arange(n), chosen)
    error = float(left[others].sum() / diagonal[others].sum()) if len(others) and total > 0 else 0.0
    return np.asarray(chosen, dtype=np.intp), error
