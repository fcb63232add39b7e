"""The engines for rows outside memory: each starts from a fit of a sample in memory and ends with certified passes.

* smooth convex losses: Newton, elastic net included; L-BFGS where there are too many columns for a Hessian;
* convex losses with corners: Newton on ever less rounded corners, until the true duality gap is small;
* composite least squares of several classes: the closed form, from class moments;
* nonconvex losses: Newton steps with the curvature of the convex bound, from the sample's own nonconvex fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Response
from softmargin.losses import Rounded, can_round
from softmargin.losses.multiclass import CompositeLeastSquares
from softmargin.problem import Problem, RowTerm
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.passes.bound import BoundTerm
from softmargin.solvers.passes.least_squares import solve_least_squares_by_passes
from softmargin.solvers.passes.newton import MOST_COLUMNS, Visited, minimise
from softmargin.solvers.passes.quasi_newton import minimise_by_gradients
from softmargin.solvers.passes.resumed import keep_point, resumed
from softmargin.solvers.passes.rounding import RoundedTerm
from softmargin.solvers.passes.sample_newton import minimise_with_sample, sample_problem

__all__ = ["LEAST_SQUARES_BY_PASSES", "engines_by_passes", "has_smooth_ridge"]

Array = NDArray[np.floating[Any]]

_ROUGH = 1e-2  # relative gap at which a relaxation has served its purpose
_SAMPLE_TOL = 1e-4  # of the fit to a sample, which is that far from the fit to all rows anyhow
_FIRST_WIDTH, _NARROWER, _NARROWEST = 0.3, 0.1, 1e-7  # half-widths of rounded corners, and the steepest decrease
_HIDDEN_COLUMNS = 128  # decoding a number took 9 ns, its part in a Hessian of p columns 0.07 p ns
_SHARE = 0.3  # of the slack of a width that its residual may keep


def engines_by_passes(in_memory: Sequence[Engine]) -> tuple[Engine, ...]:
    """The engines, with those that fit their samples."""

    def started(problem: Problem) -> tuple[Array, float]:
        return _sample_fit(problem, in_memory)

    def smooth(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        coef, intercept = _point(problem, start, started)
        n_iter = 0
        history: list[float] = []
        for loss in problem.loss.relaxations() if start is None and coef is None else ():
            relaxed = problem.with_loss(loss)
            rough, history = minimise(_visit(relaxed, RowTerm, coef, intercept), _within(max(tol, _ROUGH)), max_iter)
            n_iter, coef, intercept = n_iter + len(history) - 1, rough.coef, rough.intercept
        history = []
        few = sample_problem(problem) if coef is not None and has_smooth_ridge(problem) else None
        if few is not None and coef is not None:
            thorough = _hides_hessian(problem)
            near, history = minimise_with_sample(problem, few, (coef, intercept), tol, thorough, verbose)
            if near is not None and near.gap <= tol:
                return _solution(near, history, n_iter)
            coef, intercept = (coef, intercept) if near is None else (near.coef, near.intercept)
        here, more = minimise(_visit(problem, RowTerm, coef, intercept), _within(tol), max_iter, verbose)
        return _solution(here, history + more, n_iter)

    def wide(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        coef, intercept = _point(problem, start, started)
        zero = np.zeros(problem.expansion.shape[1])
        here = minimise_by_gradients(problem, zero if coef is None else coef, intercept, tol, max_iter, verbose)
        return _solution(here, [here.objective], 0)

    def kinked(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        def rounded_enough(here: Visited) -> bool:
            return here.residual_gap <= max(0.5 * tol, _SHARE * here.slack)

        width, n_iter = _FIRST_WIDTH, 0
        history: list[float] = []
        coef, intercept = _point(problem.with_loss(Rounded(problem.loss, width)), start, started)
        while True:
            rounded = problem.with_loss(Rounded(problem.loss, width))
            here, more = minimise(_visit(rounded, RoundedTerm, coef, intercept), rounded_enough, max_iter, verbose)
            n_iter, history, coef, intercept = n_iter + len(more), history + more, here.coef, here.intercept
            if here.gap <= tol or width < _NARROWEST or n_iter >= max_iter:
                break
            # the slack falls like the square of the width
            width *= float(np.clip(np.sqrt(0.3 * tol / max(here.slack, 1e-300)), _NARROWER, 0.5))
        true = _visit(problem, RowTerm, coef, intercept)
        return replace(_solution(here, history, 0), objective=true.objective, n_iter=n_iter)

    def nonconvex(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        coef, intercept = _point(problem, start, started)
        here = Visited.at(
            problem,
            lambda b: BoundTerm(problem.loss, b, second=True, exact=True),
            np.zeros(problem.expansion.shape[1]) if coef is None else coef,
            intercept,
            lambda b: BoundTerm(problem.loss, b, second=True),
        )
        here, history = minimise(here, _within(tol), max_iter, verbose)
        return _solution(here, history, 0)

    few = f"and at most {MOST_COLUMNS} coefficients"
    found = (
        ("newton_by_passes", f"a smooth convex loss with a ridge or l1 part {few}", _is_smooth, smooth),
        ("quasi_newton_by_passes", "a smooth convex loss and l1_ratio=0", _is_wide, wide),
        ("rounding_by_passes", f"a convex loss with straight pieces, l1_ratio=0 {few}", _is_kinked, kinked),
        ("bounds_by_passes", f"a loss with a smooth majoriser, l1_ratio=0 {few}", _is_bounded, nonconvex),
    )
    return tuple(Engine(name, needs, accepts, resumed(run), True) for name, needs, accepts, run in found)


def _is_smooth(problem: Problem) -> bool:
    return problem.loss.convex and problem.loss.smooth and problem.penalty.convex and _has_room(problem)


def _is_wide(problem: Problem) -> bool:
    return problem.loss.convex and problem.loss.smooth and _is_ridge(problem)


def has_smooth_ridge(problem: Problem) -> bool:
    """Whether a smooth convex loss with a ridge and room for a Hessian."""
    return problem.loss.convex and problem.loss.smooth and _is_ridge(problem) and _has_room(problem)


def _hides_hessian(problem: Problem) -> bool:
    """Whether a pass takes so long anyhow that adding up a Hessian in it costs less than one more pass."""
    return getattr(problem.expansion, "decodes", False) and problem.expansion.shape[1] <= _HIDDEN_COLUMNS


def _is_kinked(problem: Problem) -> bool:
    return can_round(problem.loss) and _is_ridge(problem) and _has_room(problem)


def _is_bounded(problem: Problem) -> bool:
    if problem.loss.convex or not _is_ridge(problem) or not _has_room(problem):
        return False
    return bool(problem.loss.majorize(np.zeros(1)).loss.smooth)


def _is_ridge(problem: Problem) -> bool:
    penalty = problem.penalty
    return penalty.convex and penalty.ridge > 0 and penalty.l1_ratio == 0 and not penalty.positive


def _has_room(problem: Problem) -> bool:
    return not problem.expansion.is_kernel and problem.expansion.shape[1] <= MOST_COLUMNS


def _within(tol: float) -> Callable[[Visited], bool]:
    return lambda here: here.gap <= tol


def _point(
    problem: Problem, start: Solution | None, sampled: Callable[[Problem], tuple[Array | None, float]]
) -> tuple[Array | None, float]:
    """Where to begin: a solution given, that of a sample, or nowhere."""
    if start is not None:
        return np.array(start.coef, dtype=np.float64), float(start.intercept)
    coef, intercept = sampled(problem)
    if coef is not None:
        keep_point(problem, coef, intercept)
    return coef, intercept


def _visit(problem: Problem, kind: type[RowTerm], coef: Array | None, intercept: float) -> Visited:
    def term(b: float) -> Callable[..., Response]:
        return kind(problem.loss, b, second=True)

    coef = np.zeros(problem.expansion.shape[1]) if coef is None else coef
    return Visited.at(problem, term, coef, intercept)


def _sample_fit(problem: Problem, engines: Sequence[Engine]) -> Any:
    """The solution of the problem on some rows; (None, 0) where there is no sample."""
    few = sample_problem(problem)
    if few is None:
        return None, 0.0
    for engine in engines:
        if engine.fits(few):
            found = engine.run(few, None, _SAMPLE_TOL, 200, 0)
            if np.all(np.isfinite(found.coef)) and np.isfinite(found.intercept):
                return np.asarray(found.coef, dtype=np.float64), float(found.intercept)
            break
    return None, 0.0


def _solution(here: Visited, history: list[float], n_before: int) -> Solution:
    n_iter = n_before + len(history) - 1
    return Solution(here.coef, here.intercept, None, here.objective, here.gap, n_iter, True, history=history)


def _is_composite(problem: Any) -> bool:
    return isinstance(problem.loss, CompositeLeastSquares) and problem.penalty is None and _has_room(problem)


LEAST_SQUARES_BY_PASSES = Engine(
    "least_squares_by_passes",
    f"CompositeLeastSquares with l1_ratio=0 and at most {MOST_COLUMNS} coefficients per class",
    _is_composite,
    lambda problem, start, tol, max_iter, verbose: solve_least_squares_by_passes(problem, start, tol, max_iter),
    by_passes=True,
)
