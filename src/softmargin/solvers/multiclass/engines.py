"""The solvers of k score functions at once, as engines of the one door ``solve()``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from softmargin.losses.multiclass import Capped, CompositeLeastSquares, MulticategoryHinge
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.multiclass.block_ascent import solve_hinge
from softmargin.solvers.multiclass.least_squares import LeastSquaresSystem, solve_least_squares
from softmargin.solvers.multiclass.newton import solve_smooth
from softmargin.solvers.multiclass.selection import selects, solve_selection
from softmargin.solvers.multiclass.work import Work
from softmargin.solvers.nonconvex.drop_and_refit import drop_and_refit

__all__ = ["MULTICLASS_ENGINES", "metered_refits", "prepared_least_squares", "seeded_ascent"]

Solve = Callable[[Any, "Solution | None", float, int], Solution]


def _engine(
    name: str, needs: str, accepts: Callable[[Any], bool], run: Solve, *, takes_features: bool = False
) -> Engine:
    def quietly(problem: Any, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        return run(problem, start, tol, max_iter)

    return Engine(name, needs, accepts, quietly, takes_features=takes_features)


def _is_smooth(problem: Any) -> bool:
    plain = problem.penalty is None and not isinstance(problem.loss, CompositeLeastSquares)
    return plain and hasattr(problem.loss, "curve")


def seeded_ascent(seed: int) -> Engine:
    """Block ascent whose passes visit the rows in orders drawn from ``seed``."""
    return _engine(
        "block ascent",
        "a multicategory hinge loss",
        lambda problem: isinstance(problem.loss, MulticategoryHinge),
        lambda problem, start, tol, max_iter: solve_hinge(problem, start, tol, max_iter, seed),
    )


def prepared_least_squares(system: LeastSquaresSystem, C: float) -> Engine:
    """Composite least squares at ``C`` times the weights of a system whose matrices are at hand."""
    return _engine(
        "composite least squares",
        "CompositeLeastSquares",
        lambda problem: isinstance(problem.loss, CompositeLeastSquares),
        lambda problem, start, tol, max_iter: system.solve(problem.loss.mix, C, tol),
    )


def metered_refits(work: Work | None) -> Engine:
    """Rounds of drop and refit whose work is counted with that of other searches; None for one search alone."""
    return _engine(
        "drop and refit",
        "a capped loss of k scores",
        lambda problem: isinstance(problem.loss, Capped),
        lambda problem, start, tol, max_iter: drop_and_refit(problem, start, tol, max_iter, work),
        takes_features=True,
    )


MULTICLASS_ENGINES: tuple[Engine, ...] = (
    _engine("selection", "a penalty that selects, a loss of bounded curvature and features", selects, solve_selection),
    _engine(
        "composite least squares",
        "CompositeLeastSquares without a penalty that selects",
        lambda problem: isinstance(problem.loss, CompositeLeastSquares) and problem.penalty is None,
        solve_least_squares,
    ),
    seeded_ascent(0),
    _engine("multiclass newton", "a smooth loss of k scores", _is_smooth, solve_smooth, takes_features=True),
    metered_refits(None),
)
