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
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import logsumexp

from softmargin.expansions import in_threads
from softmargin.losses import Exponential, Loss

__all__ = [
    "Block",
    "Columns",
    "Derivatives",
    "Leverage",
    "Point",
    "Separable",
    "SeparableWarning",
    "correct",
    "leverage",
]

Array = NDArray[np.floating[Any]]

_JITTER = 1e-12  # of the trace: duplicate and opposite columns make the Hessian singular
_FAR = 20.0  # a loss still falling here falls for ever
_THREADED = 20_000  # rows from which a second thread pays
_CONTRACTS = 0.2  # an old Hessian is kept while each step leaves less than this share of the edge


class SeparableWarning(UserWarning):
    """The rules separate the classes, so their coefficients had no finite optimum without smoothing."""


class Separable(ArithmeticError):
    """A direction of the block raises no margin's loss: the infimum is not attained."""


class Columns(Protocol):
    """The features of a block over the training rows."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def apply(self, coef: Array) -> Array: ...

    def transpose(self, r: Array) -> Array: ...

    def gram(self, weights: Array) -> Array: ...


@dataclass
class Point:
    """Margins with the loss and its derivatives there (not multiplied by case weights)."""

    margins: Array
    value: Array
    slope: Array
    curvature: Array

    @classmethod
    def at(cls, loss: Loss, margins: Array, n_threads: int = 1) -> Point:
        """Evaluate ``loss`` at ``margins``."""
        if n_threads == 1 or len(margins) < _THREADED:
            return cls(margins, *loss.evaluate(margins))
        out = np.empty((3, len(margins)))

        def evaluate(part: slice) -> None:
            out[:, part] = loss.evaluate(margins[part])

        marks = np.linspace(0, len(margins), n_threads + 1).astype(int)
        in_threads(evaluate, [slice(a, b) for a, b in pairwise(marks)], n_threads)
        return cls(margins, *out)

    def risk(self, weights: Array) -> float:
        """``sum c psi(z)``."""
        return float(weights @ self.value)


@dataclass(frozen=True)
class Leverage:
    """The step along one feature, the relative residual of [LC] after it, and the point reached."""

    delta: float
    residual: float
    n_passes: int
    point: Point


@dataclass(frozen=True)
class Block:
    """Coefficients of a block, the largest normalised edge left on it, and the point reached."""

    coef: Array
    edge: float
    n_iter: int
    converged: bool
    point: Point
    hessian: Array


def leverage(
    loss: Loss,
    point: Point,
    column: Array,
    weights: Array,
    *,
    smoothing: float = 0.0,
    tol: float = 1e-10,
    max_passes: int = 200,
) -> Leverage:
    """Solve [LC] for one feature; ``column`` is ``y * h`` on the training rows."""
    if not np.any(column):
        return Leverage(0.0, 0.0, 0, point)
    if smoothing == 0 and _falls_for_ever(loss) and (column.min() >= 0 or column.max() <= 0):
        raise Separable("the feature has the same sign on every row")
    if isinstance(loss, Exponential) and smoothing == 0 and np.all(np.abs(column) == 1):
        return _exponential(loss, point, column, weights)
    start, low, high, delta = point.margins, -math.inf, math.inf, 0.0
    for passes in range(max_passes + 1):  # noqa: B007
        force, bend, size = _forces(loss, point, column, weights, delta, smoothing)
        low, high = (delta, high) if force > 0 else (low, delta)
        step = force / bend if bend > 0 else math.copysign(math.inf, force)
        if force == 0 or (abs(force) <= tol * size and abs(step) <= tol * max(1.0, abs(delta))):
            break
        delta = _next(delta, step, low, high)
        point = Point.at(loss, start + delta * column)
    return Leverage(delta, abs(force) / size if size > 0 else 0.0, passes, point)


def correct(
    loss: Loss,
    columns: Columns,
    y: Array,
    weights: Array,
    point: Point,
    coef: Array,
    *,
    smoothing: Array | float = 0.0,
    tol: float = 1e-10,
    max_iter: int = 100,
    hessian: Array | None = None,
    n_threads: int = 1,
) -> Block:
    """Solve [LC] for a whole block by damped Newton from ``coef``, whose margins are those of ``point``.

    ``hessian``, of this block or of all its columns but the last, comes from an earlier solve nearby. Hessians are
    reused, in a block and between blocks, while the steps they give contract the edge.
    """
    smoothing = np.broadcast_to(np.asarray(smoothing, dtype=float), coef.shape)
    block = Derivatives(loss, columns, y, weights, smoothing, n_threads)
    coef, edge, last = coef.astype(np.float64), math.inf, math.inf
    hessian = block.extend(hessian, point)
    for iteration in range(max_iter + 1):
        gradient, edge = block.gradient(point, coef)
        if edge <= tol or iteration == max_iter:
            break
        if edge > _CONTRACTS * last:
            hessian = columns.gram(weights * point.curvature)
        last = edge
        step = block.direction(hessian, coef, gradient)
        moved = block.search(point, coef, step, gradient)
        if moved is None:  # rounding: nothing left to gain
            break
        coef, point = moved
        if block.separated(point):
            raise Separable("every margin is positive")
        if np.abs(coef).max() > 1e6:
            raise Separable("coefficients grow without end")
    return Block(coef, edge, iteration, edge <= tol, point, hessian)


@dataclass
class Derivatives:
    """Derivatives of the smoothed risk in the coefficients of a block."""

    loss: Loss
    columns: Columns
    y: Array
    weights: Array
    smoothing: Array
    n_threads: int

    def extend(self, hessian: Array | None, point: Point) -> Array:
        """A Hessian of the whole block from one of all columns, or all but the last, or from nothing."""
        count = self.columns.shape[1]
        if hessian is None or len(hessian) < count - 1:
            return self.columns.gram(self.weights * point.curvature)
        if len(hessian) == count:
            return hessian
        unit = np.zeros(count)
        unit[-1] = 1.0
        column = self.columns.transpose(self.weights * point.curvature * self.columns.apply(unit))
        wider = np.empty((count, count), order="F")
        wider[:-1, :-1] = hessian
        wider[:, -1] = wider[-1, :] = column
        return wider

    def gradient(self, point: Point, coef: Array) -> tuple[Array, float]:
        """The gradient and its largest entry relative to the weights of the examples: the largest edge."""
        force = self.weights * point.slope
        gradient = self.columns.transpose(self.y * force)
        size = float(np.abs(force).sum())
        if np.any(self.smoothing):
            right, wrong = self.loss.slope(coef), self.loss.slope(-coef)
            gradient = gradient + self.smoothing * (right - wrong)
            size += float((self.smoothing * np.abs(right - wrong)).max())
        return gradient, float(np.abs(gradient).max()) / size if size > 0 else 0.0

    def direction(self, hessian: Array, coef: Array, gradient: Array) -> Array:
        """The Newton step."""
        hessian = hessian.copy(order="F")
        diagonal = np.einsum("ii->i", hessian)
        if np.any(self.smoothing):
            diagonal += self.smoothing * (self.loss.curvature(coef) + self.loss.curvature(-coef))
        diagonal += max(_JITTER * float(diagonal.sum()), np.finfo(float).tiny)
        try:
            return -cho_solve(cho_factor(hessian, check_finite=False), gradient, check_finite=False)
        except np.linalg.LinAlgError:
            return -gradient / diagonal

    def objective(self, point: Point, coef: Array) -> float:
        risk = point.risk(self.weights)
        if np.any(self.smoothing):
            risk += float(self.smoothing @ (self.loss.value(coef) + self.loss.value(-coef)))
        return risk

    def search(self, point: Point, coef: Array, step: Array, gradient: Array) -> tuple[Array, Point] | None:
        """Halve the step until the risk decreases enough (Armijo); rounding of the risk itself is forgiven."""
        slope = float(gradient @ step)
        now = self.objective(point, coef)
        rounding = 1e-13 * abs(now)
        move = self.y * self.columns.apply(step)
        length = 1.0
        for _ in range(50):
            trial, there = coef + length * step, Point.at(self.loss, point.margins + length * move, self.n_threads)
            if self.objective(there, trial) <= now + 1e-4 * length * slope + rounding:
                return trial, there
            length /= 2
        return None

    def separated(self, point: Point) -> bool:
        """Whether the present coefficients already prove that the optimum is at infinity."""
        return not np.any(self.smoothing) and _falls_for_ever(self.loss) and bool(point.margins.min() > 0)


def _forces(
    loss: Loss, point: Point, column: Array, weights: Array, delta: float, smoothing: float
) -> tuple[float, float, float]:
    """``(g, -g', size)`` of [LC] at the point: g decreases in delta and vanishes at the solution."""
    pull = weights * column
    force, size = -float(pull @ point.slope), float(np.abs(pull) @ np.abs(point.slope))
    bend = float((pull * column) @ point.curvature)
    if smoothing:
        right, wrong = float(loss.slope(delta)), float(loss.slope(-delta))
        force -= smoothing * (right - wrong)
        bend += smoothing * (float(loss.curvature(delta)) + float(loss.curvature(-delta)))
        size += smoothing * (abs(right) + abs(wrong))
    return force, bend, size


def _next(delta: float, step: float, low: float, high: float) -> float:
    """Newton's step inside the bracket; limited growth while there is none, bisection when it leaves it."""
    if math.isinf(low) or math.isinf(high):
        limit = 4 * abs(delta) + 1
        return delta + min(max(step, -limit), limit)
    there = delta + step
    return there if low < there < high else (low + high) / 2


def _exponential(loss: Exponential, point: Point, column: Array, weights: Array) -> Leverage:
    """Half the log of the weight right over the weight wrong, by log-sum-exp: real AdaBoost."""
    energy = np.log(weights) - loss.rate * point.margins
    right = column > 0
    delta = float(logsumexp(energy[right]) - logsumexp(energy[~right])) / (2 * loss.rate)
    there = Point.at(loss, point.margins + delta * column)
    force, _, size = _forces(loss, there, column, weights, delta, 0.0)
    return Leverage(delta, abs(force) / size if size > 0 else 0.0, 1, there)


def _falls_for_ever(loss: Loss) -> bool:
    return float(loss.slope(_FAR)) < 0
