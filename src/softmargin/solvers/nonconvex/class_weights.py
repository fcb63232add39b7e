"""Capped losses under many class weights at once: one fit for each weight, the rows read for all of them together.

Each weight is a problem of its own, fitted from the convex relative of its loss downhill. Following the minimum from a
neighbouring weight would be cheaper still, and ends in worse minima: rows once given up do not come back (on madelon,
at twice the objective for the outer weights). What the weights share is the work
(:mod:`softmargin.solvers.nonconvex.batched_quasi_newton`) and the start: logistic scores move with the class weights
``(1 - pi, pi)`` by the shift ``log((1 - pi) / pi)`` of the intercept, up to what the model gets wrong, so one convex
fit starts all. Of many rows a sample is fitted first, as in :mod:`.growing_samples`.

The end is that of every capped fit: the rows retained are fixed, the convex loss of those is minimised until its
duality gap, and what it fell by since the rows were fixed, are below the tolerance; else a few more steps are taken and
the rows fixed again. A weight whose rounds do not get that far is left to the ordinary ones; one that gives up a whole
class is the constant classifier's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import fits
from softmargin.losses import Loss
from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.nonconvex.batched_kernel_fits import BatchedKernelFits
from softmargin.solvers.nonconvex.batched_quasi_newton import BatchedFits, Descent, Done, Inverses, dots
from softmargin.solvers.nonconvex.convex_bounds import constant_solution
from softmargin.solvers.ridge.newton import HARD, NEWTON, newton, newton_system
from softmargin.solvers.ridge.newton_systems import KernelSystem
from softmargin.solvers.ridge.subsampled_start import stratified_sample
from softmargin.solvers.thresholds import FEW_ROWS, prefers_factor, prefers_rows

__all__ = ["accepts_class_weights", "fit_class_weights"]

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Which = NDArray[np.intp]

# The smallest sample: with 30 rows a column instead of 100 the minima of spambase were 1% higher.
_FIRST, _ROWS_PER_COLUMN, _GROWTH = 2000, 100, 8
# gains at which the convex relative's fit has served its purpose; a diagonal promises less than there is to gain, and
# with 1e-3 minima of texts (news20) were 0.1 to 0.2% higher
_BASE, _BASE_WITHOUT_FACTOR = 1e-2, 1e-4
_ROUGH = 1e-3  # a sample's minimum is found to this fraction of its objective, which its error exceeds
_ANCHORS = 5  # weights whose Hessians guide the way; those that end it are each weight's own (adult: half the steps)
_ENOUGH = 100_000  # rows that make a Hessian; of fewer, rare columns are missed (adult: three times the steps)
_DEAR_COLUMNS = 200  # of which a Hessian costs as much as fifty steps: the anchors' serve all weights
_SAMPLE_STEPS, _FEW_STEPS, _BOUND_STEPS = 40, 10, 40
_PATIENCE = 5  # steps after which a weight's Hessian is made anew when the next is wanted (adult: 5.2 s, it was 7.1)
# rounds; where after the early ones most weights are not certified, one at a time is faster (200 columns, C = 275)
_ROUNDS, _EARLY = 20, 3
# the gain at which the steps of a round end, beside that of the round before; where it stays the same, a quarter of the
# weights of connect_4 is left over
_NEARER = 0.25
_SPARE = 0.3  # a bound is minimised to this fraction of the tolerance, which rows fixed elsewhere take the rest of
_CELLS = 1 << 22  # numbers of a matrix with a row for each weight: four such matrices take 128 megabytes
_HESSIANS = 1 << 24  # numbers of the inverses of all weights, twice: fewer weights at a time would each make their own


def accepts_class_weights(problem: Problem) -> bool:
    """Whether a capped loss on features with a ridge, and rows enough, is what the problem has."""
    loss, expansion = problem.loss, problem.expansion
    base = getattr(loss, "base", None)
    if base is None or not hasattr(loss, "retained") or loss.parts != (loss,) or not expansion.is_resident:
        return False
    if expansion.is_landmark or problem.tilt is not None or problem.offset is not None:
        return False
    if expansion.shape[0] <= FEW_ROWS or not base.smooth or not NEWTON.accepts(problem.with_loss(base)):
        return False
    return _is_tame(problem) if expansion.is_kernel else not prefers_rows(expansion)


def _is_tame(problem: Problem) -> bool:
    """Whether a kernel's factors find room in memory, and rounding of its scores hides nothing."""
    n, largest = len(problem.y), float(problem.weights.max(initial=0.0)) / problem.penalty.ridge
    return fits(_ANCHORS * 8 * n * n) and 2 * largest * float(problem.expansion.diagonal().mean()) <= HARD


def _is_factored(problem: Problem) -> bool:
    """Whether the Hessian of the features has a factor worth its price."""
    n, p = problem.expansion.shape
    return p <= n and prefers_factor(problem.expansion)


def _is_dear(problem: Problem) -> bool:
    """Whether a Hessian of one weight costs more than all the steps that it is good for."""
    return problem.expansion.is_kernel or (_is_factored(problem) and problem.expansion.shape[1] > _DEAR_COLUMNS)


def fit_class_weights(problem: Problem, factors: Array, tol: float) -> list[Solution | None]:
    """Minima for factors (2, weights) on the rows of label -1 and +1; None for a weight that is left over."""
    n, p = problem.expansion.shape
    order = np.argsort(factors[0] / factors[1])
    found: list[Solution | None] = [None] * len(order)
    inverted = _is_factored(problem) and not problem.expansion.is_kernel
    hessians = _HESSIANS // (p + 1) ** 2 if inverted else len(order)
    together = max(1, min(_CELLS // max(n, p), hessians))
    for first in range(0, len(order), together):
        some = order[first : first + together]
        for k, solution in zip(some, _Family(problem, factors[:, some], tol).fitted(), strict=True):
            found[k] = solution
    return found


class _Family:
    """The fits of some weights, in the order of their weights."""

    def __init__(self, problem: Problem, factors: Array, tol: float) -> None:
        self.problem, self.factors, self.tol = problem, factors, tol
        self.base = problem.loss.base  # type: ignore[attr-defined]
        self.factored = _is_factored(problem)
        self.system = newton_system(problem) if problem.expansion.is_kernel else None
        self.dear = _is_dear(problem)
        self.every = np.arange(factors.shape[1])
        self.found: list[Solution | None] = [None] * factors.shape[1]

    def fitted(self) -> list[Solution | None]:
        """From a sample of the rows, where there are many, to all."""
        n, p = self.problem.expansion.shape
        first = max(_FIRST, _ROWS_PER_COLUMN * p)
        levels = max(1, round(float(np.log(n / first) / np.log(_GROWTH)))) if n >= 2 * first else 0
        parts = [self._part(share) for share in np.geomspace(first / n, 1.0, levels + 1)[:-1]] if levels else []
        points: Array | None = None
        for part in [*parts, self.problem]:
            at = self._starts(part) if points is None else points
            fits = self._fits(part, at)
            if points is None:  # a sample's objective is that of all rows, nearly: as a unit of gains it serves for all
                self.scale = np.abs(fits.objectives(self.every))
                self._approach(fits, self.base, _BASE if self.factored else _BASE_WITHOUT_FACTOR)
                if len(fits.unfinished):
                    break  # steps by a diagonal are too many: features so alike need better ones
            if part is not self.problem:
                self._approach(fits, part.loss, _ROUGH)
            points = fits.points
        else:
            self._finish(fits)
        return self.found

    def _fits(self, part: Problem, at: Array) -> BatchedFits:
        if isinstance(self.system, KernelSystem):
            return BatchedKernelFits(part, self.factors, at, self.system)
        return BatchedFits(part, self.factors, at, self.factored)

    def _part(self, share: float) -> Problem:
        return self.problem.take(*stratified_sample(self.problem.y, float(share)))

    @staticmethod
    def _enough(part: Problem) -> tuple[Problem, Any]:
        """The rows that make Hessians, as a problem, and which they are."""
        if len(part.y) <= _ENOUGH:
            return part, slice(None)
        rows, times = stratified_sample(part.y, _ENOUGH / len(part.y))
        return part.take(rows, times), rows

    def _starts(self, part: Problem) -> Array:
        """The convex fit without class weights, its intercept shifted for each."""
        plain = part.with_loss(self.base)
        system = newton_system(plain) if self.system is None else self.system
        base = newton(plain, system, None, _BASE, _SAMPLE_STEPS, 0)
        points = np.tile(np.append(base.coef, base.intercept), (len(self.every), 1))
        if part.fit_intercept:
            points[:, -1] += np.log(self.factors[1] / self.factors[0])
        return points

    def _approach(self, fits: BatchedFits, loss: Loss, tol: float) -> None:
        """Down to where a step promises a gain of less than a fraction of the objective."""
        model = fits.inverses(loss, self.every, _ANCHORS, self._enough(fits.problem))
        fits.descend(Descent(loss, model), self.every, _promising(tol * self.scale), _SAMPLE_STEPS)

    def _finish(self, fits: BatchedFits) -> None:
        """Rounds of a few steps and a bound each, until the bound of every weight certifies it."""
        loss, rows = self.problem.loss, self._enough(self.problem)
        which = self._with_both_classes(fits, self.every)
        model = fits.inverses(loss, which, _ANCHORS, rows)
        # at which step the Hessian of each weight was made; these are rough, but good enough where others are dear
        made = fits.n_steps.copy() if self.dear else np.full(len(self.every), -_PATIENCE)

        def renewed(some: Which) -> Inverses:
            old = some[fits.n_steps[some] - made[some] >= _PATIENCE]
            made[old] = fits.n_steps[old]
            return model.renewed(old, fits.inverses(loss, old, _ANCHORS if self.dear else len(old), rows))

        nothing: Which = np.zeros(0, dtype=np.intp)
        for number in range(_ROUNDS):
            if len(which) == 0 or (number == _EARLY and 2 * len(which) > len(self.every)):
                break
            enough = _promising(self.tol * _NEARER ** (number + 1) * self.scale)
            fits.descend(Descent(loss, model.renewed(nothing, model)), which, enough, _FEW_STEPS)
            if number == 0 and len(fits.unfinished):
                fits.descend(Descent(loss, renewed(fits.unfinished)), fits.unfinished, enough, _FEW_STEPS)
            which = self._with_both_classes(fits, which)
            which = self._bounded(fits, renewed(which), which)

    def _with_both_classes(self, fits: BatchedFits, which: Which) -> Which:
        """The weights whose retained rows, fixed here, are of both classes; the others are constant."""
        both = fits.keep(which)
        for k in which[~both]:
            lower, upper = (float(factor) for factor in self.factors[:, k])
            self.found[k] = constant_solution(self.problem.weighing(upper, lower), [], int(fits.n_steps[k]))
        return which[both]

    def _bounded(self, fits: BatchedFits, model: Inverses, which: Which) -> Which:
        """Minimise the convex losses of the rows fixed; the weights that this does not certify."""
        mass = np.ones(len(self.every))
        mass[which] = np.maximum(fits.masses(which), np.finfo(np.float64).tiny)
        origin, pull = fits.points.copy(), np.zeros_like(fits.points)
        untouched = np.ones(len(self.every), dtype=bool)

        def is_small(k: Which, residual: Array, _: Array) -> Mask:
            new = untouched[k]
            pull[k[new]], untouched[k] = residual[new, : pull.shape[1]], False
            push = residual[:, pull.shape[1] - 1]
            gap = fits.squares(residual) / (2 * fits.ridge) + push**2 / (2 * mass[k])
            return gap <= _SPARE * self.tol * self.scale[k]

        residuals = fits.descend(Descent(self.base, model, fixed=True), which, is_small, _BOUND_STEPS)
        # the bound is convex: its fall from the origin is at most what the slope there promises
        falls = np.maximum(-dots(pull, fits.points - origin), 0.0)
        hopeful = which[falls[which] <= self.tol * self.scale[which]]
        values = zip(hopeful, fits.objectives(hopeful), fits.penalties(hopeful), strict=True)
        for k, objective, penalty in values:
            coef, intercept = fits.points[k, :-1].copy(), float(fits.points[k, -1])
            self.scale[k] = abs(float(objective))
            unit = max(abs(float(objective)), float(penalty))
            gap = (fits.gap(int(k), residuals[k]) + float(falls[k])) / unit
            if gap <= self.tol:
                value, steps = float(objective), int(fits.n_steps[k])
                self.found[k] = Solution(coef, intercept, None, value, gap, steps, True, history=[value])
        return np.array([k for k in which if self.found[k] is None], dtype=np.intp)


def _promising(least: Array) -> Done:
    """Steps are done where they promise no more than these gains."""
    return lambda which, _, gain: gain <= least[which]
