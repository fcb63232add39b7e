"""Capped losses of k scores by dropping rows: ``min(L, level)`` is concave in ``L``, so

    min(L, level) <= L for rows kept (L <= level),   min(L, level) <= level for rows dropped,

with equality where the sets were chosen. Each fit on the kept rows therefore decreases the capped objective, there are
finitely many sets, and the iteration stops when the set repeats: a certificate that the point is stationary. While the
set changes a fit only has to lower the objective: fits to many rows begin rough, and become finer when the set repeats
or the objective does not fall.

A class that would lose every row keeps them all, uncapped: without members its intercept has no finite minimiser. That
is another objective, and the descent begins again from there. It is the one reported, with the rows that it counts
(``kept``): those of such a class are among them at any loss.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softmargin._progress import is_heard, report
from softmargin.losses.multiclass import Capped
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.multiclass.newton import solve_smooth
from softmargin.solvers.multiclass.selection import solve_selection
from softmargin.solvers.multiclass.work import Work
from softmargin.solvers.nonconvex.majorize_minimise import majorize_minimise
from softmargin.solvers.thresholds import FEW_ROWS

__all__ = ["drop_and_refit"]

# Rounds of many rows are brought to such slopes, and to finer ones where the rows that count have settled. At slopes of
# 1e-2 and 1e-4 the sets that were kept, and so the minimum found, hung on whether rows repeat or have weights (3 of 16
# fits of real tables).
_ROUGH = 1e-6
_FEWEST_STEPS = 50  # that a fit gets however many the ones before it took in vain: Newton's method needs fewer


class _Rounds:
    """A fit to the rows whose loss was below the level at the last one."""

    def __init__(
        self, problem: MulticlassProblem, start: Solution | None, tol: float, max_iter: int, work: Work
    ) -> None:
        self.work = work
        assert isinstance(problem.loss, Capped)
        self.problem, self.loss, self.tol, self.max_iter = problem, problem.loss, tol, max_iter
        self.convex = replace(problem, loss=problem.loss.base)
        self.aims = [_ROUGH, tol] if tol < _ROUGH and len(problem.codes) > FEW_ROWS else [tol]
        self.kept = np.ones(len(problem.codes), dtype=bool)
        self.protected = np.zeros(problem.n_classes, dtype=bool)
        self.solution, self.value, self.n_iter = start, np.inf, 0
        self.repeats = self.reset = False
        if start is not None:
            self.kept = self._inside(start)[0]

    def _inside(self, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
        """Which rows count at a solution, and their losses there; a class about to vanish becomes protected."""
        scores = self.problem.scores(solution.coef) + solution.intercept
        losses = self.loss.base.value(scores, self.problem.codes)
        return self.loss.kept(losses, self.problem.codes, self.protected), losses

    def objective(self) -> float:
        return self.value

    def next_round(self) -> bool | None:
        before, fitted = self.protected.copy(), self.kept
        self.last = (self.solution, self.value, self.kept, self.repeats)
        part = replace(self.convex, weights=np.where(self.kept, self.problem.weights, 0.0))
        if part.penalty is None:
            self._refit(part, fitted)
            while len(self.aims) > 1 and (self.repeats or self.value > self.last[1]):
                self.aims.pop(0)
                self._refit(part, fitted)
        else:
            self._take(solve_selection(part, self.solution, self.tol, self.max_iter), fitted)
            if self.value > self.last[1] and not part.penalty.convex:  # from its pilot a concave one may end higher
                self._take(solve_selection(part, self.last[0], self.tol, self.max_iter, onward=True), fitted)
        if is_heard():
            report("drop and refit", f"objective {self.value:.12g}, {np.count_nonzero(self.kept)} rows kept")
        self.reset = not np.array_equal(before, self.protected)
        return None if self.reset else self.repeats or self.work.is_spent

    def _refit(self, part: MulticlassProblem, fitted: np.ndarray) -> None:
        aim, *finer = self.aims
        self._take(solve_smooth(part, self.solution, aim, self.max_iter, rough=bool(finer), work=self.work), fitted)

    def _take(self, solution: Solution, fitted: np.ndarray) -> None:
        """Go to a fit of the rows ``fitted``."""
        cost, codes = self.problem.weights, self.problem.codes
        self.solution = solution
        self.n_iter += solution.n_iter
        if not solution.converged:  # where steps were in vain, the next fits take fewer
            self.max_iter = min(self.max_iter, max(solution.n_iter // 2, _FEWEST_STEPS))
        inside, losses = self._inside(solution)
        penalty = solution.objective - float(cost[fitted] @ losses[fitted])
        capped = np.where(self.protected[codes], losses, np.minimum(losses, self.loss.level))
        self.value = penalty + float(cost @ capped)
        self.repeats, self.kept = np.array_equal(inside, fitted), inside

    def undo(self) -> None:
        self.solution, self.value, self.kept, self.repeats = self.last


def drop_and_refit(
    problem: MulticlassProblem, start: Solution | None, tol: float, max_iter: int, work: Work | None = None
) -> Solution:
    """Minimise ``sum_i w_i min(L_i, level) + 1/2 |theta|^2`` from the fit to all rows, or from ``start``.

    Its rounds end where the ``work`` of all that share it is spent.
    """
    rounds = _Rounds(problem, start, tol, max_iter, work or Work.of(len(problem.codes), problem.n_classes))
    history: list[float] = []
    left = max_iter
    while left > 0:
        done, _ = majorize_minimise(rounds, history, left)
        left -= done
        if not rounds.reset:
            break
        rounds.reset, history[:] = False, [rounds.value]
        if rounds.repeats:
            break
    solution = rounds.solution
    assert solution is not None
    gap = solution.gap if rounds.repeats else max(solution.gap, 1.0)
    objective, converged = history[-1], rounds.repeats and solution.converged and gap <= tol
    found = replace(solution, n_iter=rounds.n_iter, history=history, objective=objective, gap=gap, converged=converged)
    return replace(found, kept=rounds.kept)
