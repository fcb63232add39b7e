"""The one door to every solver: pick the first engine that accepts the problem, or say what each would need."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from softmargin._threads import one_blas_thread
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.nonconvex.inner_solvers import CONVEX_ENGINES
from softmargin.solvers.nonconvex.majorize_minimise import MAJORIZE
from softmargin.solvers.ridge.newton_by_passes import NEWTON_BY_PASSES

__all__ = ["ENGINES", "solve"]

ENGINES: tuple[Engine, ...] = (*CONVEX_ENGINES, MAJORIZE, NEWTON_BY_PASSES)


def solve(
    problem: Problem,
    start: Solution | None = None,
    *,
    solver: str | Engine = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
) -> Solution:
    """Minimise ``problem`` to a certified relative gap of ``tol``.

    ``start`` is the solution of a nearby problem with the same expansion. A result whose gap stays above ``tol`` is
    returned with ``converged=False`` and a ConvergenceWarning. ``solver`` is "auto", a
    name, or an engine made elsewhere.
    """
    engine = _choose(problem, solver)
    with one_blas_thread(*problem.expansion.shape):
        solution = engine.run(problem, start, tol, max_iter, verbose)
    if not solution.converged:
        warnings.warn(
            f"{engine.name} stopped after {solution.n_iter} steps at a relative {solution.certificate} of "
            f"{solution.gap:.2g}, above tol={tol:g}. Scale the features, raise max_iter or tol, or lower C.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solution


def _choose(problem: Problem, solver: str | Engine) -> Engine:
    named = {engine.name: engine for engine in ENGINES}
    if isinstance(solver, Engine):
        named, solver = named | {solver.name: solver}, solver.name
    if solver == "auto":
        for engine in ENGINES:
            if engine.fits(problem):
                return engine
        wants = "; ".join(f"{engine.name} needs {engine.needs}" for engine in ENGINES)
        where = "" if problem.expansion.is_resident else " on rows outside memory"
        raise ValueError(f"No solver accepts {problem.loss!r} with {problem.penalty!r}{where}: {wants}.")
    if solver not in named:
        raise ValueError(f"solver must be 'auto' or one of {sorted(named)}; got {solver!r}.")
    engine = named[solver]
    if not engine.fits(problem):
        raise ValueError(
            f"solver={solver!r} needs {engine.needs}; got {problem.loss!r} with {problem.penalty!r}. "
            "Use solver='auto' or change the problem."
        )
    return engine
