"""Scores a row would have had if it had not helped to fit, for a whole path of costs.

A path solves the same problem for increasing ``C``, each fit from the solution before. Honest scores come from
leaving rows out (folds, a held-out part), or from one fit and its influences (approximate leave-one-out, exact for
squared losses).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solvers import Solution
from softmargin.tuning._corners import cornered_fit, rests_on_corners
from softmargin.tuning._equal_rows import EqualRows
from softmargin.tuning._gkl import Perturbation
from softmargin.tuning._influence import KernelInfluence, influence
from softmargin.tuning.criteria import Fitted, alo_scores

__all__ = [
    "Solve",
    "auto_costs",
    "fitted_path",
    "influence_scores",
    "left_out_scores",
    "path_probabilities",
    "solution_path",
]

Array = NDArray[np.floating[Any]]
Solve = Callable[[Problem, "Solution | None"], Solution]

_FAINT, _FIRM = 0.02, 1e4  # scores of the smallest cost in units of the margin; largest cost over smallest
_MOST_DIGITS = 300  # powers of ten of a cost: numbers of that size still have all their digits


def auto_costs(problem: Problem, n_costs: int) -> Array:
    """A geometric range of ``C``, from a nearly constant classifier to a nearly unpenalised one.

    At small ``C`` the scores are ``C Phi Phi'g`` to first order, ``g`` the pull of the rows on the constant classifier;
    with an l1 part all coefficients are zero up to ``C = l1_ratio / max |Phi'g|``. A nonconvex loss takes the pull of
    its convex relative, in units of what it still charges at the boundary, about ``min(1, sigma^2)`` if redescending.
    """
    loss = problem.loss.parts[0]
    trusting = loss.majorize(np.array([1e3]))
    pull = float(trusting.weights[0] * trusting.loss.slope(0.0))
    charge = float(loss.value(0.0) / (trusting.weights[0] * trusting.loss.value(0.0)))
    heaviest = float(problem.weights.max())  # weights of any unit: their products must neither over- nor underflow
    weights = problem.weights / heaviest
    slope = weights * (pull * charge) * problem.y
    slope = slope - weights * slope.sum() / weights.sum() if problem.fit_intercept else slope
    gradient = problem.expansion.transpose(slope)
    if problem.penalty.l1_ratio > 0:
        return _range(problem.penalty.l1_ratio, gradient, (heaviest,), _FIRM, n_costs)
    if problem.expansion.is_kernel:
        return _range(_FAINT, problem.expansion.apply(slope), (heaviest,), _FIRM * 100, n_costs)
    size = float(np.abs(gradient).max(initial=0.0)) or 1.0  # of features as large as their squares overflow
    return _range(_FAINT, problem.expansion.apply(gradient / size), (heaviest, size), _FIRM * 100, n_costs)


def _range(wanted: float, reached: Array, units: tuple[float, ...], factor: float, n_costs: int) -> Array:
    """Costs from where what ``C = 1`` reaches, in these units, would be ``wanted``.

    Where nothing is reached every cost is as good.
    """
    most = float(np.abs(reached).max(initial=0.0))
    power = float(np.log10(wanted) - np.log10(most)) if most > 0 else 0.0
    top = float(np.log10(factor))
    first = float(np.clip(power - float(np.log10(units).sum()), -_MOST_DIGITS, _MOST_DIGITS - top))
    return np.logspace(first, first + top, n_costs)


def solution_path(problem: Problem, costs: Iterable[float], solve: Solve) -> Iterator[tuple[float, Problem, Solution]]:
    """The solutions for increasing costs; ``problem.weights`` are those of ``C = 1``."""
    start = None
    for cost in costs:
        scaled = replace(problem, weights=cost * problem.weights)
        start = solve(scaled, start)
        yield cost, scaled, start


def fitted_path(problem: Problem, costs: Iterable[float], solve: Solve, count: Array) -> Iterator[Fitted]:
    """The fits of a path with their influences; ``count`` says how many equal rows each row stands for."""
    if _is_kernel_regression(problem):
        yield from _regression_path(problem, costs, solve, count)
        return
    equal = EqualRows.of(problem.expansion, problem.y) if rests_on_corners(problem) else None
    for cost, scaled, solution in solution_path(problem, costs, solve):
        if equal is not None:
            yield cornered_fit(problem, solution, cost, count, equal)
            continue
        margins = scaled.margins(solution.coef, solution.intercept)
        curvature = scaled.weights * problem.loss.curvature(margins)
        active = None
        if problem.penalty.l1_ratio > 0 and not problem.expansion.is_kernel:
            active = np.flatnonzero(solution.coef)
        H = influence(
            problem.expansion, curvature, problem.penalty.ridge, fit_intercept=problem.fit_intercept, active=active
        )
        yield Fitted(problem.loss, problem.y, problem.y * margins, problem.weights / count, cost, H, count)


def _is_kernel_regression(problem: Problem) -> bool:
    plain = problem.tilt is None and problem.offset is None and problem.penalty.ridge == 1
    return problem.loss.name == "least_squares" and problem.expansion.is_kernel and plain


def _regression_path(problem: Problem, costs: Iterable[float], solve: Solve, count: Array) -> Iterator[Fitted]:
    """The same for squared losses and kernels: the factor that gives the influences gives the fit, to be certified."""
    for cost in costs:
        scaled = replace(problem, weights=cost * problem.weights)
        curvature = scaled.weights * problem.loss.curvature(np.zeros(len(problem.y)))
        factored = KernelInfluence(problem.expansion.outer(), curvature, problem.penalty.ridge, problem.fit_intercept)
        start = Solution(*factored.fit(problem.y), None, np.nan, np.inf, 0, converged=False)
        solution = solve(scaled, start)
        scores = problem.expansion.apply(solution.coef) + solution.intercept
        weight = problem.weights / count
        yield Fitted(problem.loss, problem.y, scores, weight, cost, factored.diagonal(), count)


def influence_scores(problem: Problem, costs: Iterable[float], solve: Solve, count: Array) -> Array:
    """Approximate leave-one-out scores, one row per cost."""
    return np.array([alo_scores(fit) for fit in fitted_path(problem, costs, solve, count)])


def left_out_scores(
    problem: Problem, costs: Array, solve: Solve, folds: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]
) -> Array:
    """Scores of the rows in each test part from paths fitted to the other rows; NaN for rows in no test part."""
    scores = np.full((len(costs), len(problem.y)), np.nan)
    for train, test in folds:
        part = problem.take(train, np.ones(len(train)))
        seen = problem.expansion.cross(test, train)
        for k, (_, _, solution) in enumerate(solution_path(part, costs, solve)):
            scores[k, test] = np.asarray(seen @ solution.coef).ravel() + solution.intercept
    return scores


def path_probabilities(
    problem: Problem, costs: Array, solve: Solve, draw: Perturbation | None = None, count: Array | None = None
) -> Array:
    """P(y = +1) of the training rows along a path, fitted to them or to a perturbed version of them.

    ``count`` says how many rows each place stands for; a row put there brings its class weight, not its count.

    Probabilities stay ``1/(2n)`` away from 0 and 1, so their log loss is finite; a perturbed set of one class gives
    that bound everywhere.
    """
    n = len(problem.y)
    part, seen = problem, problem.expansion.rows()
    if draw is not None:
        if draw.labels.min() == draw.labels.max():
            return np.full((len(costs), n), np.clip(draw.labels[0], 0.5 / n, 1 - 0.5 / n))
        seen = problem.expansion.cross(slice(None), draw.rows)
        part = replace(
            problem,
            loss=problem.loss.of_rows(draw.rows),
            expansion=problem.expansion.take(draw.rows),
            y=2 * draw.labels - 1,
            weights=problem.weights[draw.rows] if count is None else (problem.weights / count)[draw.rows] * count,
        )
    found = [
        problem.loss.probability(np.asarray(seen @ solution.coef, dtype=float).ravel() + solution.intercept)
        for _, _, solution in solution_path(part, costs, solve)
    ]
    return np.clip(found, 0.5 / n, 1 - 0.5 / n)
