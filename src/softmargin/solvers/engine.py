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
    """A solver with the problems it accepts; ``needs`` completes the sentence "NAME needs ..."."""

    name: str
    needs: str
    accepts: Callable[[Problem], bool]
    run: Run


def relative_gap(gap: float, objective: float, penalty: float) -> float:
    """The gap in units of the objective; a tilt can cancel the objective itself, never its penalty part as well."""
    scale = max(abs(objective), abs(penalty))
    return gap / scale if scale > 0 else gap
