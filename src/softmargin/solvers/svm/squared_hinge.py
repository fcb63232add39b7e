"""Weighted squared hinges in the dual: kernels without their matrix, sparse features without a Hessian.

    w (1 - m)_+^2 = max over a >= 0 of a (1 - m) - a^2 / (4 w),

so the dual is the box QP of ``K + D``, ``D = diag(1 / (2 w))``, in signed multipliers ``u = y a`` of one sign each:
``min 1/2 u'(K + D)u - q'u``, ``sum u = 0``. Kernels solve it by working sets on a store of kernel rows, sparse features
(``K = XX'``, ``beta = X'u``) by coordinate descent. Rows given up (``w`` negligible) leave the problem.

Certificate. ``f = Ku + b`` is a primal point and ``u`` a dual one; their difference is the duality gap. Violations are
tightened until it is small enough.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from softmargin._compiled.boxqp import Block
from softmargin.expansions import Expansion
from softmargin.losses import SquaredHinge
from softmargin.problem import DataTerm, Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.linalg import add_to_diagonal
from softmargin.solvers.ridge import center
from softmargin.solvers.ridge.newton import NEWTON
from softmargin.solvers.svm.box_qp import BoxQP, Iterate, solve_box_qp
from softmargin.solvers.svm.dual_descent import MOST_PASSES, PASSES_COUNTED, descend
from softmargin.solvers.svm.kernel_rows import GramRows
from softmargin.solvers.thresholds import FEW_ROWS, prefers_factor

__all__ = [
    "SPARSE_SQUARED_HINGE",
    "DualPoint",
    "KernelDual",
    "SparseDual",
    "SquaredHingeDual",
    "is_squared_hinge",
    "lacks_factor",
    "minimise_dual",
]

Array = NDArray[np.floating[Any]]

_ROWS_PER_COLUMN = 5  # at 2.4 (hiva) Newton's method takes four times as long, at 10 (random entries) an eighth
_NEGLIGIBLE = 1e-10  # a weight below this fraction of the largest gives its row up
_FIRST, _FINEST = 0.1, 1e-9  # KKT violations, in scores, asked for
_FINER = 0.2
_PROGRESS = 0.5  # a solve that does not reach its violation must bring the gap below this fraction, or it is the last


class Reached(NamedTuple):
    """Multipliers, ``Ku``, the violation left and the steps taken."""

    u: Array
    images: Array
    violation: float
    n_iter: int


class SquaredHingeDual(Protocol):
    """A way to solve the box QP of ``K + D``."""

    def solve(self, box: BoxQP, diagonal: Array, start: Array, tol: float, max_iter: int) -> Reached:
        """From a start to a violation of ``tol``."""
        ...


class DualPoint(NamedTuple):
    """A solution whose ``coef`` and ``dual`` are its multipliers, with its margins and half its squared norm."""

    solution: Solution
    margins: Array
    half_norm: float


class KernelDual:
    """Working sets on one store of kernel rows, which lasts as long as this.

    Where the weights are those of the last solve, its ``Ku`` is kept. Where they are others, a multiplier, which is
    ``2 w (1 - m)``, falls with its weight: beside ``u / 2w`` of the new one, all else would be lost in rounding.
    """

    def __init__(self, expansion: Expansion, dtype: Any) -> None:
        self.rows = GramRows.of_kernel(expansion, dtype)
        self._last: tuple[Reached, Array] | None = None

    def solve(self, box: BoxQP, diagonal: Array, start: Array, tol: float, max_iter: int) -> Reached:
        point, rows = Iterate(start), _WithDiagonal(self.rows, diagonal)
        if self._last is not None and np.array_equal(self._last[0].u, start):
            last, before = self._last
            if np.array_equal(before, diagonal):
                point = Iterate(start, last.images + diagonal * start - box.q)
            else:
                ratio = np.divide(before, diagonal, out=np.zeros_like(diagonal), where=diagonal > 0)
                point = Iterate(start * np.minimum(ratio, 1.0))
        found = solve_box_qp(rows, box, start=point, tol=tol, max_iter=100 * max_iter, polish=False)
        images = found.gradient + box.q - diagonal * found.u
        reached = Reached(found.u, images, found.violation, found.n_iter)
        self._last = (reached, diagonal)
        return reached


class SparseDual:
    """Coordinate descent on the rows of sparse features."""

    def __init__(self, features: Expansion) -> None:
        self.features = features

    def solve(self, box: BoxQP, diagonal: Array, start: Array, tol: float, max_iter: int) -> Reached:
        u, left, passes = descend(self.features, box, diagonal, start, tol, MOST_PASSES)
        return Reached(u, self.features.apply(self.features.transpose(u)), left, 1 + passes // PASSES_COUNTED)


class _WithDiagonal(GramRows):
    """The rows of ``K + D``, from those of ``K``."""

    def __init__(self, rows: GramRows, diagonal: Array) -> None:
        self.n, self._rows, self._diagonal = rows.n, rows, diagonal

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._rows.dtype

    @property
    def whole(self) -> Array | None:
        return None

    def noise(self, u: Array) -> float:
        return self._rows.noise(u)

    def block(self, at: NDArray[np.int64]) -> Array:
        out = self._rows.block(at)
        out = out if self._rows.whole is None else out.copy()
        add_to_diagonal(out, self._diagonal[at])
        return out

    def local(self, at: NDArray[np.int64], diagonal: Array | None = None) -> Block:
        return self._rows.local(at, self._diagonal[at])

    def add(self, at: NDArray[np.int64], weight: Array, out: Array) -> None:
        self._rows.add(at, weight, out)
        out[at] += self._diagonal[at] * weight


def is_squared_hinge(problem: Problem) -> bool:
    """Whether a problem is of this kind."""
    plain = problem.penalty.l1_ratio == 0 and not problem.penalty.positive and problem.tilt is None
    return plain and isinstance(problem.loss, SquaredHinge)


def lacks_factor(expansion: Expansion) -> bool:
    """Whether features are sparse and so many that Newton's method has no cheap factor of their Hessian.

    Few rows are Newton's all the same: it gives their last digits for nothing.
    """
    n, p = expansion.shape
    many = n > FEW_ROWS and (p > n or not prefers_factor(expansion))
    return many and expansion.is_sparse and not expansion.is_kernel


def minimise_dual(
    problem: Problem, dual: SquaredHingeDual, start: Array, tol: float, max_iter: int, known: float = np.inf
) -> DualPoint:
    """Tighten the violation from a start until the relative duality gap is ``tol``, or can fall no further.

    Nor does it end above an objective that is ``known`` to be reached.
    """
    y, w = problem.y, problem.weights
    counts = w > _NEGLIGIBLE * float(w.max())
    diagonal = np.divide(0.5, w, out=np.zeros_like(w), where=counts)
    lo, hi = np.where(counts & (y < 0), -np.inf, 0.0), np.where(counts & (y > 0), np.inf, 0.0)
    box = BoxQP(y if problem.offset is None else y - problem.offset, lo, hi, problem.fit_intercept)
    u, violation, n_iter, gap = start, _FIRST, 0, np.inf
    while True:
        found = dual.solve(box, diagonal, u, violation, max_iter)
        u, n_iter = found.u, n_iter + found.n_iter
        half_norm = 0.5 * float(u @ found.images)
        margins = problem.margins_of(found.images, 0.0)
        b, margins, term = center(problem, margins, DataTerm(problem, margins))
        primal = term.cost + half_norm
        bound = problem.constant + float(box.q @ u) - half_norm - 0.5 * float(diagonal @ np.square(u))
        last, gap = gap, max(primal - bound, 0.0) / max(abs(primal), half_norm, np.finfo(np.float64).tiny)
        stuck = found.violation > violation and (gap > _PROGRESS * last or n_iter > max_iter)
        if (gap <= tol and primal <= known) or violation <= _FINEST or stuck:
            break
        violation = max(_FINER * min(violation, max(found.violation, _FINEST)), _FINEST)
    return DualPoint(Solution(u, b, u, primal, gap, n_iter, gap <= tol, history=[primal]), margins, half_norm)


def _has_columns(problem: Problem) -> bool:
    """Whether there are columns enough to tell rows apart; of many more rows most end between their bounds."""
    n, p = problem.expansion.shape
    return n <= _ROWS_PER_COLUMN * p


def _run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    n = len(problem.y)
    u = np.zeros(n) if start is None or start.dual is None else np.array(start.dual, dtype=np.float64)
    found = minimise_dual(problem, SparseDual(problem.expansion), u, tol, max_iter).solution
    found = replace(found, coef=problem.expansion.transpose(found.coef))
    return found if found.converged else NEWTON.run(problem, found, tol, max_iter, verbose)


SPARSE_SQUARED_HINGE = Engine(
    "dual_descent",
    "the squared hinge on sparse features with many columns, l1_ratio=0 and free signs",
    lambda problem: is_squared_hinge(problem) and lacks_factor(problem.expansion) and _has_columns(problem),
    _run,
)
