"""Many fits on the same rows at once: one problem under several class weights, each with a point of its own.

Directions, margins and gradients of all weights are rows of one matrix, so a product with the data is one of matrices.
Lines are searched on margins, by slopes, which cost a fifth of what values cost. Steps are quasi-Newton ones: inverse
Hessians of the majoriser, corrected by what the steps so far have shown (see :class:`.Secant`, whose recursion this is
for many at once). Curvatures move smoothly with the weight, so where a rough inverse will do it is made at a few
weights, the *anchors*, and interpolated between.

What is said here of coefficients is true of features; kernels say their part in
:mod:`softmargin.solvers.nonconvex.batched_kernel_fits`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.problem import Problem
from softmargin.solvers.linalg import shifted_cholesky
from softmargin.solvers.ridge.subsampled_start import balance, spread_rows

__all__ = ["BatchedFits", "Descent", "Done", "Inverses", "anchors_of", "between", "dots"]

Array = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]
Which = NDArray[np.intp]
# (weights, their residuals, what each step promises to gain) -> those that need no further step
Done = Callable[[Which, Array, Array], Mask]

# a line search ends where the slope is this fraction of its first value; a smaller one asks for a fifth more looks at
# the rows and saves no steps (phoneme, magic, spambase, letter, krkopt)
_FLAT = 0.6
_FURTHEST, _LOOKS = 16.0, 6
_LEAST_CURVATURE = 1e-10  # a correction needs this much curvature along its step, as a cosine
_MEMORY = 8  # corrections kept; the loops over older ones take longer than the steps they save (phoneme)
_BLOCK = 1 << 14  # margins whose temporaries stay in cache
_NO_MASS = 1e-8  # curvature of the intercept, beside the weight of the rows, below which it counts as this much


def dots(a: Array, b: Array) -> Array:
    """The inner products of the rows of two matrices."""
    return np.einsum("ij,ij->i", a, b)


class Inverses:
    """An inverse Hessian for each weight, or its diagonal, and the corrections that their steps have taught.

    Residuals may be wider than steps: their first columns are the derivatives, and only the Hessian wants the others.
    """

    def __init__(self, inverse: Array) -> None:
        self.inverse = inverse
        self._pairs = list[tuple[Array, Array, Array]]()

    def learn(self, which: Which, s: Array, y: Array) -> None:
        """Take note of steps ``s`` of some weights and the changes ``y`` of their residuals."""
        change, n = y[:, : s.shape[1]], len(self.inverse)
        curvature = dots(s, change)
        bent = curvature > _LEAST_CURVATURE * np.sqrt(dots(s, s) * dots(change, change))
        steps, changes, rho = np.zeros((n, s.shape[1])), np.zeros((n, y.shape[1])), np.zeros(n)
        rho[which[bent]] = 1 / curvature[bent]
        steps[which], changes[which] = s, y
        self._pairs = [*self._pairs[1 - _MEMORY :], (steps, changes, rho)]

    def forget(self, which: Which) -> None:
        """Back to the Hessians as they were made."""
        for _, _, rho in self._pairs:
            rho[which] = 0.0

    def __call__(self, which: Which, residual: Array) -> Array:
        """The corrected inverses of some weights times their residuals."""
        rest, lengths = residual, list[Array]()
        for s, y, rho in reversed(self._pairs):
            lengths.append(rho[which] * dots(s[which], rest[:, : s.shape[1]]))
            rest = rest - lengths[-1][:, None] * y[which]
        out = self._solve(which, rest)
        for (s, y, rho), length in zip(self._pairs, reversed(lengths), strict=True):
            out = out + (length - rho[which] * dots(y[which, : s.shape[1]], out))[:, None] * s[which]
        return out

    def _solve(self, which: Which, residual: Array) -> Array:
        """The inverses as they were made times residuals."""
        if self.inverse.ndim == 2:
            return np.asarray(self.inverse[which] * residual)
        out = np.empty_like(residual)
        for at, k in enumerate(which):  # without copies, which take longer
            out[at] = self.inverse[k] @ residual[at]
        return out

    def renewed(self, which: Which, other: Inverses) -> Inverses:
        """These inverses with those of some weights from others, and no corrections."""
        self.inverse[which] = other.inverse[which]
        return Inverses(self.inverse)


def anchors_of(which: Which, most: int) -> Which:
    """So many of the weights, evenly spread, the outermost among them.

    One less where the middle one would lie nearer to one end: labels that change places must change nothing else.
    """
    n = min(most, len(which))
    n -= 1 if len(which) % 2 == 0 and n % 2 == 1 else 0
    return which[np.unique(np.linspace(0, len(which) - 1, n).round().astype(np.intp))]


def between(anchors: Which, which: Which) -> Iterator[tuple[int, int, int, float]]:
    """Each weight with its neighbours among the anchors, by number, and its part of the way from one to the other."""
    left = np.clip(np.searchsorted(anchors, which, side="right") - 1, 0, max(len(anchors) - 2, 0))
    for k, low in zip(which, left, strict=True):
        high = min(low + 1, len(anchors) - 1)
        yield int(k), int(low), int(high), float((k - anchors[low]) / max(anchors[high] - anchors[low], 1))


class Descent(NamedTuple):
    """A loss to be minimised, of the rows kept at the last call of ``keep`` if ``fixed``, and by which Hessians."""

    loss: Loss
    model: Inverses
    fixed: bool = False


@dataclass
class _Line:
    """A search for where the slope along a line is small beside the first."""

    first: float
    length: float = 1.0

    def __post_init__(self) -> None:
        self._low, self._high, self._below, self._above = 0.0, np.inf, self.first, 0.0

    def ends(self, slope: float) -> bool:
        """Whether the slope found at this length will do; if not, the length is another."""
        t, low, below = self.length, self._low, self._below
        if slope < _FLAT * self.first and t < _FURTHEST:
            root = t + (t - low) * slope / (below - slope) if slope > below else np.inf
            self._low, self._below = t, slope
            ahead = min(max(root, 2 * t), 4 * t, _FURTHEST)
        elif slope > -_FLAT * self.first:
            self._high, self._above, ahead = t, slope, np.inf
        else:
            return True
        if np.isfinite(self._high):
            part = self._below / (self._below - self._above)
            ahead = self._low + min(max(part, 0.1), 0.9) * (self._high - self._low)
        self.length = ahead
        return False


class BatchedFits:
    """Points ``(beta, b)`` of all class weights, with their margins of the rows of one problem.

    ``factors`` (2, weights) multiply the rows of label -1 and +1. Hessians are ``factored``, or else only their
    diagonals are used.
    """

    def __init__(self, problem: Problem, factors: Array, points: Array, factored: bool) -> None:
        self.problem, self.factors, self.points = problem, factors, points
        self.ridge, self.p = problem.penalty.ridge, problem.expansion.shape[1]
        self.factored = factored
        self.unfinished: Which = np.zeros(0, dtype=np.intp)  # weights whose last descent ended by its number of steps
        self.n_steps = np.zeros(len(points), dtype=int)
        self._X = problem.expansion.rows()
        self._weights = problem.weights * factors.T.take((problem.y > 0).astype(np.intp), axis=1)
        self.margins = self._margins(points)
        self.kept = np.ones(self.margins.shape, dtype=bool)
        n = len(problem.y)
        self._blocks = [slice(first, min(first + _BLOCK, n)) for first in range(0, n, _BLOCK)]

    def objectives(self, which: Which) -> Array:
        """The objectives of some weights where they stand."""
        total = np.zeros(len(which))
        for at, k in enumerate(which):
            for rows in self._blocks:
                total[at] += self._weights[k, rows] @ self.problem.loss.value(self.margins[k, rows])
        return total + self.penalties(which)

    def penalties(self, which: Which) -> Array:
        """The ridge's part of the objectives."""
        return 0.5 * self.ridge * dots(self.points[which, :-1], self.points[which, :-1])

    def squares(self, residual: Array) -> Array:
        """Of residuals, the squared norms of their part in the coefficients."""
        return dots(residual[:, :-1], residual[:, :-1])

    def gap(self, k: int, residual: Array) -> float:
        """The duality gap of the convex bound of one weight's rows kept, the intercept's part made up for by a few."""
        if not self.problem.fit_intercept:
            return float(residual @ residual) / (2 * self.ridge)
        rows = spread_rows(len(self.problem.y))
        few = self._bound(k, self.problem.take(rows, np.ones(len(rows))), rows)
        return balance(few, self.margins[k, rows], residual)[0]

    def _bound(self, k: int, problem: Problem, rows: Any) -> Problem:
        """The base of the loss on those of some rows that are kept."""
        weights = problem.weights * self.factors[(problem.y > 0).astype(np.intp), k] * self.kept[k, rows]
        return replace(problem, loss=problem.loss.base, weights=weights)  # type: ignore[attr-defined]

    def masses(self, which: Which) -> Array:
        """The second derivatives of the objectives along the intercepts, but for corners."""
        loss, total = self.problem.loss, np.zeros(len(which))
        for at, k in enumerate(which):
            for rows in self._blocks:
                total[at] += self._weights[k, rows] @ loss.curvature(self.margins[k, rows])
        return total

    def keep(self, which: Which) -> Mask:
        """Fix the rows that a capped loss retains here; whether they are of both classes, where an intercept asks."""
        y, both = self.problem.y, np.ones(len(which), dtype=bool)
        for at, k in enumerate(which):
            self.kept[k] = self.problem.loss.retained(self.margins[k])  # type: ignore[attr-defined]
            if self.problem.fit_intercept:
                both[at] = np.any(self.kept[k] & (y > 0)) and np.any(self.kept[k] & (y < 0))
        return both

    def inverses(self, loss: Loss, which: Which, n_anchors: int, rows: tuple[Problem, Any]) -> Inverses:
        """Inverse Hessians of a loss, seen in some rows, at so many of the weights and interpolated between."""
        size = (self.p + 1, self.p + 1)[: 2 if self.factored else 1]
        if len(which) == 0:
            return Inverses(np.zeros((0, *size)))
        anchors, problem = anchors_of(which, n_anchors), rows[0]
        made = [self._inverse(problem, self._curvatures(loss, k, *rows)) for k in anchors]
        inverse: Array = np.zeros((len(self.points), *size))
        for k, low, high, part in between(anchors, which):
            inverse[k] = made[low] if part == 0 else (1 - part) * made[low] + part * made[high]
        return Inverses(inverse)

    def _curvatures(self, loss: Loss, k: int, problem: Problem, rows: Any) -> Array:
        """Those of one weight in the scores of some rows."""
        curvature: Array = loss.curvature(self.margins[k, rows])
        return problem.weights * self.factors[(problem.y > 0).astype(np.intp), k] * curvature

    def _inverse(self, problem: Problem, W: Array) -> Array:
        """The inverse of ``sum_i W_i (x_i, 1) (x_i, 1)'`` with the ridge, or that of its diagonal."""
        p, mass = self.p, 1.0
        if problem.fit_intercept:
            mass = max(float(W.sum()), _NO_MASS * float(problem.weights.sum()))
        if not self.factored:
            return 1 / np.append(problem.expansion.squared_norms(W) + self.ridge, mass)
        hessian = np.zeros((p + 1, p + 1))
        hessian[:p, :p], border = problem.expansion.moments(W)
        hessian[np.arange(p), np.arange(p)] += self.ridge
        hessian[p, p] = mass
        if problem.fit_intercept:
            hessian[p, :p] = hessian[:p, p] = border
        return shifted_cholesky(hessian).inverse()

    def descend(self, way: Descent, which: Which, done: Done, most: int) -> Array:
        """Quasi-Newton steps of some weights until they are done, at most so many; the residuals where they end."""
        g: Array = np.empty((len(which), len(self.problem.y)))
        for at, k in enumerate(which):
            self._respond(way, k, self.margins[k], g[at])
        first = self._residuals(which, g)
        residuals: Array = np.zeros((len(self.points), first.shape[1]))
        residuals[which] = first
        going = which
        for number in range(most + 1):
            step = -way.model(going, residuals[going])
            slope = dots(step, residuals[going][:, : step.shape[1]])
            up = going[slope >= 0]
            if len(up):
                way.model.forget(up)
                step[slope >= 0] = -way.model(up, residuals[up])
                slope = dots(step, residuals[going][:, : step.shape[1]])
            further = ~done(going, residuals[going], -0.5 * slope)
            self.unfinished = going = going[further]
            step, slope = step[further], slope[further]
            if len(going) == 0 or number == most:
                break
            lengths, g = self._advance(way, going, step, slope)
            before = residuals[going]
            residuals[going] = self._residuals(going, g)
            way.model.learn(going, lengths[:, None] * step, residuals[going] - before)
            self.n_steps[going] += 1
        return residuals

    def _advance(self, way: Descent, which: Which, step: Array, first: Array) -> tuple[Array, Array]:
        """Along directions to where slopes are small; the lengths, and the derivatives in the margins there."""
        change, lengths = self._margins(step), np.empty(len(which))
        g, there = np.empty_like(change), np.empty(change.shape[1])
        for at, k in enumerate(which):
            line, (linear, square) = _Line(float(first[at])), self._bend(k, step[at], change[at])
            for _ in range(_LOOKS):
                lengths[at] = t = line.length
                np.multiply(change[at], t, out=there)
                there += self.margins[k]
                self._respond(way, k, there, g[at])
                if line.ends(float(g[at] @ change[at]) + linear + t * square):
                    break
            self.margins[k] = there
        self.points[which] += lengths[:, None] * step
        return lengths, g

    def _bend(self, k: int, step: Array, change: Array) -> tuple[float, float]:
        """The ridge's slope and curvature along a step, which changes margins by ``change``."""
        beta, direction = self.points[k, :-1], step[:-1]
        return self.ridge * float(beta @ direction), self.ridge * float(direction @ direction)

    def _margins(self, points: Array) -> Array:
        """Margins (weights, rows) at points, or their changes along directions."""
        beta = points[:, :-1].astype(self._X.dtype, copy=False)
        scores = (self._X @ beta.T).T if self.problem.expansion.is_sparse else beta @ self._X.T
        margins = np.ascontiguousarray(scores, dtype=np.float64)
        margins += points[:, -1:]
        margins *= self.problem.y
        return margins

    def _respond(self, way: Descent, k: int, margins: Array, out: Array) -> None:
        """The derivative of the cost under one weight in each margin."""
        for rows in self._blocks:
            np.multiply(way.loss.slope(margins[rows]), self._weights[k, rows], out=out[rows])
            if way.fixed:
                out[rows] *= self.kept[k, rows]

    def _residuals(self, which: Which, g: Array) -> Array:
        """The gradients of the objectives in the points, given those in the margins, which are made those in scores."""
        g *= self.problem.y
        responses = g.astype(self._X.dtype, copy=False)
        sparse = self.problem.expansion.is_sparse
        gradient = (self._X.T @ responses.T).T if sparse else responses @ self._X
        total = g.sum(axis=1) if self.problem.fit_intercept else np.zeros(len(which))
        return np.column_stack([self.ridge * self.points[which, :-1] + gradient, total])
