"""Leveraging: minimise the risk ``R(alpha) = sum_i c_i psi(z_i)``, ``z = y * (H alpha)``, over one feature or a block.

A leveraging step on the block ``T`` ends where the new weights ``w = -psi'(z)`` have no edge left on it,

    sum_i c_i y_i h_it w_i = 0  for all t in T,                                                              [LC]

which is the gradient of ``R`` on the block: boosting is block coordinate descent with exact block minimisation. One
feature is a safeguarded Newton search for the root of a decreasing function; a block is damped Newton. Both stop on
the residual of [LC], ``|sum c y h w| <= tol sum c |h| |w|``, never on a small step alone.

[LC] has no finite solution where some direction of the block only increases margins and the loss decreases for ever.
``smoothing`` adds two pseudo-examples of that weight per feature, one right and one wrong,
``R + smoothing sum_t (psi(a_t) + psi(-a_t))``: coercive, so a finite answer always exists; from zero it is Beta
smoothing of the rule's accuracy. Without it a separated block raises ``Separable`` for the caller to decide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from softmargin.expansions import Expansion, in_threads
from softmargin.losses import Exponential, Loss
from softmargin.solvers.linalg import backtrack, definite_cholesky

__all__ = [
    "Block",
    "BlockDerivatives",
    "Evaluation",
    "Leverage",
    "Separable",
    "SeparableWarning",
    "WeightedRisk",
    "correct",
    "leverage",
]

Array = NDArray[np.floating[Any]]

# Of the trace: duplicate and opposite rules make the Hessian singular, and this much keeps its Cholesky factor real.
_JITTER = 1e-12
# Of the largest gradient (Levenberg-Marquardt): where every row lies on a straight part of the loss the curvature is
# zero, and this keeps the step finite; near the optimum the gradient takes it away and Newton's order is kept.
_DAMPING = 1e-9
_FAR = 20.0  # a loss whose slope is still negative at this margin decreases for ever
# Rows from which a second thread is taken for evaluating a loss; to be measured by `python -m benchmarks rules`.
_THREADED = 20_000
# An old Hessian is kept while each of its steps leaves less than this share of the edge; slower contraction needs more
# passes than a new Hessian costs (to be measured by the corrective fits of `python -m benchmarks rules`).
_CONTRACTS = 0.2
_LARGEST_COEFFICIENT = 1e6  # beyond it the risk has no digits left to lose: the optimum is at infinity
_MAX_PASSES = 200
_MAX_NEWTON = 100


class SeparableWarning(UserWarning):
    """The rules separate the classes, so their coefficients had no finite optimum without smoothing."""


class Separable(ArithmeticError):
    """A direction of the block raises no margin's loss: the infimum is not attained."""


@dataclass
class Evaluation:
    """Margins with the loss and its derivatives there (not multiplied by case weights)."""

    margins: Array
    value: Array
    slope: Array
    curvature: Array

    @classmethod
    def at(cls, loss: Loss, margins: Array, n_threads: int = 1) -> Evaluation:
        """Evaluate ``loss`` at ``margins``."""
        if n_threads == 1 or len(margins) < _THREADED:
            return cls(margins, *loss.evaluate(margins))
        out = np.empty((3, len(margins)))

        def evaluate(part: slice) -> None:
            out[:, part] = loss.evaluate(margins[part])

        marks = np.linspace(0, len(margins), n_threads + 1).astype(int)
        in_threads(evaluate, [slice(a, b) for a, b in pairwise(marks)], n_threads)
        return cls(margins, *out)


@dataclass(frozen=True)
class WeightedRisk:
    """``sum_i c_i psi(y_i f_i)`` with labels ``y`` in {-1, +1} and case weights ``c``."""

    loss: Loss
    y: Array
    weights: Array
    n_threads: int = 1

    def at(self, margins: Array) -> Evaluation:
        """The loss at some margins."""
        return Evaluation.at(self.loss, margins, self.n_threads)

    def value(self, point: Evaluation) -> float:
        """``sum c psi(z)``."""
        return float(self.weights @ point.value)


@dataclass(frozen=True)
class Leverage:
    """The step along one feature, the relative residual of [LC] after it, and the point reached."""

    delta: float
    residual: float
    n_passes: int
    point: Evaluation


@dataclass(frozen=True)
class Block:
    """Coefficients of a block with the margins they give; of a solved one also the largest normalised edge left.

    ``hessian``, of the block or of all its columns but the last, serves a later solve nearby.
    """

    coef: Array
    point: Evaluation
    edge: float = math.inf
    n_iter: int = 0
    converged: bool = False
    hessian: Array | None = None


def leverage(
    risk: WeightedRisk, point: Evaluation, feature: Array, *, smoothing: float = 0.0, tol: float = 1e-10
) -> Leverage:
    """Solve [LC] for one feature given by its values on the training rows."""
    column = risk.y * feature
    if not np.any(column):
        return Leverage(0.0, 0.0, 0, point)
    if smoothing == 0 and _decreases_for_ever(risk.loss) and (column.min() >= 0 or column.max() <= 0):
        raise Separable("the feature has the same sign on every row")
    if isinstance(risk.loss, Exponential) and smoothing == 0 and np.all(np.abs(column) == 1):
        return _exponential(risk, point, column)
    start, low, high, delta = point.margins, -math.inf, math.inf, 0.0
    for passes in range(_MAX_PASSES + 1):  # noqa: B007
        force, bend, size = _forces(risk, point, column, delta, smoothing)
        low, high = (delta, high) if force > 0 else (low, delta)
        step = force / bend if bend > 0 else math.copysign(math.inf, force)
        if force == 0 or (abs(force) <= tol * size and abs(step) <= tol * max(1.0, abs(delta))):
            break
        delta = _next(delta, step, low, high)
        point = risk.at(start + delta * column)
    return Leverage(delta, abs(force) / size if size > 0 else 0.0, passes, point)


def correct(
    risk: WeightedRisk, columns: Expansion, start: Block, *, smoothing: Array | float = 0.0, tol: float = 1e-10
) -> Block:
    """Solve [LC] for a whole block by damped Newton from ``start``.

    Hessians are reused, in a block and between blocks, while the steps they give contract the edge.
    """
    coef: Array = start.coef.astype(np.float64)
    point = start.point
    block = BlockDerivatives(risk, columns, np.broadcast_to(np.asarray(smoothing, dtype=float), coef.shape))
    edge, last = math.inf, math.inf
    hessian = block.extend(start.hessian, point)
    for iteration in range(_MAX_NEWTON + 1):
        gradient, edge = block.gradient(point, coef)
        if edge <= tol or iteration == _MAX_NEWTON:
            break
        if edge > _CONTRACTS * last:
            hessian = columns.gram(risk.weights * point.curvature)
        last = edge
        moved = block.search(point, coef, block.direction(hessian, coef, gradient), gradient)
        if moved is None:  # rounding: nothing left to gain
            break
        coef, point = moved
        if block.separated(point):
            raise Separable("every margin is positive")
        if np.abs(coef).max() > _LARGEST_COEFFICIENT:
            raise Separable("coefficients grow without end")
    return Block(coef, point, edge, iteration, edge <= tol, hessian)


@dataclass
class BlockDerivatives:
    """Derivatives of the smoothed risk in the coefficients of a block."""

    risk: WeightedRisk
    columns: Expansion
    smoothing: Array

    def extend(self, hessian: Array | None, point: Evaluation) -> Array:
        """A Hessian of the whole block from one of all columns, or all but the last, or from nothing."""
        count, weights = self.columns.shape[1], self.risk.weights
        if hessian is None or len(hessian) < count - 1:
            return self.columns.gram(weights * point.curvature)
        if len(hessian) == count:
            return hessian
        unit = np.zeros(count)
        unit[-1] = 1.0
        column = self.columns.transpose(weights * point.curvature * self.columns.apply(unit))
        wider = np.empty((count, count), order="F")
        wider[:-1, :-1] = hessian
        wider[:, -1] = wider[-1, :] = column
        return wider

    def gradient(self, point: Evaluation, coef: Array) -> tuple[Array, float]:
        """The gradient and its largest entry relative to the weights of the examples: the largest edge."""
        force = self.risk.weights * point.slope
        gradient = self.columns.transpose(self.risk.y * force)
        size = float(np.abs(force).sum())
        if np.any(self.smoothing):
            right, wrong = self.risk.loss.slope(coef), self.risk.loss.slope(-coef)
            gradient = gradient + self.smoothing * (right - wrong)
            size += float((self.smoothing * np.abs(right - wrong)).max())
        return gradient, float(np.abs(gradient).max()) / size if size > 0 else 0.0

    def direction(self, hessian: Array, coef: Array, gradient: Array) -> Array:
        """The Newton step."""
        hessian = hessian.copy(order="F")
        diagonal = np.einsum("ii->i", hessian)
        if np.any(self.smoothing):
            loss = self.risk.loss
            diagonal += self.smoothing * (loss.curvature(coef) + loss.curvature(-coef))
        damping = _DAMPING * float(np.abs(gradient).max(initial=0.0))
        diagonal += max(_JITTER * float(diagonal.sum()), damping, np.finfo(float).tiny)
        solve = definite_cholesky(hessian)
        return -gradient / diagonal if solve is None else -solve(gradient)

    def objective(self, point: Evaluation, coef: Array) -> float:
        """The smoothed risk."""
        total = self.risk.value(point)
        if np.any(self.smoothing):
            total += float(self.smoothing @ (self.risk.loss.value(coef) + self.risk.loss.value(-coef)))
        return total

    def search(self, point: Evaluation, coef: Array, step: Array, gradient: Array) -> tuple[Array, Evaluation] | None:
        """Halve the step until the risk decreases enough (Armijo); rounding of the risk itself is forgiven."""
        slope = float(gradient @ step)
        now = self.objective(point, coef)
        rounding = 1e-13 * abs(now)
        move = self.risk.y * self.columns.apply(step)

        def at(length: float) -> tuple[float, tuple[Array, Evaluation]]:
            trial, there = coef + length * step, self.risk.at(point.margins + length * move)
            return self.objective(there, trial), (trial, there)

        found = backtrack(at, now, slope, noise=rounding)
        return None if found is None else found.there

    def separated(self, point: Evaluation) -> bool:
        """Whether the present coefficients already prove that the optimum is at infinity."""
        return not np.any(self.smoothing) and _decreases_for_ever(self.risk.loss) and bool(point.margins.min() > 0)


def _forces(
    risk: WeightedRisk, point: Evaluation, column: Array, delta: float, smoothing: float
) -> tuple[float, float, float]:
    """``(g, -g', size)`` of [LC] at the point: g decreases in delta and vanishes at the solution."""
    pull = risk.weights * column
    force, size = -float(pull @ point.slope), float(np.abs(pull) @ np.abs(point.slope))
    bend = float((pull * column) @ point.curvature)
    if smoothing:
        right, wrong = float(risk.loss.slope(delta)), float(risk.loss.slope(-delta))
        force -= smoothing * (right - wrong)
        bend += smoothing * (float(risk.loss.curvature(delta)) + float(risk.loss.curvature(-delta)))
        size += smoothing * (abs(right) + abs(wrong))
    return force, bend, size


def _next(delta: float, step: float, low: float, high: float) -> float:
    """Newton's step inside the bracket; limited growth while there is none, bisection when it leaves it."""
    if math.isinf(low) or math.isinf(high):
        limit = 4 * abs(delta) + 1
        return delta + min(max(step, -limit), limit)
    there = delta + step
    return there if low < there < high else (low + high) / 2


def _exponential(risk: WeightedRisk, point: Evaluation, column: Array) -> Leverage:
    """Half the log of the weight right over the weight wrong, by log-sum-exp: real AdaBoost."""
    rate = risk.loss.rate  # type: ignore[attr-defined]
    energy = np.log(risk.weights) - rate * point.margins
    right = column > 0
    delta = float(logsumexp(energy[right]) - logsumexp(energy[~right])) / (2 * rate)
    there = risk.at(point.margins + delta * column)
    force, _, size = _forces(risk, there, column, delta, 0.0)
    return Leverage(delta, abs(force) / size if size > 0 else 0.0, 1, there)


def _decreases_for_ever(loss: Loss) -> bool:
    return float(loss.slope(_FAR)) < 0
