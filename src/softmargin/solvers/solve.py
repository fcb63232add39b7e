"""The one door to every solver: pick the first engine that accepts the problem, or say what each would need.

What comes in is conditioned and what goes out is checked here, once for all engines
(:mod:`softmargin.solvers.conditioning`): a Solution has finite numbers, and ``converged`` means ``gap <= tol``.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from softmargin._threads import one_blas_thread
from softmargin.problem import MulticlassProblem, Problem
from softmargin.solution import Solution
from softmargin.solvers.conditioning import (
    Shift,
    check_finite,
    check_scale,
    doubt_of_scores,
    held_by_bounds,
    likely_reason,
    measured,
    taken_as_start,
)
from softmargin.solvers.distinct_rows import DistinctRows
from softmargin.solvers.elastic_net.separation import is_separated
from softmargin.solvers.engine import Engine
from softmargin.solvers.engines import CONVEX_ENGINES, ENGINES, MULTICLASS_ENGINES
from softmargin.solvers.finite_rank_kernels import ROUNDED, FiniteRankKernel
from softmargin.solvers.nonconvex.class_weights import accepts_class_weights, fit_class_weights
from softmargin.solvers.refusal import refusal
from softmargin.solvers.resolution import require_resolution
from softmargin.solvers.svm.bounded import BOUNDED
from softmargin.solvers.thresholds import prefers_rows

__all__ = ["solve", "solve_class_weights"]

_CERTAIN = 1e3  # a margin at which no loss has doubts, and is bounded by its convex relative


def solve(
    problem: Any,
    start: Solution | None = None,
    *,
    solver: str | Engine = "auto",
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
) -> Solution:
    """Minimise a ``Problem`` or ``MulticlassProblem`` to a certified relative gap of ``tol``.

    ``start`` is the solution of a nearby problem of the same rows; what does not fit this one is set aside. A result
    whose gap stays above ``tol`` is returned with ``converged=False`` and a ConvergenceWarning. ``solver`` is "auto", a
    name, or an engine made elsewhere.
    """
    engine = _choose(problem, solver)
    several = isinstance(problem, MulticlassProblem)  # its solvers centre and check the rows themselves
    start = start if several else taken_as_start(start, problem)
    with one_blas_thread(*problem.expansion.shape), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if not several:
            check_scale(problem)
        if several or not (engine.takes_features and _is_features(problem.expansion)):
            require_resolution(problem.expansion, problem.weights, problem.codes if several else problem.y)
        try:
            solution = partial(_run_simultaneous if several else _run, engine)(problem, start, tol, max_iter, verbose)
        except np.linalg.LinAlgError as error:
            raise ValueError(f"The fit met equations without a solution. {likely_reason(problem)}") from error
        if not several:
            solution = held_by_bounds(solution, problem, -1.0 if engine is BOUNDED else -np.inf)
        check_finite(solution, problem)
        doubt = 0.0 if several else doubt_of_scores(solution, problem)
        solution = _judged(replace(solution, gap=max(solution.gap, doubt)), tol)
        if not several and _has_no_minimum(problem, solution):
            solution = replace(solution, status="unbounded", converged=False)
    _warn(engine, solution, tol, doubt)
    return solution


def _is_features(expansion: Any) -> bool:
    """Whether a kernel is the inner products of features, which hold what their products may not."""
    return expansion.is_kernel and expansion.kernel.name == "linear"


def _run(engine: Engine, problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
    """The engine on the problem as it is best put: without offsets, and a kernel of few dimensions as features.

    So is one that is semidefinite up to rounding alone, where the engine did not succeed.

    Equal rows are one where columns are chosen among them, and in an order of their own where there are many stationary
    points.
    """

    def on_features(finite: FiniteRankKernel) -> Solution:
        return _run(engine, finite.reduced, finite.forth(start), tol, max_iter, verbose)

    distinct = None if engine.knows_rows else DistinctRows.of(problem)
    if distinct is not None:
        return distinct.back(engine.run(distinct.reduced, distinct.forth(start), tol, max_iter, verbose))
    finite = FiniteRankKernel.of(problem) if engine.takes_features else None
    if finite is not None:
        found = on_features(finite)
        solution = finite.back(found)
        if found.gap <= max(tol, ROUNDED):  # what the rounding of similarities takes from it, it takes from any
            return solution
        return min(solution, engine.run(problem, start, tol, max_iter, verbose), key=lambda one: one.gap)
    shift = Shift.of(problem)
    if shift is not None:
        return shift.back(engine.run(shift.centred, shift.forth(start), tol, max_iter, verbose))
    solution = engine.run(problem, start, tol, max_iter, verbose)
    # inner products of rows are rounded where their differences are small: what they promise is looked at
    expansion = problem.expansion
    if expansion.is_resident and not expansion.is_kernel and prefers_rows(expansion):
        return measured(solution, problem)
    rounded = FiniteRankKernel.beyond_rounding(problem) if engine.takes_features and not solution.gap <= tol else None
    return solution if rounded is None else min(solution, rounded.back(on_features(rounded)), key=lambda one: one.gap)


def _run_simultaneous(
    engine: Engine, problem: Any, start: Solution | None, tol: float, max_iter: int, verbose: int
) -> Solution:
    """The same for k scores at once, whose engines centre the rows themselves."""
    finite = FiniteRankKernel.of(problem) if engine.takes_features else None
    if finite is None:
        return engine.run(problem, start, tol, max_iter, verbose)
    found = engine.run(finite.reduced, finite.forth(start), tol, max_iter, verbose)
    solution = finite.back(found)
    if found.gap <= max(tol, ROUNDED):
        return solution
    return min(solution, engine.run(problem, None, tol, max_iter, verbose), key=lambda one: one.gap)


def solve_class_weights(problem: Problem, factors: Any, tol: float) -> list[Solution | None]:
    """Solutions under several class weights at once, ``factors`` (2, weights) on the labels -1 and +1.

    None where that is not done, or did not succeed, and :func:`solve` has to be asked for that weight.
    """
    factors = np.asarray(factors, dtype=np.float64)
    finite = FiniteRankKernel.of(problem)
    if finite is not None:
        made = solve_class_weights(finite.reduced, factors, tol)
        found = [
            None if one is None else finite.weighing(*pair).back(one)
            for one, pair in zip(made, factors.T[:, ::-1], strict=True)
        ]
        return [one if one is not None and one.gap <= max(tol, ROUNDED) else None for one in found]
    if factors.shape[1] == 0 or not accepts_class_weights(problem):
        return [None] * factors.shape[1]
    with one_blas_thread(*problem.expansion.shape), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        shift = Shift.of(problem)
        try:
            found = fit_class_weights(problem if shift is None else shift.centred, factors, tol)
        except np.linalg.LinAlgError:
            return [None] * factors.shape[1]
        if shift is not None:
            found = [
                None if one is None else shift.weighing(*pair).back(one)
                for one, pair in zip(found, factors.T[:, ::-1], strict=True)
            ]
        return [one if one is not None and one.gap <= tol and _is_finite(one) else None for one in found]


def _is_finite(solution: Solution) -> bool:
    return bool(
        np.all(np.isfinite(solution.coef)) and np.isfinite(solution.intercept) and np.isfinite(solution.objective)
    )


def _judged(solution: Solution, tol: float) -> Solution:
    """The solution with what its numbers say: whether the gap is small, and whether it depends on the rows at all."""
    status = "constant" if solution.status == "ok" and not np.any(solution.coef) else solution.status
    return replace(solution, converged=solution.converged and solution.gap <= tol, status=status)


def _has_no_minimum(problem: Problem, solution: Solution) -> bool:
    """Whether a point that looks stationary is one of a descent without end, stopped where slopes are below ``tol``."""
    if not (solution.converged and solution.status == "ok" and problem.expansion.is_resident):
        return False
    return is_separated(problem, solution.coef, solution.intercept)


def _warn(engine: Engine, solution: Solution, tol: float, doubt: float) -> None:
    """Say what is wrong with a solution, and the remedy; ``doubt`` is what rounding of scores has of the gap."""
    if solution.status == "unbounded":
        message = (
            "The objective has no minimum: coefficients that cost nothing (on the flat part of the penalty) separate "
            "the rows that still count, and grow for ever. Use l1_ratio < 1 (a ridge part), or lower C."
        )
    elif doubt > tol and doubt == solution.gap:
        message = (
            f"Coefficients of up to {np.abs(solution.coef).max():.2g}, which cost nothing on the flat part of the "
            f"penalty, cancel in the scores: rounding leaves a relative {solution.certificate} of {doubt:.2g}, above "
            f"tol={tol:g}. Use l1_ratio < 1 (a ridge part), a kernel of longer range (a smaller gamma), or lower C."
        )
    elif not solution.converged:
        size = f"above tol={tol:g}" if solution.gap > tol else "small enough, but its rounds had not settled"
        message = (
            f"{engine.name} stopped after {solution.n_iter} steps at a relative {solution.certificate} of "
            f"{solution.gap:.2g}, {size}. Scale the features, raise max_iter or tol, or lower C."
        )
    else:
        return
    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def _choose(problem: Any, solver: str | Engine) -> Engine:
    engines = MULTICLASS_ENGINES if isinstance(problem, MulticlassProblem) else ENGINES
    named = {engine.name: engine for engine in engines}
    if isinstance(solver, Engine):
        named, solver = named | {solver.name: solver}, solver.name
    if solver == "auto":
        found = next((engine for engine in engines if engine.fits(problem)), None)
        if found is not None:
            return found
        if isinstance(problem, MulticlassProblem):
            wants = ", or ".join(engine.needs for engine in engines)
            raise ValueError(f"{_described(problem)} cannot be fitted; what can is {wants}.")
        in_memory = not problem.expansion.is_resident and _fits_in_memory(problem)
        raise ValueError(refusal(problem, lambda changed: any(engine.fits(changed) for engine in engines), in_memory))
    if solver not in named:
        raise ValueError(f"solver must be 'auto' or one of {sorted(named)}; got {solver!r}.")
    engine = named[solver]
    if not engine.fits(problem):
        raise ValueError(
            f"solver={solver!r} needs {engine.needs}; got {_described(problem)}. "
            "Use solver='auto' or change the problem."
        )
    return engine


def _fits_in_memory(problem: Problem) -> bool:
    """Whether the problem, or one with the convex loss that bounds it, would be solved if its rows were in memory."""
    loss = problem.loss if problem.loss.convex else problem.loss.parts[0].majorize(np.array([_CERTAIN])).loss
    return any(engine.accepts(problem.with_loss(loss)) for engine in CONVEX_ENGINES)


def _described(problem: Any) -> str:
    if isinstance(problem, MulticlassProblem):
        return f"{problem.loss!r} of {problem.n_classes} classes"
    return f"{problem.loss!r} with {problem.penalty!r}"
