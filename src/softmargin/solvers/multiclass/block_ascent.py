"""Simultaneous support vector machines: block coordinate ascent on the dual, certified by the duality gap.

``_compiled/multicategory.pyx`` states the common dual, ``dual_form`` what makes a machine of it. This module keeps
scores through primal weights (linear features, never n x n) or Gram rows (kernels), and decides when to stop: after
each call of the kernel all scores are computed afresh and the solver returns once

    gap = (P - D) / max(|P|, 1e-12 cost) <= tol.

A problem so small that precision costs nothing is carried on until blocks hardly move, and by interior steps where that
leaves a gap: repeated rows and weighted rows then give the same scores; where intercepts are not unique, ``intercepts``
chooses among them. Passes count by the blocks they visit, in units of all rows.

A free intercept makes ``sum_i beta_ij = 0`` a constraint for each class. Rows are centred, which it undoes, and it is
reached by the proximal point method: ``K + shift`` penalises only the distance of ``b`` from its last value,
``b <- b + shift * sum_i beta_i``; the gap then adds what the remaining imbalance could be worth,
``|sum_i beta_ij| (1 + |b_j|)``. The bounded machine's scores are made feasible, ``f / max(1, -min f)``, before its
primal value is taken.

Crammer and Singer's and Weston and Watkins' machines on dense features are first tried by Newton's method
(``multipliers``), which is not slowed down by features of different sizes; where coefficients are many, from a point
that some passes have come to.

Where costs are large and multipliers must cancel, passes gain little. If the Newton systems of the interior point
method are small, it takes over once passes have cost as much as it would, or would cost as much at their rate so far
(the bounded machine, whose multipliers have no bounds, starts with it). Its systems are as large as the rank of a Gram
matrix, which is looked for once passes have cost as much as that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from softmargin._compiled import multicategory as kernel  # type: ignore[attr-defined]
from softmargin._progress import is_heard, report
from softmargin.losses.multiclass import MulticategoryHinge
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.multiclass.design import Design
from softmargin.solvers.multiclass.dual_form import DualForm
from softmargin.solvers.multiclass.intercepts import canonical_intercept
from softmargin.solvers.multiclass.interior_point import HingeProgram, follow_central_path, step_work
from softmargin.solvers.multiclass.multipliers import RoundedMachine, method_of_multipliers
from softmargin.solvers.multiclass.newton import spectral_features

__all__ = ["solve_hinge"]

Array = NDArray[np.floating[Any]]

_PASSES_PER_CALL = 50
_FREE_WORK = 3e7  # operations that take some hundredths of a second
_SMALLEST_MOVE = 1e-13
_EXACT = 1e-11  # a relative gap that leaves scores no digits that matter
_FEW_ROWS = 5000  # a pass over fewer rows counts as one over so many
_LITTLE_GAIN = 0.9
_BALANCED = 1e-11  # of all costs
_WELL = 1e-3  # share of the cost by which a multiplier is well inside its bounds
_WEAKEST = 1000.0  # a proximal term weaker still makes the kernel of the passes ill conditioned
# Before interior steps may take over, by the rate of the passes and by their number; so many steps are as dear as they
# count (digits, iris, wine, Gaussian clouds by three machines at three costs: half the time of 100, 100 and 30).
_FEWEST_PASSES, _TRIAL_PASSES, _INTERIOR_STEPS = 50.0, 100.0, 12
# Multiplications per step that still take about a second (``python -m benchmarks thresholds`` times both ways).
_INTERIOR_WORK = 1e10
# Eigenvectors of an n x n matrix take the time of passes of so many n^3 multiplications (n = 300, 700 and 1500).
_SPECTRUM_WORK = 3.0
# Where the method of multipliers is tried first (the rows of several classes in ``python -m benchmarks real``): a pass
# costs so many multiplications, Newton's systems are at most so large, and the gap need not be smaller.
_WORTH_NEWTON, _MOST_COEFFICIENTS, _FINEST = 1e6, 4000, 1e-6
_MOST_STEPS = 200
_STRICTER = 0.95  # its own gap beside the one that is certified: the same point, with rounding and imbalance told apart
# Passes come first where so many of them cost less than so many Newton steps with all coefficients (optdigits, texture,
# mfeat_factors, soybean and usps take a half to a quarter of the time), and end at such a relative gap.
_FIRST_PASSES, _FIRST_STEPS = 12, 10
_NEAR_GAP, _DRAWS = 0.8, 10


class _Ascent:
    """One machine on one training set, with everything a warm start needs."""

    def __init__(self, problem: MulticlassProblem) -> None:
        assert isinstance(problem.loss, MulticategoryHinge)
        self.loss, self.k, self.free = problem.loss, problem.n_classes, problem.intercept == "free"
        self.design = Design.of(problem)
        self.machine = DualForm.of(problem.loss, self.k)
        self.codes = problem.codes.astype(np.int32)
        self.cost = np.ascontiguousarray(problem.weights, dtype=np.float64)
        self.shift = self._first_shift(problem.intercept)
        self.first_shift, self.imbalance, self.settled = self.shift, math.inf, False
        n = len(self.codes)
        self.b: Array = np.zeros((n, self.k))
        if problem.loss.method == "bounded":  # the smallest feasible b: own class at its cost
            self.b[np.arange(n), self.codes] = self.cost
        self.offset: Array = np.zeros(self.k)
        self.beta = self.linked()
        self.theta: Array = self.beta
        self.refresh()

    def _first_shift(self, intercept: str) -> float:
        """One if the intercept is penalised; the mean square of the rows starts the proximal point method."""
        if intercept != "free":
            return 1.0 if intercept == "penalized" else 0.0
        Z, K = self.design.Z, self.design.K
        if K is not None:
            mean_square = float(np.trace(K)) / len(K)
        else:
            mean_square = float((Z.data**2).sum() if sparse.issparse(Z) else np.einsum("ij,ij->", Z, Z)) / Z.shape[0]
        return mean_square if mean_square > 0 else 1.0

    def linked(self) -> Array:
        """``beta`` of the multipliers ``b``."""
        if self.machine.link == kernel.CENTER:
            return self.b - self.b.mean(axis=1, keepdims=True)
        beta = self.b.copy()
        if self.machine.link == kernel.OWN:
            rows = np.arange(len(beta))
            beta[rows, self.codes] = 0
            beta[rows, self.codes] = -beta.sum(axis=1)
        return beta

    def refresh(self) -> None:
        """All scores without intercept, and the sums of ``beta``, from scratch."""
        if not self.beta.any():  # the start: no product needed to know
            self.plain = np.zeros_like(self.beta)
            self.theta = self.beta if self.design.K is not None else np.zeros((self.design.Z.shape[1], self.k))
        elif self.design.K is not None:
            self.theta = self.beta
            self.plain = self.design.K @ self.beta
        else:
            self.theta = np.ascontiguousarray(self.design.Z.T @ self.beta)
            self.plain = np.asarray(self.design.Z @ self.theta)
        self.total = self.beta.sum(axis=0)

    @property
    def pass_work(self) -> float:
        """Multiplications of a pass over the rows."""
        n, m = self.design.shape
        return 3.0 * n * self.k * (m + 10)

    @cached_property
    def features(self) -> tuple[Array, Array | None]:
        """Dense features of the rows, and for kernels the basis that turns their coefficients into those of rows."""
        design = self.design
        if design.K is not None:
            return spectral_features(design.K)
        return design.Z.toarray() if sparse.issparse(design.Z) else design.Z, None

    def patience(self, n_features: int) -> float:
        """Passes after which the interior point method takes over, with so many features."""
        work = step_work(len(self.b), n_features, self.k, self.loss.method)
        return max(_FEWEST_PASSES, _INTERIOR_STEPS * work / self.pass_work) if work <= _INTERIOR_WORK else math.inf

    def adopt(self, b: Array, intercept: Array) -> None:
        """Take over multipliers, and intercepts that are free, from another method."""
        self.b = np.ascontiguousarray(b)
        self.beta = self.linked()
        if self.free:
            self.shift, self.offset = 0.0, np.array(intercept)
        self.refresh()

    @property
    def intercept(self) -> Array:
        return self.offset + self.shift * self.total

    def take_proximal_step(self) -> None:
        """Move the centre of the proximal term; weaken the term where the sums of ``beta`` hardly fell."""
        self.offset = self.intercept
        imbalance = float(np.abs(self.total).sum())
        if self.settled and imbalance > _LITTLE_GAIN * self.imbalance and self.shift < _WEAKEST * self.first_shift:
            self.shift *= 2
        self.imbalance = imbalance

    def run(self, tol: float, passes: int, seed: int) -> float:
        """Ascend until blocks move by less than ``tol``; scores are fresh afterwards. Returns the passes made."""
        if self.design.K is not None:
            store: Any = kernel.GramStore(
                self.design.K, np.ascontiguousarray(self.plain.T), self.total, self.offset, self.shift
            )
        else:
            make = kernel.SparseStore if sparse.issparse(self.design.Z) else kernel.DenseStore
            store = make(self.design.Z, self.theta, self.total, self.offset, self.shift)
        link, bounds, linear = self.machine
        rows = (self.cost, self.codes, self.b, self.beta)
        visited, self.settled = kernel.ascend(store, (link, *bounds, *linear), rows, tol, passes, seed)
        self.refresh()
        return float(visited) / len(self.b)

    def cost_at(self, G: Array) -> Callable[[Array], float]:
        """The sum of the losses as a function of the intercepts that are added to the scores ``G``."""
        return lambda b: float(self.cost @ self.loss.value(G + b, self.codes))

    def is_balanced(self) -> bool:
        """Whether the sums of ``beta`` are zero but for rounding: intercepts have settled."""
        return float(np.abs(self.total).max()) <= _BALANCED * float(self.cost.sum())

    def pins_intercepts(self) -> bool:
        """Whether multipliers well between their bounds, which keep rows at their corners, leave no other intercepts.

        Such a row fixes the score of a class (CENTER) or the differences of some (of its own class and others).
        """
        own_low, own_high, low, high = self.machine.bounds
        own = self.codes[:, None] == np.arange(self.k)
        share = self.b / self.cost[:, None]
        held = (share > np.where(own, own_low, low) + _WELL) & (share < np.where(own, own_high, high) - _WELL)
        if self.machine.link == kernel.CENTER:
            return int(np.count_nonzero(held.any(axis=0))) >= self.k - 1
        together = (held | own if self.machine.link == kernel.OWN else held).astype(np.float64)
        return bool(connected_components(together.T @ together, directed=False)[0] == 1)

    def measure(self) -> tuple[float, float]:
        """The primal value and the certified gap, both absolute."""
        F = self.plain + self.intercept
        norm = float(np.sum(self.plain * self.beta))
        square = 0.5 * norm + (0.0 if self.free else 0.5 * self.shift * float(self.total @ self.total))
        bounded = self.loss.method == "bounded"
        scale = max(1.0, float(-F.min())) if bounded else 1.0
        primal = square / scale**2 + float(self.cost @ self.loss.value(F / scale, self.codes))
        own, other = self.machine.linear
        own_b = float(self.b[np.arange(len(self.b)), self.codes].sum())
        dual = own * own_b + other * (float(self.b.sum()) - own_b) - square
        if bounded:
            dual += float(self.cost.sum())
        gap = primal - dual
        if self.free:
            gap = abs(gap) + float(np.abs(self.total) @ (1 + np.abs(self.intercept)))
        return primal, gap

    def relative(self, primal: float, gap: float) -> float:
        """The gap in units of the objective; that of the bounded machine, ``-f_y``, may vanish but for a constant."""
        unit = 1.0 if self.loss.method == "bounded" else 1e-12
        return gap / max(abs(primal), unit * float(self.cost.sum()))


def solve_hinge(
    problem: MulticlassProblem, start: Solution | None, tol: float, max_iter: int, seed: int = 0
) -> Solution:
    """Fit ``sum_i w_i loss(F_i, y_i) + 1/2 sum_j |f_j|^2`` with a multicategory hinge loss; starts are not used."""
    ascent = _Ascent(problem)
    suited, most = _suits_multipliers(ascent, tol), min(max_iter, _MOST_STEPS)
    if suited and ascent.pass_work >= _WORTH_NEWTON:
        near = _draws_near(ascent, seed)
        found = _by_multipliers(ascent, problem.intercept, tol, most, near)
        if found.converged:
            return found
        ascent.shift = ascent.first_shift
    (n, m), pass_work = ascent.design.shape, ascent.pass_work
    patience, budget = ascent.patience(m), max_iter * max(1.0, _FEW_ROWS / n)
    if ascent.loss.method == "bounded" and patience < math.inf:
        return _interior(ascent, problem.intercept, tol, max_iter)
    unknown_rank = ascent.design.K is not None
    move, used, history = 0.1, 0.0, []
    while True:
        used += ascent.run(move, _PASSES_PER_CALL, seed + int(used))
        primal, gap = ascent.measure()
        relative = ascent.relative(primal, gap)
        history.append(primal)
        if is_heard():
            report("block ascent", f"objective {primal:.12g}, duality gap {relative:.3g}, {used:.0f} passes")
        if relative <= tol and move <= _SMALLEST_MOVE and ascent.free:
            _choose_intercept(ascent)
            primal, gap = ascent.measure()
            relative = ascent.relative(primal, gap)
        at_rest = relative <= tol and move <= _SMALLEST_MOVE
        if (at_rest and relative <= _EXACT) or (relative <= tol and used * pass_work >= _FREE_WORK):
            break
        if unknown_rank and used * pass_work >= _SPECTRUM_WORK * n**3 and not relative <= tol:
            unknown_rank, patience = False, ascent.patience(ascent.features[0].shape[1])
        if (at_rest or used >= budget) and patience < math.inf:
            passed = _by_passes(ascent, tol, used, history)
            return min(_interior(ascent, problem.intercept, tol, max_iter), passed, key=lambda one: one.gap)
        if _is_slow(used, relative, tol, patience):
            found = _interior(ascent, problem.intercept, tol, max_iter)
            if found.converged or not suited:
                return found
            return min(found, _by_multipliers(ascent, problem.intercept, tol, most), key=lambda one: one.gap)
        if used >= budget:
            break
        if ascent.free:
            ascent.take_proximal_step()
        move = max(0.3 * move, _SMALLEST_MOVE)
    return _by_passes(ascent, tol, used, history)


def _by_passes(ascent: _Ascent, tol: float, used: float, history: list[float]) -> Solution:
    """The point that so many passes have come to."""
    primal, gap = ascent.measure()
    relative = ascent.relative(primal, gap)
    found = _solution(ascent, ascent.design.original(ascent.theta, ascent.intercept), primal, relative)
    return replace(found, n_iter=math.ceil(used), converged=relative <= tol, history=history)


def _is_slow(used: float, relative: float, tol: float, patience: float) -> bool:
    """Whether passes that brought the gap from 1 to ``relative`` cost more, or will, than ``patience`` passes."""
    if relative <= tol or used < _FEWEST_PASSES or patience == math.inf:
        return False
    return used >= max(patience, _TRIAL_PASSES) or used * math.log(relative / tol) > -patience * math.log(relative)


def _interior(ascent: _Ascent, intercept: str, tol: float, max_iter: int) -> Solution:
    """The machine by interior steps, certified like every other."""
    Z, basis = ascent.features
    program = HingeProgram.of(ascent.loss, ascent.codes, ascent.cost, ascent.k)
    found = follow_central_path(Z, program, intercept, max_iter)
    if intercept == "free":
        G = Z @ found.theta[1:]
        found.theta[0] = canonical_intercept(program, G, found.theta[0], ascent.cost_at(G))
    ascent.adopt(program.dual(found.multipliers), found.theta[0])
    solution = _better_primal(ascent, Z, found.theta, basis)
    return replace(solution, n_iter=found.n_iter, converged=solution.gap <= tol)


def _suits_multipliers(ascent: _Ascent, tol: float) -> bool:
    """Whether Newton steps on the rounded machine are cheap and as exact as is asked for."""
    if ascent.loss.method not in ("weston_watkins", "crammer_singer") or not isinstance(ascent.design.Z, np.ndarray):
        return False
    m = ascent.design.shape[1]
    return tol >= _FINEST and ascent.design.K is None and ascent.k * (m + 1) <= _MOST_COEFFICIENTS


def _draws_near(ascent: _Ascent, seed: int) -> bool:
    """Passes over the rows, where they cost less than Newton steps with many coefficients, until few rows matter."""
    coefficients = ascent.k * (ascent.design.shape[1] + 1)
    if _FIRST_PASSES * ascent.pass_work > _FIRST_STEPS * coefficients**3 / 3:
        return False
    move = 0.1
    for i in range(_DRAWS):
        ascent.run(move, _PASSES_PER_CALL, seed + i)
        if ascent.relative(*ascent.measure()) < _NEAR_GAP:
            break
        if ascent.free:
            ascent.take_proximal_step()
        move *= 0.3
    return True


def _by_multipliers(ascent: _Ascent, intercept: str, tol: float, max_iter: int, near: bool = False) -> Solution:
    """The machine by the method of multipliers, certified like every other; from the present point if it is near."""
    Z, link = ascent.design.Z, ascent.machine
    rows, ridge = Z, np.ones(Z.shape[1])
    if intercept != "none":
        rows, ridge = np.column_stack([np.ones(len(Z)), Z]), np.r_[float(intercept != "free"), ridge]
    form = (link.link, *link.bounds, *link.linear)
    machine = RoundedMachine(np.ascontiguousarray(rows), form, ascent.codes, ascent.cost, ridge, ascent.k)
    start = None
    if near:
        point = np.vstack([ascent.intercept, ascent.theta]) if intercept != "none" else ascent.theta
        start = np.ascontiguousarray(point.T), ascent.beta
    found = method_of_multipliers(machine, _STRICTER * tol, max_iter, start)
    theta = found.theta.T if intercept != "none" else np.vstack([np.zeros(ascent.k), found.theta.T])
    ascent.adopt(found.b, theta[0])
    solution = _better_primal(ascent, Z, theta, None)
    return replace(solution, n_iter=found.n_iter, converged=solution.gap <= tol)


def _better_primal(ascent: _Ascent, Z: Array, theta: Array, basis: Array | None) -> Solution:
    """The multipliers at hand with the better of their own weights and ``theta`` (intercepts first) as primal point.

    Weights recovered from large multipliers inherit their rounding.
    """
    primal, gap = ascent.measure()
    point = ascent.design.original(ascent.theta, ascent.intercept)
    F = Z @ theta[1:] + theta[0]
    if ascent.loss.method != "bounded" or F.min() >= -1 - 1e-9:
        square = float(np.sum(theta[1:] ** 2)) + (0.0 if ascent.free else float(theta[0] @ theta[0]))
        direct = 0.5 * square + float(ascent.cost @ ascent.loss.value(F, ascent.codes))
        if direct < primal:
            primal, gap = direct, gap + direct - primal
            point = ascent.design.original(theta[1:] if basis is None else basis @ theta[1:], theta[0])
    return _solution(ascent, point, primal, ascent.relative(primal, gap))


def _choose_intercept(ascent: _Ascent) -> None:
    """Move to the intercepts that every route to these scores chooses."""
    if ascent.is_balanced() and ascent.pins_intercepts():
        return
    program = HingeProgram.of(ascent.loss, ascent.codes, ascent.cost, ascent.k)
    chosen = canonical_intercept(program, ascent.plain, ascent.intercept, ascent.cost_at(ascent.plain))
    ascent.offset = chosen - ascent.shift * ascent.total


def _solution(ascent: _Ascent, point: tuple[Array, Array], primal: float, relative: float) -> Solution:
    """A point with its certificate; the caller adds how it was reached."""
    coef, b = point
    return Solution(coef, b, ascent.b, primal, abs(relative), 0, False, certificate="duality gap")
