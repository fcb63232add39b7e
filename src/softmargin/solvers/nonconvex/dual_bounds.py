"""Weighted squared hinges with a kernel in the dual: bounds of robust losses without the kernel's matrix.

    w (1 - m)_+^2 = max over a >= 0 of a (1 - m) - a^2 / (4 w),

so the bound's dual is the box QP of ``K + D``, ``D = diag(1 / (2 w))``, in signed multipliers ``u = y a`` of one sign
each: ``min 1/2 u'(K + D)u - q'u``, ``sum u = 0``, whose coefficients are ``u`` itself. From round to round only ``D``
changes, by little, and rows given up (``w`` negligible) leave. So each round is a few working sets from the last
multipliers, on one store of kernel rows for the whole fit: memory is bounded, whatever the number of rows.

Certificate. ``f = Ku + b`` is a primal point of every bound and ``u`` a dual one; their difference is the duality gap,
with no matrix beyond the rows at hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import SquaredHinge
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.svm.box_qp import BoxQP, solve_box_qp
from softmargin.solvers.svm.kernel_rows import GramRows

__all__ = ["DualSolver", "accepts_dual"]

Array = NDArray[np.floating[Any]]

# Rows from which working sets are taken instead of a factor of the whole matrix, which grows with the cube where they
# grow with the square. An estimate: the RobustSVC rows of ``python -m benchmarks real`` are where to measure it.
_MANY = 2000
_NEGLIGIBLE = 1e-10  # a weight below this fraction of the largest gives its row up
_FIRST, _FINEST = 1e-2, 1e-9  # KKT violations, in scores, asked of the working sets
_FINER = 0.2
_ROUGH = 1e-2  # gap to which the first bound, which trusts every row, is solved: the next ones correct it
_SINGLE = 1e-5  # a tolerance that rounding kernel rows to single precision (1e-7 of the objective) does not touch


def accepts_dual(problem: Problem) -> bool:
    """Whether a bound is of this kind, and large enough."""
    plain = problem.penalty.l1_ratio == 0 and not problem.penalty.positive and problem.tilt is None
    many = problem.expansion.is_kernel and problem.expansion.shape[0] > _MANY
    return many and plain and isinstance(problem.loss, SquaredHinge)


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

    def block(self, at: NDArray[np.int64]) -> Array:
        out = self._rows.block(at)
        out = out if self._rows.whole is None else out.copy()
        out[np.diag_indices_from(out)] += self._diagonal[at]
        return out

    def add(self, at: NDArray[np.int64], weight: Array, out: Array) -> None:
        self._rows.add(at, weight, out)
        out[at] += self._diagonal[at] * weight


class DualSolver:
    """An inner solver that moves multipliers: their scores and the intercept are all a bound needs to know."""

    def __init__(self, problem: Problem, tol: float) -> None:
        expansion = problem.expansion
        dtype: Any = np.float32 if tol >= _SINGLE else np.float64
        if expansion.has_outer:
            self.rows = GramRows.of(expansion.outer())
        else:
            self.rows = GramRows(expansion.shape[0], expansion.outer_rows(dtype), dtype=dtype)
        self.reset(problem)

    @property
    def margins(self) -> Array:
        return self._at[1]

    @property
    def coef(self) -> Array:
        return self._at[0]

    @property
    def penalty(self) -> float:
        return self._at[2]

    def reset(self, problem: Problem) -> None:
        n = len(problem.y)
        zero: Array = np.zeros(n)
        self._at = self._last = (zero, problem.margins_of(zero, 0.0), 0.0)

    def subsampled_start(self, problem: Problem, tol: float, max_iter: int, verbose: int) -> Solution | None:
        return None

    def warm_start(self, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        self.reset(problem)
        if start is not None and start.dual is not None:
            self._at = (np.array(start.dual, dtype=np.float64), *self._at[1:])
        return self.minimise(problem, np.inf, max(tol, _ROUGH), max_iter, verbose)

    def objective(self, problem: Problem) -> float:
        return problem.cost(self.margins) + self.penalty

    def newton_step(self, problem: Problem, objective: float) -> bool:
        return False

    def undo(self) -> None:
        self._at = self._last

    def minimise(self, problem: Problem, objective: float, tol: float, max_iter: int, verbose: int) -> Solution:
        y, w = problem.y, problem.weights
        counts = w > _NEGLIGIBLE * float(w.max())
        diagonal = np.divide(0.5, w, out=np.zeros_like(w), where=counts)
        lo, hi = np.where(counts & (y < 0), -np.inf, 0.0), np.where(counts & (y > 0), np.inf, 0.0)
        box = BoxQP(y if problem.offset is None else y - problem.offset, lo, hi, problem.fit_intercept)
        rows, u, violation, n_iter = _WithDiagonal(self.rows, diagonal), self.coef, _FIRST, 0
        while True:
            found = solve_box_qp(rows, box, start=u, tol=violation, max_iter=100 * max_iter, polish=False)
            n_iter += found.n_iter
            u = found.u
            images = found.gradient + box.q - diagonal * u  # K u
            half_norm = 0.5 * float(u @ images)
            margins = problem.margins_of(images, found.intercept)
            primal = problem.cost(margins) + half_norm
            dual = problem.constant + float(box.q @ u) - half_norm - 0.5 * float(diagonal @ np.square(u))
            gap = max(primal - dual, 0.0) / max(abs(primal), half_norm, np.finfo(np.float64).tiny)
            if gap <= tol or violation <= _FINEST:
                break
            violation = max(_FINER * min(violation, max(found.violation, _FINEST)), _FINEST)
        self._last, self._at = self._at, (u, margins, half_norm)
        return Solution(u, found.intercept, u, primal, gap, n_iter, gap <= tol, history=[primal])
