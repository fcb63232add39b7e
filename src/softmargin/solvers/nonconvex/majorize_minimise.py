"""Nonconvex losses: bound them by a convex loss that touches at the present margins, minimise the bound, repeat.

``loss.majorize(u)`` returns weights and tilts of a convex loss. Redescending losses are bounded by weighted squared
hinges, capped likelihoods by the likelihood of the retained rows, capped hinges and flipped-label likelihoods by a
tilted hinge or logistic loss. Whatever they are, the bound touches and lies above, so

    J(f_{k+1}) <= bound_k(f_{k+1}) <= bound_k(f_k) = J(f_k):

the objective never rises (``Solution.history``). Each bound is an ordinary convex problem for the engines at hand,
warm-started. Once rounds hardly move, Newton steps on the loss itself finish the work; they are taken only where the
objective does not rise. A bound that repeats itself ends the search exactly, which capped losses do after few rounds.

Starts. The first bound trusts every row (the loss's convex relative: squared hinge, logistic, hinge), so a fit is a
function of its problem alone: a given start only speeds up that first convex fit. The gap reported is the certified
one of the bound made at the solution: no convex majoriser that touches there can fall further than that.

A capped loss may give up a whole class. Its bound then has no finite minimum; the constant classifier of the majority
is returned with status "degenerate".
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.nonconvex.convex_bounds import (
    bound_at,
    certain_margins,
    check_majorizer,
    constant_fit,
    is_degenerate,
    is_same_bound,
)
from softmargin.solvers.nonconvex.inner_solvers import FEW_ROWS, ROUNDING, Walk, walk_of

__all__ = ["INITS", "MAJORIZE", "majorize_minimise", "majorizer"]

Array = NDArray[np.floating[Any]]

INITS = ("base", "zero", "anneal")

_NEAR = 0.05  # a round that moves scores by less than this hands over to Newton steps on the loss itself
_EXACT, _HASTY = 1e-2, 0.1  # a bound is minimised to this fraction of what the last round gained; of many rows
_FIRST = 1e-4  # what the first round is expected to gain, in units of the objective
_TINY = 1e-300
_EQUAL = 1e-6  # scores that differ by less, beside 1 and the largest, are one score
_ANNEAL = (8.0, 4.0, 2.0)  # multiples of sigma, from gentle to the one asked for


def majorize_minimise(
    problem: Problem,
    start: Solution | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
    *,
    init: str = "base",
    n_init: int = 1,
    random_state: Any = None,
) -> Solution:
    """A stationary point of a problem whose loss may be nonconvex.

    Among ``n_init`` starts (the first always ``init``, the others convex fits to random halves of the rows) the lowest
    objective wins, but never a constant classifier against one that tells the classes apart: with a bounded loss the
    constant is often the cheapest and never the better model.
    """
    check_majorizer(problem.loss)
    if problem.penalty.rounds == 1 and not problem.penalty.convex:  # its costs come from a pilot fit and then stay
        first = replace(problem, penalty=problem.penalty.pilot)
        pilot = majorize_minimise(
            first, None, tol, max_iter, verbose, init=init, n_init=n_init, random_state=random_state
        )
        problem = replace(problem, penalty=problem.penalty.linearize(pilot.coef))
    trusted = bound_at(problem, certain_margins(problem))
    walk = walk_of(trusted)
    ahead = walk.leap(problem, tol, max_iter, verbose) if init == "base" else None
    base: Solution | None = None
    if ahead is None:
        given = start.base or start if start is not None else None
        base = walk.begin(trusted, given, tol, max_iter, verbose)
    best: Solution | None = None
    for _ in _starts(problem, trusted, walk, init, n_init, random_state, (tol, max_iter, verbose)):
        if best is None and ahead is not None and ahead.converged:
            found = ahead
        else:
            at_base = best is None and base is not None and init == "base"
            found = _descend(problem, walk, tol, max_iter, verbose, trusted if at_base else None)
        if best is None or (_constant(found), found.objective) < (_constant(best), best.objective):
            best = found
    assert best is not None
    best.base = base
    return best


def _starts(
    problem: Problem, trusted: Problem, walk: Walk, init: str, n_init: int, random_state: Any, how: tuple[Any, ...]
) -> Iterator[None]:
    """Put the walk at each start in turn."""
    if init == "zero":
        walk.reset(trusted)
    elif init == "anneal" and "sigma" in {field.name for field in fields(problem.loss)}:  # type: ignore[arg-type]
        for factor in _ANNEAL:
            gentle = replace(problem.loss, sigma=factor * problem.loss.sigma)  # type: ignore[type-var, attr-defined]
            _descend(problem.with_loss(gentle), walk, 1e-2, 3, how[-1])
    yield
    rng = np.random.default_rng(random_state)
    for _ in range(n_init - 1):
        chosen = rng.random(len(problem.y)) < 0.5
        for label in (-1, 1):
            chosen[rng.choice(np.flatnonzero(problem.y == label))] = True
        weights = np.where(chosen, trusted.weights, 0.0)
        tilt = None if trusted.tilt is None else np.where(chosen, trusted.tilt, 0.0)
        walk.begin(replace(trusted, weights=weights, tilt=tilt), None, *how)
        yield


def _constant(solution: Solution) -> bool:
    return not np.any(solution.coef)


def _descend(
    problem: Problem, walk: Walk, tol: float, max_iter: int, verbose: int, bound: Problem | None = None
) -> Solution:
    """Down from where the walk stands, which is the minimiser of ``bound`` if one is given, to a certified place."""
    history = [walk.value(problem)]
    found, n_iter = None, 0
    while found is None:
        n_iter, settled = _rounds(problem, walk, history, n_iter, tol, max_iter, verbose, bound)
        bound = None
        found = _certified(problem, walk, history, n_iter, tol, max_iter, settled)
        if not found.converged and settled and n_iter < max_iter and history[-2] - history[-1] > tol * abs(history[-1]):
            found = None  # small steps in a valley: the bound knows that there is more to gain
    return found


def _rounds(
    problem: Problem,
    walk: Walk,
    history: list[float],
    done: int,
    tol: float,
    max_iter: int,
    verbose: int,
    bound: Problem | None,
) -> tuple[int, bool]:
    """Bounds and Newton steps until scores settle; the number of rounds, and whether they did."""
    objective, smooth, many = history[-1], problem.loss.smooth, len(problem.y) > FEW_ROWS
    drop, accuracy, near = _FIRST * abs(objective), tol, False
    for n_iter in range(done + 1, max_iter + 1):
        before = walk.margins
        if not (near and walk.newton(problem, objective)):
            last, bound = bound, bound_at(problem, walk.margins)
            if is_degenerate(bound):
                return n_iter, False
            repeats = last is not None and is_same_bound(bound, last)
            if repeats and accuracy <= tol:
                return n_iter, True
            share = (_HASTY if many else _EXACT) * drop / max(abs(objective), _TINY)
            accuracy = tol**2 if repeats else max(tol**2, share)
            if walk.minimise(bound, objective, accuracy, max_iter, verbose).status == "unbounded":
                return n_iter, False
        value = walk.value(problem)
        if value > objective + ROUNDING * (1 + abs(objective)):
            walk.back()
            return n_iter, False
        drop, objective = objective - value, value
        history.append(objective)
        moved = float(np.abs(walk.margins - before).max(initial=0.0)) / (1 + float(np.abs(before).max(initial=0.0)))
        if verbose:
            print(f"majorise round {n_iter}: objective {objective:.12g}, scores moved by {moved:.3g}")
        near = smooth and moved <= _NEAR
        if moved <= tol or (many and drop <= tol * abs(objective)):
            return n_iter, True
    return max_iter, False


def _certified(
    problem: Problem, walk: Walk, history: list[float], n_iter: int, tol: float, max_iter: int, settled: bool
) -> Solution:
    """The gap of the bound made here: what its minimiser gains, and what that minimiser may still lack."""
    bound = bound_at(problem, walk.margins)
    if is_degenerate(bound):
        return _degenerate(problem, history, n_iter)
    above = walk.value(problem)
    found = walk.minimise(bound, above, tol, max_iter, 0)
    objective = walk.value(problem)
    scale = max(abs(objective), abs(walk.penalty), _TINY)
    gap = found.gap + max(above - walk.value(bound), 0.0) / scale
    history.append(objective)
    return replace(
        found,
        coef=walk.coef,
        objective=objective,
        gap=gap,
        n_iter=n_iter,
        history=history,
        converged=settled and gap <= tol,
        margins=walk.margins,
        status="constant" if _says_nothing(walk.margins * problem.y) else found.status,
    )


def _says_nothing(scores: Array) -> bool:
    """Whether scores do not depend on the row beyond rounding."""
    return bool(np.ptp(scores) <= _EQUAL * (1 + float(np.abs(scores).max())))


def _degenerate(problem: Problem, history: list[float], n_iter: int) -> Solution:
    constant = constant_fit(problem)
    warnings.warn(
        f"{problem.loss!r} gives up every row of one class: the cheapest fit is the constant classifier of the "
        "majority. Raise the level or scale of the loss (sigma), or raise C.",
        UserWarning,
        stacklevel=2,
    )
    coef = np.zeros(problem.expansion.shape[1])
    return Solution(
        coef,
        constant.intercept,
        np.zeros(len(problem.y)),
        constant.objective,
        0.0,
        n_iter,
        True,
        history=[*history, constant.objective],
        status="degenerate",
        margins=problem.margins(coef, constant.intercept),
    )


def _accepts(problem: Problem) -> bool:
    return not problem.loss.convex


def majorizer(init: str = "base", n_init: int = 1, random_state: Any = None) -> Engine:
    """The engine with its starts decided."""

    def run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        return majorize_minimise(
            problem, start, tol, max_iter, verbose, init=init, n_init=n_init, random_state=random_state
        )

    return Engine("majorize", "a nonconvex loss with a majoriser that another solver accepts", _accepts, run)


MAJORIZE = majorizer()
