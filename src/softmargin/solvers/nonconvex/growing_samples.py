"""Nonconvex fits of many rows: find the minimum on few rows, then follow it to eight times as many, up to all.

Where rows abound, the sum of their losses is a smooth function of ``(beta, b)`` whatever the loss, and the minimum of a
sample lies within sampling error of the minimum of all. So the search, from the convex relative of the loss downhill,
is done on a sample; each larger one takes a few quasi-Newton steps, a sweep over its rows each, with a Hessian made
where it starts and what :class:`Secant` learns.

The Hessian. Rows add ``w phi''(u)``. A corner adds its jump times the density of margins there, which the
rows in a window of half-width ``h`` around it show: each adds ``w jump / (2 h)``. Rows whose slope is nearly zero are
left out, and of the others enough are taken. Far from a minimum the Hessian is indefinite. The majoriser's, ``M``,
never is, and exceeds it, so the first of ``(1 - t) H + t M``, ``t`` rising to 1, that is safely positive definite makes
the step.

The end is the majoriser's: its minimum, reached by a sweep or two, certifies that no bound touching here falls by more
than the gap. Where these steps do not get that far, the ordinary rounds go on from the point reached.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin._progress import is_heard, report
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.linalg import definite_cholesky
from softmargin.solvers.nonconvex.convex_bounds import bound_at, certain_margins, is_degenerate
from softmargin.solvers.ridge.newton import newton
from softmargin.solvers.ridge.newton_systems import FeatureSystem
from softmargin.solvers.ridge.quasi_newton import Secant, Sweep
from softmargin.solvers.ridge.subsampled_start import (
    balanced_gap,
    quasi_newton_iterations,
    stratified_sample,
    thin,
)

__all__ = ["growing_samples"]

Array = NDArray[np.floating[Any]]

_FIRST, _ROWS_PER_COLUMN = 1500, 30  # the smallest sample
_GROWTH = 8
_BASE = 1e-2  # gap to which the first sample's convex relative is fitted
_ROUGH = 1e-3  # a sample's minimum is found to this fraction of its objective, which its error exceeds
_CLOSE = 1e-5  # nearer than this, rows on a corner count one by one: the bounds' rounds end the work
_MIXES = (0.0, 0.1, 0.25, 0.5, 1.0)
_SAFE = 0.1  # a mixture must exceed this fraction of the majoriser's Hessian
_FLAT = 0.3  # a whole step is right where the slope at its end is at most this fraction of the slope at its start
_STRETCH = 2.0
_WORSE = 3.0  # a step that promises so many times what the last one did tells of a Hessian that is wrong
_FURTHEST, _SHORTEST = 16.0, 1e-3
_TINY = 1e-12
_FAR = 3  # steps after which the majoriser's Hessian is made anew
_ENOUGH = 16_000  # rows that make a Hessian
_NO_SLOPE = 1e-3  # slopes below this fraction of the largest do not count
_NEARBY = 0.1  # margins a little further up, in units of their spread
_SEARCH_STEPS, _STEPS, _MOST_SWEEPS = 30, 16, 60


class _NoProgress(Exception):
    """These steps make no progress; the ordinary rounds must do the work."""


class _Model(NamedTuple):
    """Inverse Hessians at a point: the mixture's that makes steps, the majoriser's that certifies, its curvature."""

    step: Secant
    bound: Secant
    mass: float


def growing_samples(
    problem: Problem, system: FeatureSystem, tol: float, max_iter: int, verbose: int
) -> Solution | None:
    """A local minimum near that of a sample, or a start; None where rows are too few or steps make no progress."""
    n, p = problem.expansion.shape
    first = max(_FIRST, _ROWS_PER_COLUMN * p)
    if n < _GROWTH * first:
        return None
    levels = max(1, round(float(np.log(n / first) / np.log(_GROWTH))))
    shares = np.geomspace(first / n, 1.0, levels + 1)[:-1]
    try:
        part = problem.take(*stratified_sample(problem.y, float(shares[0])))
        here = _search(Sweep(part, _base(part, system, max_iter, verbose)), verbose)
        for share in shares[1:]:
            part = problem.take(*stratified_sample(problem.y, float(share)))
            here = Sweep(part, here.point)
            here, _ = _follow(here, _ROUGH, here.objective, verbose)
        scale = abs(here.objective)
        here = Sweep(problem, here.point)
        here, model = _follow(here, tol if problem.loss.smooth else max(_CLOSE, tol), scale, verbose)
        return _finish(here, model, tol, scale, verbose)
    except _NoProgress:
        return None


def _base(problem: Problem, system: FeatureSystem, max_iter: int, verbose: int) -> Array:
    """The fit of the convex relative, roughly."""
    trusted = bound_at(problem, certain_margins(problem))
    base = newton(trusted, system.of(problem.expansion), None, _BASE, max_iter, verbose)
    return np.append(base.coef, base.intercept)


def _search(here: Sweep, verbose: int) -> Sweep:
    """Downhill to a minimum, with a new Hessian at every step and the objective as the guide."""
    for _ in range(_SEARCH_STEPS):
        start, step = here, -_model(here).step(here.residual)
        length, there = 1.0, start.moved(step)
        while length > _SHORTEST and not there.objective < start.objective:
            length *= 0.5
            there = start.moved(length * step)
        while there.objective < here.objective:
            here, length = there, 2 * length
            if length > _FURTHEST or float(step @ here.residual) >= 0:
                break
            there = start.moved(length * step)
        if is_heard(verbose):
            report("search", f"{len(here.g)} rows, objective {here.objective:.12g}", verbose)
        if start.objective - here.objective <= _ROUGH * abs(here.objective):
            break
    return here


def _follow(here: Sweep, tol: float, scale: float, verbose: int) -> tuple[Sweep, _Model]:
    """To the minimum nearby by one Hessian and what the steps teach, or a new one when they teach nothing.

    Slopes are the guide. The objective is asked only where the slope at the end of a step casts doubt on it.
    """
    start, model, promise, doubt = here, _model(here), -np.inf, False
    for _ in range(_STEPS):
        step = -model.step(here.residual)
        slope = float(step @ here.residual)
        if slope < _WORSE * promise:
            model = _model(here)
            step = -model.step(here.residual)
            slope = float(step @ here.residual)
        promise = slope
        if is_heard(verbose):
            report("descent", f"{len(here.g)} rows, expected gain {-0.5 * slope / abs(scale):.3g}", verbose)
        if -0.5 * slope <= tol * abs(scale):
            break
        there = here.moved(step)
        end = float(step @ there.residual)
        if abs(end) > -_FLAT * slope:
            doubt = True
            model.step.learn(here, there)
            length = min(slope / (slope - end), _STRETCH) if end > slope else _STRETCH
            there = here.moved(length * step)
        model.step.learn(here, there)
        here = there
    if doubt and here.objective > start.objective:
        raise _NoProgress
    return here, model


def _finish(here: Sweep, model: _Model, tol: float, scale: float, verbose: int) -> Solution:
    """Rounds of the majoriser until one certifies that the next would gain less than ``tol``."""
    problem, failures = here.problem, 0
    if here.number > _FAR:
        model = _model(here)
    while failures < 2 and here.number < _MOST_SWEEPS:
        bound = bound_at(problem, here.margins)
        if is_degenerate(bound):
            raise _NoProgress
        origin = here.under(bound)
        found, there = quasi_newton_iterations(origin, model.bound, model.mass, 0.5 * tol * scale, balanced_gap)
        here = there.under(problem)
        if found is None:
            here, failures = Sweep(problem, here.point, here.number + 1), failures + 1
            model = _model(here)
            continue
        gap, g = found
        # the bound is convex: its fall from the origin is at most what the slope there promises
        gap += max(-float(origin.residual @ (there.point - origin.point)), 0.0)
        gap /= max(abs(here.objective), here.penalty)
        if is_heard(verbose):
            report("majoriser", f"objective {here.objective:.12g}, gap {gap:.3g}", verbose)
        if gap <= tol:
            return _solution(here, g, gap, True)
        here = Sweep(problem, here.point, here.number + 1)
    return _solution(here, here.g, np.inf, False)


def _solution(here: Sweep, g: Array, gap: float, converged: bool) -> Solution:
    parts = (here.coef, here.intercept, -g, here.objective, gap, here.number, converged)
    return Solution(*parts, history=[here.objective], margins=here.margins)


def _model(here: Sweep) -> _Model:
    """The Hessians at a point, from enough of the rows that bend there."""
    problem, margins = here.problem, here.margins
    if len(margins) > _ENOUGH:
        rows = np.flatnonzero(_with_slope(here))
        few = thin(rows, _ENOUGH)
        problem, margins = problem.take(few, np.full(len(few), len(rows) / max(len(few), 1))), margins[few]
    bound, p = bound_at(problem, margins), problem.expansion.shape[1]
    if is_degenerate(bound):
        raise _NoProgress
    above = bound.evaluate(margins).curvature
    M = _moments(problem, above)
    M[np.arange(p), np.arange(p)] += problem.penalty.ridge
    if not problem.fit_intercept:
        M[p, p] = 1.0
    below = _moments(problem, above - problem.evaluate(margins).curvature) - _corners(here)
    inverse = definite_cholesky(M)
    if inverse is None:
        raise _NoProgress
    for mix in _MIXES:
        if definite_cholesky((1 - _SAFE) * M - (1 - mix) * below) is not None:
            break
    return _Model(Secant(definite_cholesky(M - (1 - mix) * below) or inverse), Secant(inverse), float(above.sum()))


def _with_slope(here: Sweep) -> NDArray[np.bool_]:
    """The rows with a slope, here or a little further up: those beyond do not bend the objective."""
    slope = np.abs(here.g)
    nearby = np.abs(here.problem.weights * here.problem.loss.slope(here.margins + _NEARBY * here.margins.std()))
    return np.maximum(slope, nearby) > _NO_SLOPE * float(slope.max())


def _corners(here: Sweep) -> Array | float:
    """What the corners of the loss add to the Hessian: their jumps, spread over windows that hold enough rows."""
    problem, margins = here.problem, here.margins
    total: Array | float = 0.0
    for kink in problem.loss.kinks:
        apart = np.abs(margins - kink.at)
        held = int(len(margins) ** (2 / 3))
        rows = np.argpartition(apart, held)[:held]
        width = max(float(apart[rows].max()), _TINY)
        part = problem.take(rows, np.ones(held))
        total = total + _moments(part, part.weights * (kink.jump / (2 * width)))
    return total


def _moments(problem: Problem, W: Array) -> Array:
    """``sum_i W_i (x_i, 1) (x_i, 1)'`` for weights of any sign; nothing for an intercept that is not there."""
    p = problem.expansion.shape[1]
    out = np.zeros((p + 1, p + 1))
    for sign in (1.0, -1.0):
        part = np.maximum(sign * W, 0.0)
        total = float(part.sum())
        if total == 0:
            continue
        second, first = problem.expansion.moments(part)
        out[:p, :p] += sign * second
        if problem.fit_intercept:
            out[:p, p] += sign * first
            out[p, :p] += sign * first
            out[p, p] += sign * total
    return out
