"""What stands between a user's numbers and a solver: offsets are taken out, hopeless scales refused, results checked.

*Offsets.* With an unpenalised intercept the score ``b + x'beta`` is ``b' + (x - m)'beta``, ``b' = b + m'beta``. Where
the means ``m`` are so large beside the spread of the columns that sums of squares lose their differences, the shifted
problem is solved and its intercept shifted back. The gap is that of the shifted problem plus what the objective differs
by at the point returned.

*Scales.* The certificate of a ridge problem is ``|ridge beta + Phi'g|^2 / (2 ridge)``; rounding leaves
``(eps w |x|)^2`` of it for a row of weight ``w``, beside an objective of about ``w``. So no solution can be certified
where ``w |x|^2`` exceeds about ``tol / eps^2``: such data are refused rather than fitted to noise.

*Results.* A point that is not finite is no solution; nor is one without a finite gap, or below the infimum.

*Sizes.* On the flat part of a concave penalty coefficients cost nothing, however large. Where terms of 1e12 cancel in a
score, ``r_i = eps sum_j |Phi_ij b_j|`` of it are rounding, and with it slopes and the conditions made of them: none of
these is certified more exactly than ``max_j sum_i |Phi_ij| w_i |phi'(u_i +- r_i) - phi'(u_i)|``, in units of the l1
cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solution import Solution

__all__ = [
    "HOPELESS",
    "Shift",
    "check_finite",
    "check_scale",
    "doubt_of_scores",
    "held_by_bounds",
    "likely_reason",
    "measured",
    "taken_as_start",
]

Array = NDArray[np.floating[Any]]

HOPELESS = 1e30  # weight of a row times its squared norm beyond which rounding exceeds any tolerance (see above)
_BELOW = 1e-3  # of the weights: by so much less than its infimum an objective is no rounding of a true one
_EPS = float(np.finfo(np.float64).eps)
_BLOCK = 1 << 20  # entries of the rows at a time, of which sizes are summed
_FEW = 16  # rows that show the scale of the data
_LARGEST_SQUARED = 1e150  # squares of similarities, and sums of them, stay below the largest double 1e308


@dataclass(frozen=True)
class Shift:
    """A problem on centred features, and the way back."""

    problem: Problem
    centred: Problem
    means: Array

    @classmethod
    def of(cls, problem: Problem) -> Shift | None:
        """The shifted problem, where offsets make one worth its copy of the data."""
        if not (problem.fit_intercept and problem.expansion.is_resident):
            return None
        found = problem.expansion.centered()
        return None if found is None else cls(problem, replace(problem, expansion=found[0]), found[1])

    def weighing(self, positive: float, negative: float) -> Shift:
        """The same with other weights on the rows of label +1 and -1."""
        problem, centred = (one.weighing(positive, negative) for one in (self.problem, self.centred))
        return Shift(problem, centred, self.means)

    def forth(self, solution: Solution | None) -> Solution | None:
        """A solution in terms of the centred features."""
        return None if solution is None else self._moved(solution, 1.0)

    def back(self, solution: Solution) -> Solution:
        """A solution in terms of the features given, with its objective and gap measured there."""
        return measured(self._moved(solution, -1.0), self.problem)

    def _moved(self, solution: Solution, sign: float) -> Solution:
        by = sign * float(self.means @ solution.coef)
        ends = solution.intercept_interval
        return replace(
            solution,
            intercept=solution.intercept + by,
            intercept_interval=None if ends is None else (ends[0] + by, ends[1] + by),
            base=None if solution.base is None else self._moved(solution.base, sign),
        )


def measured(solution: Solution, problem: Problem) -> Solution:
    """A solution found in other terms, with the objective it has in these; the gap grows by what they differ by.

    One of a penalty of one round (adaptive l1) has that of the elastic net its pilot made, which no problem remembers.
    """
    if not problem.penalty.convex and problem.penalty.rounds == 1:
        return solution
    objective = problem.objective(solution.coef, solution.intercept)
    if not np.isfinite(objective):  # beyond an infinite slope rounding alone costs infinitely much
        return solution
    scale = max(abs(objective), abs(solution.objective), np.finfo(np.float64).tiny)
    return replace(solution, objective=objective, gap=solution.gap + abs(objective - solution.objective) / scale)


def held_by_bounds(solution: Solution, problem: Problem, least: float = -np.inf) -> Solution:
    """A solution under a loss that forbids margins beyond its corner, or below ``least``, judged by its own margins.

    Multipliers may be so large that the coefficients, their sums, lose what the bounds hold. The objective is that of
    the margins put back to their bounds, and the gap at least what they are beyond them.
    """
    kink = problem.loss.kink
    if kink is None or np.isfinite(kink.right_slope) or not problem.expansion.is_resident:
        return solution
    margins = problem.margins(solution.coef, solution.intercept)
    inside = np.clip(margins, least, kink.at)
    beyond = float(np.abs(margins - inside)[problem.weights > 0].max(initial=0.0))
    penalty = problem.penalty.value(solution.coef, problem.expansion.quadratic(solution.coef))
    return replace(solution, objective=problem.cost(inside) + penalty, gap=max(solution.gap, beyond))


def doubt_of_scores(solution: Solution, problem: Problem) -> float:
    """How far the conditions of a stationary point are rounding (see above); 0 where sizes are held by their costs."""
    penalty, expansion, support = problem.penalty, problem.expansion, np.flatnonzero(solution.coef)
    if penalty.convex or penalty.rounds == 1 or penalty.ridge > 0 or not expansion.is_resident:
        return 0.0
    margins, sizes = problem.margins(solution.coef, solution.intercept), np.abs(solution.coef[support])
    n, total, step = len(margins), np.zeros(len(support)), max(1, _BLOCK // expansion.shape[1])
    for part in (slice(first, min(first + step, n)) for first in range(0, n, step)):
        terms, loss = abs(expansion.rows(part)[:, support]), problem.loss.of_rows(part)
        rounding, slope = _EPS * (terms @ sizes), loss.slope(margins[part])
        apart = [np.abs(loss.slope(margins[part] + sign * rounding) - slope) for sign in (-1, 1)]
        total += terms.T @ (problem.weights[part] * np.maximum(*apart))
    return float(total.max(initial=0.0)) / penalty.l1_ratio


def taken_as_start(start: Solution | None, problem: Problem) -> Solution | None:
    """What a solution of another problem is worth as a start: its point, its dual point, or nothing.

    A ridge solution is ``Phi'v / ridge`` for its dual point ``v``, so a start made with other columns of the same rows
    (redrawn landmarks) is carried over; a start of other rows and columns tells nothing.
    """
    if start is None or not (np.all(np.isfinite(start.coef)) and np.isfinite(start.intercept)):
        return None
    n, p = problem.expansion.shape
    dual = start.dual if start.dual is not None and np.shape(start.dual) == (n,) else None
    base = taken_as_start(start.base, problem)
    if np.shape(start.coef) == (p,):
        return replace(start, dual=dual, base=base)
    if dual is None or problem.expansion.is_kernel or not problem.penalty.ridge > 0:
        return None
    return replace(start, coef=problem.expansion.transpose(dual) / problem.penalty.ridge, dual=dual, base=base)


def check_scale(problem: Problem) -> None:
    """Refuse features so large that no solution could be certified, as a few of their rows show."""
    n = problem.expansion.shape[0]
    if not problem.expansion.is_resident:
        return
    # box QPs have a certificate that needs no ridge
    limit = np.finfo(np.float64).max if problem.loss.convex and not problem.loss.smooth else HOPELESS
    rows = np.linspace(0, n - 1, min(n, _FEW)).astype(np.intp)
    squares = size = 0.0
    if problem.expansion.is_kernel:
        size = float(np.mean(problem.expansion.diagonal()))
        squares = size if problem.loss.smooth else 0.0  # similarities are multiplied with one another
    else:
        size = float(problem.expansion.take(rows).squared_norms().sum()) / len(rows)
    weight = float(np.mean(problem.weights))
    if not (size * weight <= limit and squares <= _LARGEST_SQUARED):
        raise ValueError(
            f"The rows have length {np.sqrt(size):.3g} and C times sample_weight is {weight:.3g}: their products are "
            "beyond what double precision can resolve. Standardise the columns of X, or lower C or the weights."
        )


def check_finite(solution: Solution, problem: Problem) -> None:
    """Refuse a result that is not a number, or better than any can be, with the likely reason."""
    parts: tuple[tuple[str, Any], ...] = (
        ("coefficients", solution.coef),
        ("intercept", solution.intercept),
        ("objective", solution.objective),
        ("optimality gap", solution.gap),
    )
    broken = [name for name, value in parts if not np.isfinite(value).all()]
    if broken:
        raise ValueError(f"The fit ended with {' and '.join(broken)} that are not finite. {likely_reason(problem)}")
    if isinstance(problem, Problem) and problem.tilt is None and problem.expansion.is_resident:
        least = problem.constant + problem.floor
        if solution.objective < least - _BELOW * (abs(least) + float(problem.weights.sum())):
            raise ValueError(
                f"The fit ended with an objective of {solution.objective:.3g} where none is below {least:.3g}: its "
                f"scores are rounding. {likely_reason(problem)}"
            )


def likely_reason(problem: Problem) -> str:
    """What about the data may have broken a fit."""
    if not problem.expansion.is_resident:
        return "Standardise the columns, or lower C or the weights."
    with np.errstate(all="ignore"):
        weight = float(np.max(problem.weights))
        size = math.sqrt(float(np.max(problem.expansion.squared_norms(), initial=0.0)))
    what = "The kernel's columns reach" if problem.expansion.is_kernel else "The columns of X reach"
    return (
        f"{what} a length of {size:.3g} and C times sample_weight {weight:.3g} with {problem.loss!r}: standardise the "
        "columns of X (or scale the kernel), or lower C or the weights."
    )
