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
from abc import ABC, abstractmethod
from collections.abc import Callable
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
    "LARGEST_COEFFICIENT",
    "MAX_NEWTON",
    "ROUNDING",
    "Block",
    "BlockDerivatives",
    "Evaluation",
    "Leverage",
    "Separable",
    "SeparableWarning",
    "SmoothedBlock",
    "WeightedRisk",
    "both_ways",
    "correct",
    "damping",
    "is_worn",
    "leverage",
    "newton",
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
# passes than a new Hessian costs (to be measured by the corrective fits of `python -m benchmarks rules`). Of so few
# columns in memory a Hessian costs less than two passes, of 1000 rows or 20 000, and saves them where two are left.
_CONTRACTS, _FEW = 0.2, 16
LARGEST_COEFFICIENT = 1e6  # beyond it the risk has no digits left to lose: the optimum is at infinity
ROUNDING = 1e-13  # of the risk: below, sums over the rows do not tell two points apart
_MAX_PASSES = 200
MAX_NEWTON = 100


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
    """Coefficients of a block with the margins they give; of a solved one also the largest normalised edge left."""

    coef: Array
    point: Any
    edge: float = math.inf
    n_iter: int = 0
    converged: bool = False


def both_ways(function: Callable[[Array], Array], coef: Array) -> Array:
    """A function of the margins of the pseudo-examples, right and wrong: at ``coef`` and at ``-coef``, in one call."""
    return function(np.concatenate((coef, -coef)).reshape(2, *coef.shape))


def is_worn(edge: float, last: float, tol: float) -> bool:
    """Whether an old Hessian of few columns has to go: no single step more like its last ends the search."""
    return edge > _CONTRACTS * last or edge * edge > tol * last


def damping(diagonal: Array, gradient: Array) -> Any:
    """What keeps the factor of a Hessian real and its step finite, from its diagonal and the gradient (last axis)."""
    largest = np.abs(gradient).max(axis=-1, initial=0.0)
    return np.maximum(np.maximum(_JITTER * diagonal.sum(axis=-1), _DAMPING * largest), np.finfo(float).tiny)


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
    """Solve [LC] for a whole block of rows in memory from ``start``."""
    smoothing = np.broadcast_to(np.asarray(smoothing, dtype=float), start.coef.shape)
    return newton(BlockDerivatives(risk.loss, smoothing, risk, columns), start, tol)


def newton(block: SmoothedBlock, start: Block, tol: float) -> Block:
    """Damped Newton until the largest edge on the block is ``tol``; a dear Hessian serves while its steps contract."""
    coef: Array = start.coef.astype(np.float64)
    point = start.point
    edge, last = math.inf, math.inf
    hessian = block.first_hessian(point)
    for iteration in range(MAX_NEWTON + 1):
        gradient, edge = block.gradient(point, coef)
        if edge <= tol or iteration == MAX_NEWTON:
            break
        if iteration and block.is_stale(edge, last, tol):
            hessian = block.hessian(point)
        last = edge
        moved = block.search(point, coef, block.direction(hessian, coef, gradient), gradient)
        if moved is None:  # rounding: nothing left to gain
            break
        coef, point = moved
        if block.separated(point):
            raise Separable("every margin is positive")
        if np.abs(coef).max() > LARGEST_COEFFICIENT:
            raise Separable("coefficients grow without end")
    return Block(coef, point, edge, iteration, edge <= tol)


@dataclass
class SmoothedBlock(ABC):
    """Derivatives of the smoothed risk in the coefficients of a block, wherever its rows are.

    A point is whatever is known of the rows at some coefficients.
    """

    loss: Loss
    smoothing: Array

    def __post_init__(self) -> None:
        self.smoothed = bool(np.any(self.smoothing))
        self._seen: tuple[Array, tuple[Array, Array, Array]] | None = None

    def is_stale(self, edge: float, last: float, tol: float) -> bool:
        """Whether a new Hessian is cheaper than the steps from this one, whose last left ``edge`` of ``last``."""
        return edge > _CONTRACTS * last

    def first_hessian(self, point: Any) -> Array:
        """The Hessian to begin with; one that is nearly right will do."""
        return self.hessian(point)

    @abstractmethod
    def hessian(self, point: Any) -> Array:
        """The Hessian of the risk, without smoothing."""

    @abstractmethod
    def pull(self, point: Any) -> tuple[Array, float]:
        """The gradient of the risk, without smoothing, and the total weight of the examples."""

    @abstractmethod
    def search(self, point: Any, coef: Array, step: Array, gradient: Array) -> tuple[Array, Any] | None:
        """The coefficients and the point after the step, or after a part of it that decreases the risk enough."""

    @abstractmethod
    def lowest_margin(self, point: Any) -> float:
        """The smallest margin of all examples."""

    def gradient(self, point: Any, coef: Array) -> tuple[Array, float]:
        """The gradient and its largest entry relative to the weights of the examples: the largest edge."""
        gradient, size = self.pull(point)
        if self.smoothed:
            right, wrong = self._pseudo(coef)[1]
            gradient = gradient + self.smoothing * (right - wrong)
            size += float((self.smoothing * np.abs(right - wrong)).max())
        return gradient, float(np.abs(gradient).max()) / size if size > 0 else 0.0

    def direction(self, hessian: Array, coef: Array, gradient: Array) -> Array:
        """The Newton step."""
        hessian = hessian.copy(order="F")
        diagonal = np.einsum("ii->i", hessian)
        if self.smoothed:
            right, wrong = self._pseudo(coef)[2]
            diagonal += self.smoothing * (right + wrong)
        diagonal += damping(diagonal, gradient)
        solve = definite_cholesky(hessian)
        return -gradient / diagonal if solve is None else -solve(gradient)

    def pseudo_cost(self, coef: Array) -> float:
        """What smoothing adds to the risk."""
        if not self.smoothed:
            return 0.0
        right, wrong = self._pseudo(coef)[0]
        return float(self.smoothing @ (right + wrong))

    def _pseudo(self, coef: Array) -> tuple[Array, Array, Array]:
        """The loss of the pseudo-examples, right and wrong, and its derivatives; kept, for a step asks four times."""
        if self._seen is None or self._seen[0] is not coef:
            value, slope, curvature = self.loss.evaluate(np.concatenate((coef, -coef)))
            shape = (2, len(coef))
            self._seen = coef, (value.reshape(shape), slope.reshape(shape), curvature.reshape(shape))
        return self._seen[1]

    def separated(self, point: Any) -> bool:
        """Whether the present coefficients already prove that the optimum is at infinity."""
        return not self.smoothed and _decreases_for_ever(self.loss) and self.lowest_margin(point) > 0


@dataclass
class BlockDerivatives(SmoothedBlock):
    """A block over rows in memory; a point is an ``Evaluation``."""

    risk: WeightedRisk
    columns: Expansion

    def is_stale(self, edge: float, last: float, tol: float) -> bool:
        return is_worn(edge, last, tol) if self.columns.shape[1] <= _FEW else super().is_stale(edge, last, tol)

    def hessian(self, point: Evaluation) -> Array:
        return self.columns.gram(self.risk.weights * point.curvature)

    def pull(self, point: Evaluation) -> tuple[Array, float]:
        force = self.risk.weights * point.slope
        return self.columns.transpose(self.risk.y * force), float(np.abs(force).sum())

    def search(self, point: Evaluation, coef: Array, step: Array, gradient: Array) -> tuple[Array, Evaluation] | None:
        """Halve the step until the risk decreases enough (Armijo); rounding of the risk itself is forgiven."""
        slope = float(gradient @ step)
        now = self.risk.value(point) + self.pseudo_cost(coef)
        move = self.risk.y * self.columns.apply(step)

        def at(length: float) -> tuple[float, tuple[Array, Evaluation]]:
            trial, there = coef + length * step, self.risk.at(point.margins + length * move)
            return self.risk.value(there) + self.pseudo_cost(trial), (trial, there)

        found = backtrack(at, now, slope, noise=ROUNDING * abs(now))
        return None if found is None else found.there

    def lowest_margin(self, point: Evaluation) -> float:
        return float(point.margins.min())


def _forces(
    risk: WeightedRisk, point: Evaluation, column: Array, delta: float, smoothing: float
) -> tuple[float, float, float]:
    """``(g, -g', size)`` of [LC] at the point: g decreases in delta and vanishes at the solution."""
    pull = risk.weights * column
    force, size = -float(pull @ point.slope), float(np.abs(pull) @ np.abs(point.slope))
    bend = float((pull * column) @ point.curvature)
    if smoothing:
        _, (right, wrong), bends = risk.loss.evaluate(np.array([delta, -delta]))
        force -= smoothing * float(right - wrong)
        bend += smoothing * float(bends.sum())
        size += smoothing * float(abs(right) + abs(wrong))
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
