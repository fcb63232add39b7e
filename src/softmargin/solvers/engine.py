"""What every solver is: a name, what it needs of a problem, and how it minimises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from softmargin.problem import Problem
from softmargin.solution import Solution

__all__ = ["Engine", "Run", "relative_gap"]

# (problem, start, tol, max_iter, verbose) -> Solution
Run = Callable[[Problem, "Solution | None", float, int, int], Solution]


@dataclass(frozen=True)
class Engine:
    """A solver with the problems it accepts; ``needs`` completes the sentence "NAME needs ...".

    ``by_passes`` solvers ask an expansion for sums over its rows only, so the rows need not be in memory.
    ``takes_features`` says that a kernel of few dimensions may come as features, with a ridge
    (:mod:`softmargin.solvers.finite_rank_kernels`). ``knows_rows`` says that it holds scores of the rows as they were
    given, or shows somebody theirs, so that equal ones may not be put together.
    """

    name: str
    needs: str
    accepts: Callable[[Problem], bool]
    run: Run
    by_passes: bool = False
    takes_features: bool = False
    knows_rows: bool = False

    def fits(self, problem: Problem) -> bool:
        """Whether it can solve the problem where its rows are."""
        return (self.by_passes or problem.expansion.is_resident) and self.accepts(problem)


def relative_gap(gap: float, objective: float, penalty: float) -> float:
    """The gap in units of the objective; a tilt can cancel the objective itself, never its penalty part as well."""
    scale = max(abs(objective), abs(penalty))
    return gap / scale if scale > 0 else gap
