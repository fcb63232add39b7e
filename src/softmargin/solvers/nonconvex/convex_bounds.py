"""The convex problem that bounds a nonconvex one, what a loss must promise for it, and the fit that ignores the data.

A bound is an ordinary :class:`Problem` whose weights, tilts and constant come from ``loss.majorize``: its objective is
that of the nonconvex problem where it touches.

The promise is checked on a grid of margins before the first fit with a loss: the bound touches where it was made, lies
above everywhere, and gives a positive weight to rows it has no reason to distrust. A redescending loss whose weight is
not nonincreasing fails it, and its reweighting loop would indeed climb.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.problem import Problem
from softmargin.solution import Solution

__all__ = [
    "ConstantFit",
    "bound_at",
    "certain_margins",
    "check_majorizer",
    "constant_fit",
    "constant_solution",
    "is_degenerate",
    "is_same_bound",
]

Array = NDArray[np.floating[Any]]

_CERTAIN = 1e3  # a margin at which no loss has doubts
_GIVEN_UP = 1e-18  # trust, beside that of the best row, at which a row adds nothing that a double could show
_TIE = 1e-12  # of the costs of the two constant classifiers, by which rounding of weights may tell them apart
_FAR = 37.0  # a score at which logistic losses vanish beside 1 in double precision


def is_degenerate(bound: Problem) -> bool:
    """Whether all rows that count belong to one class, so that an intercept would run away."""
    if not bound.fit_intercept or bound.tilt is not None:
        return False
    counted = bound.y[bound.weights > 0]
    return len(counted) == 0 or bool(np.all(counted == counted[0]))


def is_same_bound(one: Problem, other: Problem) -> bool:
    """Whether two bounds of one problem are one."""
    if (one.tilt is None) != (other.tilt is None) or not np.array_equal(one.weights, other.weights):
        return False
    return one.tilt is None or np.array_equal(one.tilt, other.tilt)  # type: ignore[arg-type]


class ConstantFit(NamedTuple):
    """The best score that does not depend on x, at a margin that costs the majority nothing."""

    intercept: float
    objective: float


def certain_margins(problem: Problem) -> Array:
    """Margins at which every row is trusted: bounds made there are the loss's convex relative."""
    return np.full(len(problem.y), _CERTAIN)


def bound_at(problem: Problem, margins: Array) -> Problem:
    """The convex bound that touches the problem at the given margins."""
    made = problem.loss.majorize(margins)
    tilt: Array | None = problem.weights * made.tilt if np.any(made.tilt) else None
    if problem.tilt is not None:
        tilt = problem.tilt if tilt is None else tilt + problem.tilt
    constant = problem.constant + float(problem.weights @ made.constant)
    trust = np.where(made.weights > _GIVEN_UP * made.weights.max(), made.weights, made.weights.dtype.type(0))
    return replace(problem, loss=made.loss, weights=problem.weights * trust, tilt=tilt, constant=constant)


def constant_fit(problem: Problem) -> ConstantFit:
    """The cheaper of the two constant classifiers; losses without a flat end cost what they cost far out."""
    reach = 1.0 if all(part.slope(1.0) == 0 for part in problem.loss.parts) else _FAR
    costs = {score: _constant_cost(problem, score) for score in (-reach, reach)}
    intercept = min(costs, key=lambda score: costs[score])
    return ConstantFit(intercept, costs[intercept])


def constant_solution(problem: Problem, history: list[float], n_iter: int) -> Solution:
    """The constant classifier as what a loss that gives up a class ends at.

    Where neither class is the larger one, it is the score that prefers none: either end would favour a label's name.
    """
    constant = constant_fit(problem)
    if abs(_constant_cost(problem, -constant.intercept) - constant.objective) <= _TIE * abs(constant.objective):
        constant = ConstantFit(0.0, _constant_cost(problem, 0.0))
    coef, dual = np.zeros(problem.expansion.shape[1]), np.zeros(len(problem.y))
    return Solution(
        coef,
        constant.intercept,
        dual,
        constant.objective,
        0.0,
        n_iter,
        True,
        history=[*history, constant.objective],
        status="degenerate",
        margins=problem.margins(coef, constant.intercept),
    )


def _constant_cost(problem: Problem, score: float) -> float:
    if problem.offset is not None or problem.tilt is not None or problem.loss.parts != (problem.loss,):
        return problem.cost(problem.margins_of(np.zeros(len(problem.y)), score))
    upper = float(problem.weights @ (problem.y > 0))
    right, wrong = (float(problem.loss.value(side)) for side in (score, -score))
    return upper * right + (float(problem.weights.sum()) - upper) * wrong


@lru_cache(maxsize=256)
def check_majorizer(loss: Loss) -> None:
    """Refuse a loss whose majoriser does not keep its promise, with the margin at which it breaks it."""
    grid = np.concatenate([-np.geomspace(50, 0.1, 24), np.linspace(0, 1.5, 16), [2.0, 5.0, 20.0]])
    here, there = (part.ravel() for part in np.meshgrid(grid, grid, indexing="ij"))
    made = loss.majorize(here)
    truth, bound = np.asarray(loss.value(there)), made.value(there)
    slack = 1e-8 * (1 + np.abs(truth) + np.abs(made.tilt * there))
    if np.any(made.weights < 0) or not np.all(np.isfinite(bound)):
        raise ValueError(f"{loss!r}: majorize must return finite bounds with weights that are not negative.")
    touches = np.abs(made.value(here) - loss.value(here)) <= slack
    above = bound >= truth - slack
    if not (touches.all() and above.all()):
        worst = int(np.argmin(touches & above))
        what = "does not touch the loss" if not touches[worst] else f"lies below the loss at margin {there[worst]:.3g}"
        raise ValueError(
            f"{loss!r}: the majoriser made at margin {here[worst]:.3g} {what}, so rounds could raise the objective. "
            "A reweighting loss needs a weight that never increases with the residual."
        )
    if not np.all(loss.majorize(np.array([_CERTAIN])).weights > 0):
        raise ValueError(f"{loss!r}: the weight of a perfectly fitted row must be positive.")
