"""Simultaneous support vector machines on few features: the method of multipliers with Newton steps.

The loss of a row is a maximum over its multipliers, ``max_b lin'b - F'beta`` (``_compiled/multicategory.pyx``). Around
the multipliers ``beta0`` at hand it is rounded,

    e(F) = max_b lin'b - F'beta - width/(2 cost) |beta - beta0|^2,

and ``1/2 sum_j |f_j|^2 + sum_i e_i(F_i)`` is minimised by Newton's method: its gradient is ``theta - Z'beta``, and only
rows with multipliers between their bounds have curvature (``_compiled/envelope.pyx``), so a step costs little more than
a product with the rows. Then ``beta0 <- beta`` and the rounding is narrowed, more where few steps were needed. Free
intercepts are coefficients without a ridge.

Certificate: with ``theta`` for the primal and ``beta`` for the dual point the duality gap is

    P - D = sum_i [loss_i - (lin'b_i - F_i'beta_i)] + 1/2 |theta - Z'beta|^2,

the rounding and what is left to minimise: Newton's method stops where the second is a share of the first. As for block
ascent, sums of ``beta`` that should vanish count ``1 + |intercept|`` each.

Where rows are many, a sample of them is fitted roughly first. Where coefficients are many but few rows bend, steps are
found in the space of these rows: the Hessian is the ridge and one square for each bent row and slope between classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin._compiled import envelope as kernel  # type: ignore[attr-defined]
from softmargin._progress import is_heard, report
from softmargin.solvers.linalg import add_to_diagonal

__all__ = ["Multipliers", "RoundedMachine", "method_of_multipliers"]

Array = NDArray[np.floating[Any]]

# Set on letter, pendigits, optdigits and segment (``python -m benchmarks real``): twice or half of each costs little.
_WIDTH = 3.0  # of the first rounding, in scores
_SPREAD = 2.0  # how much wider the guess of multipliers from the coefficients of a sample goes from bound to bound
_UNSOLVED = 0.3  # share of the gap that may be left to Newton's method when the rounding is narrowed
_SAMPLE, _ROWS_PER_COEFFICIENT = 8, 5  # every eighth row is worth fitting first if it has so many rows per coefficient
_ENOUGH = 10  # classes of bent rows per coefficient: from where a part of them tells the curvature well enough
_PASS = 100  # multiplications that take as long as all else done for a row and class in a step
_ROUGH = 0.05  # relative gap to which the sample is fitted
_SLOPE, _SHORTEST = 1e-4, 1e-8  # of the line search
_FLAT, _CLOSE = 0.3, 0.3  # of the first slope, at which a line search ends; of its length, left to search
_NEAR = 0.5  # width of the first rounding around multipliers that passes have found
_NARROWEST = 1e-10  # rounding beside which scores have no digits left
_BORDER = 1e-3  # curvature of free intercepts, relative to the largest, where no row gives them any


@dataclass(frozen=True)
class RoundedMachine:
    """The rows (n, m) with a column of ones for intercepts, what their multipliers may be, and the ridge (m,).

    ``form`` is the machine as the compiled loops want it, link first.
    """

    Z: Array
    form: tuple[Any, ...]
    codes: NDArray[np.int32]
    cost: Array
    ridge: Array
    n_classes: int

    def sample(self) -> RoundedMachine:
        """Every eighth row, drawn at random, with as much cost."""
        n = len(self.Z)
        rows = np.sort(np.random.default_rng(0).choice(n, n // _SAMPLE, replace=False))
        Z, codes = np.ascontiguousarray(self.Z[rows]), self.codes[rows]
        return replace(self, Z=Z, codes=codes, cost=self.cost[rows] * (n / len(rows)))

    def guess(self, F: Array, width: float) -> Array:
        """``beta`` of multipliers that go from one bound to the other where a cost has its corner, within a width."""
        rows = np.arange(len(F))
        b = np.clip((F[rows, self.codes][:, None] - F - 1) / width - 0.5, -1.0, 0.0)
        b[rows, self.codes] = 0
        total = -b.sum(axis=1)
        if self.form[0] == kernel.ZERO:
            b /= np.maximum(total, 1)[:, None]
            total = np.minimum(total, 1)
        b[rows, self.codes] = total
        return np.asarray(b * self.cost[:, None])


class Multipliers(NamedTuple):
    """Multipliers, coefficients (k, m), the width of the last rounding, Newton steps and the relative gap."""

    b: Array
    theta: Array
    width: float
    n_iter: int
    gap: float


class _Point(NamedTuple):
    """Coefficients with their scores, envelope, loss, what the multipliers gain, and the rows that bend."""

    theta: Array
    F: Array
    envelope: float
    loss: float
    gain: float
    bent: int
    square: float

    @property
    def value(self) -> float:
        return self.envelope + self.square


class _Rounding:
    """The rounded machine with all that changes: multipliers, their centre, the width and the bent rows.

    ``damping`` strengthens the ridge of the Newton equations after a step that had to be cut short; ``flat`` is the
    share of the slope at which a line search ends.
    """

    def __init__(self, machine: RoundedMachine, width: float) -> None:
        n, k = len(machine.Z), machine.n_classes
        self.machine, self.width = machine, width
        self.b: Array = np.zeros((n, k))
        self.beta: Array = np.zeros((n, k))
        self.centre: Array = np.zeros((n, k))
        self.damping = 0.0
        costly = (k * machine.Z.shape[1]) ** 3 / 3 > _PASS * n * k
        self.flat = _FLAT if costly else np.inf
        self.bent = (np.zeros(n, np.int32), np.zeros(n + 1, np.int64), np.zeros((n + 1) * k, np.int32))

    def at(self, theta: Array, F: Array) -> _Point:
        """The point; the multipliers become those of its rounding."""
        machine = self.machine
        rows = (machine.cost, machine.codes, self.centre, self.b, self.beta)
        envelope, loss, gain, bent = kernel.envelope(F, machine.form, rows, self.width, self.bent)
        return _Point(theta, F, envelope, loss, gain, bent, 0.5 * float(np.sum(machine.ridge * theta**2)))

    def gradient(self, point: _Point) -> Array:
        return self.machine.ridge * point.theta - self.beta.T @ self.machine.Z

    def narrow(self, factor: float) -> None:
        """Round less, around the multipliers at hand."""
        self.centre, self.width = self.beta.copy(), self.width / factor

    def newton_direction(self, gradient: Array, bent: int) -> Array:
        """The Newton step, by the coefficients or by the slopes between bent classes, whichever are fewer."""
        k, m = gradient.shape
        slopes = int(self.bent[1][bent]) - bent
        return self._by_slopes(gradient, bent) if slopes < k * m else self._by_coefficients(gradient, bent)

    def _by_coefficients(self, gradient: Array, bent: int) -> Array:
        """The Newton step; where classes may move together at no cost (free intercepts), they do not."""
        machine = self.machine
        k, m = gradient.shape
        H = np.zeros((k, m, k, m))
        kernel.hessian(machine.Z, machine.cost / self.width, self.bent, bent, self._stride(bent), H)
        A = H.reshape(k * m, k * m)
        add_to_diagonal(A, np.tile((1 + self.damping) * machine.ridge, k))
        for t in np.flatnonzero(machine.ridge == 0):
            scale = max(float(A[t::m, t::m].diagonal().max()), 1.0)
            A[t::m, t::m] += scale / k + np.eye(k) * max(_BORDER * scale, self.damping)
        factor = linalg.cho_factor(A.T, lower=False, overwrite_a=True, check_finite=False)
        step = linalg.cho_solve(factor, -gradient.ravel(), check_finite=False).reshape(k, m)
        return np.asarray(step - step.mean(axis=0))

    def _by_slopes(self, gradient: Array, bent: int) -> Array:
        """The same step by Woodbury's identity: the Hessian is the ridge and a square for each bent row and slope."""
        machine, k = self.machine, len(gradient)
        rows, of_row, B = self._slopes(bent, k)
        Z, ridge = machine.Z[rows], (1 + self.damping) * machine.ridge
        free = machine.ridge == 0
        if free.any():
            scale = max(float((B * B).sum(axis=0).max()), 1.0)
            ridge = np.where(free, max(_BORDER * scale, self.damping), ridge)
        A = ((Z / ridge) @ Z.T).take(of_row, axis=0).take(of_row, axis=1)
        A *= B @ B.T
        add_to_diagonal(A, 1)
        plain = gradient / ridge
        factor = linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        pull = linalg.cho_solve(factor, np.einsum("ij,ij->i", B, (Z @ plain.T)[of_row]), check_finite=False)
        step = ((B * pull[:, None]).T @ Z[of_row]) / ridge - plain
        return np.asarray(step - step.mean(axis=0))

    def _slopes(self, bent: int, k: int) -> tuple[NDArray[np.int32], NDArray[np.intp], Array]:
        """The bent rows, for each slope the place of its row among them, and the slopes, as combinations of classes.

        The projection ``I - 11'/|S|`` of a row is the sum of the squares of its ``|S| - 1`` slopes.
        """
        row, start, classes = self.bent
        rows, sizes = row[:bent], np.diff(start[: bent + 1])
        root = np.sqrt(self.machine.cost[rows] / self.width)
        of_row, parts = [], []
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            sets = classes[start[chosen][:, None] + np.arange(size)]
            part = np.zeros((len(chosen), size - 1, k))
            part[np.arange(len(chosen))[:, None, None], np.arange(size - 1)[None, :, None], sets[:, None, :]] = root[
                chosen, None, None
            ] * linalg.helmert(size)
            parts.append(part.reshape(-1, k))
            of_row.append(np.repeat(chosen, size - 1))
        return rows, np.concatenate(of_row), np.concatenate(parts)

    def step(self, point: _Point, gradient: Array) -> _Point | None:
        """The point after a damped Newton step; None if there is none in floating point."""
        try:
            direction = self.newton_direction(gradient, point.bent)
        except (linalg.LinAlgError, ValueError):
            return None
        return self._search(point, direction, gradient)

    def _stride(self, bent: int) -> int:
        """Every how many bent rows are asked for their curvature: it should not cost more than the rest of a step."""
        (n, m), k, classes = self.machine.Z.shape, self.machine.n_classes, float(self.bent[1][bent])
        work = classes**2 / max(bent, 1) * m**2 / 2
        rest = (k * m) ** 3 / 3 + _PASS * n * k
        return max(int(min(work / rest, classes / (_ENOUGH * k * m))), 1)

    def _search(self, point: _Point, direction: Array, gradient: Array) -> _Point | None:
        """A point along the direction that decreases the rounded objective enough; None if there is none.

        Where the system of the direction cost more than looks along it, one where it hardly falls any further.
        """
        moved = self.machine.Z @ direction.T
        slope, length = float(np.sum(gradient * direction)), 1.0
        noise, low, low_slope = 1e-12 * abs(point.value), 0.0, 0.0
        while length > _SHORTEST:
            here = self.at(point.theta + length * direction, point.F + length * moved)
            rise = here.value - point.value
            end = float(np.sum(self.machine.ridge * here.theta * direction)) - float(np.sum(self.beta * moved))
            falls = rise <= _SLOPE * length * slope + noise
            if falls and (end if length == 1 else abs(end)) <= self.flat * abs(slope):
                break
            if falls and end < 0:
                low, low_slope = length, end
            else:
                high, high_slope = length, end
            if falls and high - low < _CLOSE * high:
                break
            if low > 0:
                share = low_slope / (low_slope - high_slope) if high_slope > 0 else 0.5
                length = low + (high - low) * min(max(share, 0.1), 0.8)
            else:
                length *= _cubic_minimum(rise, length * slope, length * end)
        else:
            return None
        if length == 1 or length < 0.1:
            self.damping = self.damping / 10 if length == 1 else max(10 * self.damping, 1.0)
        return here


def _cubic_minimum(rise: float, slope: float, end: float) -> float:
    """Where in (0, 1) the cubic with these slopes at both ends, ``rise`` apart, is least."""
    bend = slope + end - 3 * rise
    root = bend * bend - slope * end
    if root < 0:
        return 0.5
    width = end - slope + 2 * np.sqrt(root)
    share = 1 - (end + np.sqrt(root) - bend) / width if width > 0 else 0.5
    return float(min(max(share, 0.02), 0.7))


def method_of_multipliers(
    machine: RoundedMachine, tol: float, max_iter: int, start: tuple[Array, Array] | None = None
) -> Multipliers:
    """Multipliers and coefficients whose relative duality gap is ``tol``, unless ``max_iter`` steps are not enough.

    ``start`` holds coefficients (k, m) and ``beta`` of multipliers near the solution.
    """
    k, m = machine.n_classes, machine.Z.shape[1]
    theta: Array = np.zeros((k, m)) if start is None else start[0]
    width, used = _WIDTH if start is None else _NEAR, 0
    if start is None and len(machine.Z) >= _SAMPLE * _ROWS_PER_COEFFICIENT * k * m:
        rough = method_of_multipliers(machine.sample(), max(tol, _ROUGH), max_iter)
        theta, width = rough.theta, rough.width
    rounding, F = _Rounding(machine, width), machine.Z @ theta.T
    if start is not None:
        rounding.centre = start[1].copy()
    elif theta.any():
        rounding.centre = machine.guess(F, _SPREAD * width)
    point = rounding.at(theta, F)
    stage, gap = 0, np.inf
    while True:
        gradient = rounding.gradient(point)
        primal = point.loss + point.square
        rounded = point.loss - point.gain
        unsolved = _unsolved(gradient, point.theta, machine.ridge)
        gap = (rounded + unsolved) / max(primal, 1e-300)
        if gap <= tol or used >= max_iter or rounding.width < _NARROWEST:
            break
        if unsolved <= _UNSOLVED * max(rounded, tol * primal):
            rounding.narrow(_narrowing(stage))
            point, stage = rounding.at(point.theta, point.F), 0
            continue
        following = rounding.step(point, gradient)
        if following is None:  # rounding errors hide any further decrease
            break
        point, stage, used = following, stage + 1, used + 1
        if is_heard():
            report("method of multipliers", f"objective {primal:.12g}, duality gap {gap:.3g}")
    return Multipliers(rounding.b, point.theta, rounding.width, used, float(gap))


def _unsolved(gradient: Array, theta: Array, ridge: Array) -> float:
    """What a point that is not stationary adds to the gap."""
    free = ridge == 0
    square = 0.5 * float(np.sum(gradient[:, ~free] ** 2 / ridge[~free]))
    return square + float(np.sum(np.abs(gradient[:, free]) * (1 + np.abs(theta[:, free]))))


def _narrowing(steps: int) -> float:
    """By how much to narrow a rounding that took so many Newton steps."""
    return 2.0 if steps <= 2 else 1.5 if steps <= 5 else 1.2
