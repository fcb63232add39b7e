"""k scores that sum to zero with costs that select features: accelerated proximal gradients on the features in use.

    minimise  sum_i w_i L(F_i, y_i) + Omega(theta),    F = Z theta + b,   rows of theta and b sum to zero.

With ``H`` a bound on the curvature of ``L`` and ``s`` the largest singular value of ``diag(w)^(1/2) [1 Z]``, a gradient
step of length ``1 / (H s^2)`` followed by the proximal map of ``Omega`` lowers the objective, and so does a longer one
where the losses stay below the parabola that its length stands for: losses of rows on their own side hardly bend. Both
maps keep the sum at zero: soft thresholding with the multiplier of the constraint (its root lies between two of ``2k``
breakpoints), or shrinking whole rows. Steps are accelerated and restarted where the objective rises (FISTA). Features
enter in sets: those at zero that violate optimality, until none does. Once the proximal steps have settled which
coefficients are in use, Newton's method on those finishes (:mod:`.selection_newton`).

Features are in units of their spread, and what they cost is converted: a gradient of 1e8 beside one of 1 would
certify the one without looking at the other, and no length of a step would suit both.

Certificate: the proximal residual ``|theta - prox(theta - t gradient)| / t`` over all features, with ``t`` the inverse
of the largest curvature a feature can have, in units of the largest gradient at zero coefficients. It vanishes at the
minimum only. Concave curves are bounded by weighted elastic nets, one after the other
(:mod:`softmargin.solvers.nonconvex.majorize_minimise`), from the solution of the convex one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

from softmargin._progress import is_heard, report
from softmargin.penalties import ClassPenalty
from softmargin.problem import MulticlassProblem
from softmargin.solution import Solution
from softmargin.solvers.multiclass.design import Design, gradient_terms, gradient_unit
from softmargin.solvers.multiclass.selection_newton import LARGEST_AT_LAST, LARGEST_SYSTEM, newton_on_support
from softmargin.solvers.multiclass.separation import separates_classes
from softmargin.solvers.nonconvex.majorize_minimise import majorize_minimise

__all__ = ["selects", "solve_selection", "zero_sum_threshold"]

Array = NDArray[np.floating[Any]]

_ROUNDS = 1000
_STEPS = 20  # proximal steps that count as one
_MOST_STEPS = 20_000  # proximal steps of a convex problem beyond which no digits come that Newton's steps do not bring
_BEFORE_NEWTON = 100  # proximal steps before Newton's are tried all the same, four times as many each time
_PATIENCE = 1000  # proximal steps after which Newton's may cost more than they
_FIRST_AIM = 1e-3  # residual at which Newton's steps are tried first; a tenth of it each time they did not help
_LONGER, _SHORTER = 1.1, 0.5  # trial steps beside the last one, and beside one that was too long
_FEWEST_STEPS = 200  # that a convex problem gets however many the ones before it took in vain
_ROUNDING = 4 * np.finfo(float).eps  # of the terms of a gradient: steps cannot make it smaller
_IDLE = 5  # times that steps on all that counts may end above the tolerance: what is left is rounding
_FAR, _FARTHER = 1e4, 1e8  # along a ray, in units of its own length
_SMALL = 200  # columns up to which a dense singular value costs nothing
_CONSTANT = 1e-12  # of its mean: a spread that is rounding
_SAFETY = 1.01  # an iterative singular value is a lower bound


def selects(problem: Any) -> bool:
    """Whether a problem has costs that select, a loss with a bounded curvature, and features."""
    penalty = getattr(problem, "penalty", None)
    bounded = np.isfinite(getattr(problem.loss, "curvature_bound", np.inf))
    return penalty is not None and bounded and not problem.expansion.is_kernel


def zero_sum_threshold(z: Array, t: Array) -> Array:
    """The rows ``x`` of sum zero with the least ``|x - z|^2 / 2 + sum_m t_m |x_m|``.

    Examples
    --------
    >>> import numpy as np
    >>> zero_sum_threshold(np.array([[3.0, 0.0, -1.0]]), np.ones((1, 3)))
    array([[ 1., -0., -1.]])
    """
    t = np.broadcast_to(t, z.shape)
    points = np.sort(np.concatenate([z - t, z + t], axis=1), axis=1)
    away = z[:, None, :] - points[:, :, None]
    totals = (np.sign(away) * np.maximum(np.abs(away) - t[:, None, :], 0)).sum(axis=2)
    rows = np.arange(len(z))
    left = np.clip((totals >= 0).sum(axis=1) - 1, 0, points.shape[1] - 2)
    a, b = totals[rows, left], totals[rows, left + 1]
    share = np.divide(a, a - b, out=np.zeros_like(a), where=a > b)
    root = points[rows, left] + share * (points[rows, left + 1] - points[rows, left])
    away = z - root[:, None]
    return np.sign(away) * np.maximum(np.abs(away) - t, 0)


def _spreads(Z: Any, center: Array | None, share: Array) -> Array:
    """The size of each column; one for a column of zeros, and for what rounding has left of a constant one."""
    largest = np.asarray(abs(Z).max(axis=0).todense() if sparse.issparse(Z) else np.abs(Z).max(axis=0, initial=0.0))
    largest = np.where(largest.ravel() > 0, largest.ravel(), 1.0)
    scaled = Z @ sparse.diags_array(1 / largest) if sparse.issparse(Z) else Z / largest
    spread = largest * np.sqrt(np.asarray(share @ (scaled**2)).ravel())
    noise = 0.0 if center is None else _CONSTANT * np.abs(center)
    return np.where(spread > noise, spread, 1.0)


class _Fit:
    """A convex selection problem on centred features, each in units of its spread.

    The intercept is a column of ones without a cost. ``costs`` and ``ridge`` are what the scaled coefficients cost.
    """

    def __init__(self, problem: MulticlassProblem, design: Design, penalty: ClassPenalty) -> None:
        self.problem, self.loss, self.group = problem, problem.loss, penalty.group
        self.unit = _spreads(design.Z, design.center, design.share)[:, None]
        inverse = 1 / self.unit.ravel()
        self.Z = (design.Z @ sparse.diags_array(inverse)).tocsr() if sparse.issparse(design.Z) else design.Z * inverse
        self.free = problem.intercept == "free"
        self._kept: tuple[Any, Any] = (None, None)
        self.loss_bound = float(self.loss.curvature_bound)  # type: ignore[attr-defined]
        k = problem.n_classes
        self.charge(penalty, np.zeros((len(self.unit), k)))
        self.sharpest = self.loss_bound * float(problem.weights.sum())
        slope = self.slopes(np.zeros((len(problem.codes), k)))
        gradient = np.asarray(self.Z.T @ slope)
        at_zero = max(float(np.abs(gradient).max(initial=0.0)), float(np.abs(slope.sum(axis=0)).max()))
        terms = gradient_terms(self.Z, slope, self.free)
        self.scale, self.rounding = gradient_unit(at_zero, terms), _ROUNDING * terms

    def charge(self, penalty: ClassPenalty, coef: Array) -> None:
        """Take the costs of a penalty, or of the elastic net that bounds a concave one at ``coef``."""
        convex = penalty if penalty.convex else penalty.linearize(coef / self.unit)
        self.costs = convex.thresholds(coef) / self.unit
        self.ridge = convex.ridge / self.unit**2

    def columns(self, members: Any) -> Any:
        """Some columns, kept for the steps to come: to take them from sparse rows costs more than a step."""
        if members is not self._kept[0]:
            self._kept = (members, self.Z[:, members])
        return self._kept[1]

    def scores(self, coef: Array, b: Array, members: Any) -> Array:
        return np.asarray(self.columns(members) @ coef) + b

    def slopes(self, F: Array) -> Array:
        slope = self.problem.weights[:, None] * self.loss.slope(F, self.problem.codes)  # type: ignore[attr-defined]
        return slope - slope.mean(axis=1, keepdims=True)

    def objective(self, coef: Array, b: Array, members: Any) -> float:
        return self.losses(self.scores(coef, b, members)) + self.cost_of(coef, members)

    def cost_of(self, coef: Array, members: Any) -> float:
        sizes = np.linalg.norm(coef, axis=1, keepdims=True) if self.group else np.abs(coef)
        return float(np.sum(self.costs[members] * sizes) + 0.5 * np.sum(self.ridge[members] * np.square(coef)))

    def prox(self, z: Array, length: float, members: Any) -> Array:
        """The proximal map of ``length * Omega`` on some features."""
        z = z - z.mean(axis=1, keepdims=True)
        t, shrink = length * self.costs[members], 1 / (1 + length * self.ridge[members])
        if not self.group:
            return shrink * zero_sum_threshold(z, t)
        size = np.linalg.norm(z, axis=1, keepdims=True)
        return shrink * z * np.maximum(1 - t / np.maximum(size, np.finfo(float).tiny), 0)

    def is_unbounded(self, coef: Array, b: Array) -> bool:
        """Whether coefficients that cost nothing still lower the losses however far they grow."""
        if self.ridge.any():
            return False
        free = np.where(np.broadcast_to(self.costs, coef.shape) == 0, coef, 0.0)
        if not free.any():
            return False
        F = self.scores(coef, b, slice(None))
        away = self.scores(free, b if self.free else 0 * b, slice(None))
        here, far, farther = (self.losses(F + t * away) for t in (0.0, _FAR, _FARTHER))
        return here > far >= farther

    def is_separated(self, coef: Array, b: Array) -> bool:
        """Whether some direction of coefficients that cost nothing lowers the losses for ever."""
        if self.ridge.any():
            return False
        counted = self.problem.weights > 0
        F, free = self.scores(coef, b, slice(None))[counted], np.broadcast_to(self.costs, coef.shape) == 0
        return separates_classes(self.Z[counted], self.problem.codes[counted], F, free, self.free)

    def losses(self, F: Array) -> float:
        return float(self.problem.weights @ self.loss.value(F, self.problem.codes))

    def residual(self, coef: Array, b: Array) -> float:
        """The certificate."""
        each, edge = self.residuals(coef, b)
        return max(float(each.max(initial=0.0)), edge) / self.scale

    def residuals(self, coef: Array, b: Array) -> tuple[Array, float]:
        """How far each feature, and the intercept, is from optimal."""
        slope = self.slopes(self.scores(coef, b, slice(None)))
        gradient = np.asarray(self.Z.T @ slope)
        length = 1 / max(self.sharpest, np.finfo(float).tiny)
        moved = coef - self.prox(coef - length * gradient, length, slice(None))  # the ridge is in the proximal map
        edge = float(np.abs(slope.sum(axis=0)).max()) if self.free else 0.0
        return np.abs(moved).max(axis=1) / length, edge

    def steepness(self, members: Any) -> float:
        """The largest singular value of the weighted columns, squared, times the bound of the curvature."""
        root = np.sqrt(self.problem.weights)
        Z = self.columns(members)
        columns = Z.multiply(root[:, None]).tocsr() if sparse.issparse(Z) else Z * root[:, None]
        if min(columns.shape) <= _SMALL:
            dense = columns.toarray() if sparse.issparse(columns) else columns
            top = float(np.linalg.norm(dense, 2)) if dense.size else 0.0
        else:
            top = _SAFETY * float(svds(columns, k=1, return_singular_vectors=False, random_state=0)[0])
        # centred columns are orthogonal to the intercept's; others may add up with it
        edge = float(self.problem.weights.sum()) if self.free else 0.0
        return self.loss_bound * (top**2 + edge if sparse.issparse(self.Z) else max(top**2, edge))

    def descend(self, coef: Array, b: Array, members: Any, tol: float, left: int) -> tuple[Array, Array, int]:
        """Accelerated steps on some features until their residual is small."""
        safe = length = 1 / max(self.steepness(members), np.finfo(float).tiny)
        here, at, speed = (coef, b), (coef, b), 1.0
        value, done, columns = self.objective(coef, b, members), 0, self.columns(members)
        while done < left:
            F = self.scores(*at, members)
            slope, loss = self.slopes(F), self.losses(F)
            gradient, total = np.asarray(columns.T @ slope), slope.sum(axis=0) * self.free
            length = length * _LONGER
            while True:
                new = self.prox(at[0] - length * gradient, length, members)
                b = at[1] - length * total
                done += 1
                move = (new - at[0], b - at[1])
                trial = self.losses(self.scores(new, b, members))
                square = float(np.sum(move[0] ** 2) + np.sum(move[1] ** 2))
                bound = loss + float(np.sum(move[0] * gradient) + move[1] @ total) + square / (2 * length)
                if length <= safe or trial <= bound:
                    break
                length = max(safe, _SHORTER * length)
            trial += self.cost_of(new, members)
            if trial > value and speed > 1:
                at, speed = here, 1.0
                continue
            # in units of the gradient: what the step would be if it were as long as one
            moved = max(np.abs(move[0]).max(initial=0.0), np.abs(move[1]).max(initial=0.0)) / length
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            push = (speed - 1) / faster
            at = (new + push * (new - here[0]), b + push * (b - here[1]))
            here, value, speed = (new, b), trial, faster
            if moved <= max(tol, self.rounding):
                break
        return *here, done


def _solve_convex(fit: _Fit, coef: Array, b: Array, tol: float, max_iter: int) -> tuple[Array, Array, float, int]:
    """The minimiser of a convex selection problem, its residual and the steps taken."""
    members = np.flatnonzero(coef.any(axis=1))
    done, idle, aim = 0, 0, max(_FIRST_AIM, tol)
    most, patience = min(max_iter, _MOST_STEPS), _BEFORE_NEWTON
    while True:
        unknowns = (len(members) + 1) * coef.shape[1]
        small = unknowns <= (LARGEST_SYSTEM if done < _PATIENCE else LARGEST_AT_LAST)
        goal = 0.3 * fit.scale * (aim if small else tol)
        left = min(most - done, patience if small else _PATIENCE)
        part, b, steps = fit.descend(coef[members], b, members, goal, left)
        coef = np.zeros_like(coef)
        coef[members] = part
        done += steps
        if small:
            used = np.flatnonzero(coef.any(axis=1))
            coef[used], b = newton_on_support(fit, coef[used], b, used, 0.1 * tol * fit.scale)
        each, edge = fit.residuals(coef, b)
        residual = max(float(each.max(initial=0.0)), edge) / fit.scale
        if is_heard():
            report("proximal steps", f"residual {residual:.3g}, {len(members)} features, {done} steps")
        wanting = np.setdiff1d(np.flatnonzero(each > tol * fit.scale), members)
        idle = 0 if len(wanting) or (small and aim > tol) else idle + 1
        stuck = idle > (_IDLE if steps else 0) and (small or unknowns > LARGEST_AT_LAST)
        if residual <= tol or done >= most or stuck or fit.is_unbounded(coef, b):
            return coef, b, residual, done
        # the worst first: as many again as are in use, and at least ten
        worst = wanting[np.argsort(-each[wanting])][: max(10, len(members))]
        members, patience = np.union1d(members, worst), 4 * patience
        aim = aim if len(wanting) else max(0.1 * aim, tol)


class _Rounds:
    """Concave curves: the elastic net that touches at the last coefficients.

    The residual is that of the elastic net that touches at the new ones: it vanishes where the concave problem is
    stationary.
    """

    def __init__(self, fit: _Fit, concave: ClassPenalty, at: tuple[Array, Array], how: tuple[float, int]) -> None:
        self.fit, self.concave, self.how = fit, concave, how
        self.at = self.last = (*at, np.inf)
        self.value, self.steps, self.left, self.unbounded = np.inf, 0, how[1], False

    def objective(self) -> float:
        return self.value

    def next_round(self) -> bool | None:
        tol, most = self.how
        if self.steps >= most or self.unbounded:
            return None
        self.left = min(self.left, most - self.steps)
        self.last = self.at
        self.fit.charge(self.concave, self.at[0])
        coef, b, residual, steps = _solve_convex(self.fit, *self.at[:2], tol, self.left)
        self.steps += steps
        if residual > tol:  # where steps were in vain, the next rounds take fewer
            self.left = max(steps // 2, _FEWEST_STEPS)
        self.unbounded = self.fit.is_unbounded(coef, b) or (residual > tol and self.fit.is_separated(coef, b))
        self.fit.charge(self.concave, coef)
        self.at = (coef, b, self.fit.residual(coef, b))
        self.value = self.fit.losses(self.fit.scores(coef, b, slice(None))) + self.concave.value(coef / self.fit.unit)
        return self.at[2] <= tol

    def undo(self) -> None:
        self.at = self.last


def solve_selection(
    problem: MulticlassProblem, start: Solution | None, tol: float, max_iter: int, *, onward: bool = False
) -> Solution:
    """Fit with costs that select; concave ones from their pilot, or ``onward`` from where ``start`` stands."""
    penalty = problem.penalty
    assert penalty is not None
    design = Design.of(problem)
    p, k = problem.expansion.shape[1], problem.n_classes
    coef: Array = np.zeros((p, k))
    b: Array = np.zeros(k)
    if start is not None and start.base is not None and not onward:  # the convex one that a concave one set out from
        start = start.base
    if start is not None and np.shape(start.coef) == (p, k):
        coef, b = np.array(start.coef, dtype=float), design.shifted_intercept(start)
    max_iter = max(max_iter, 1) * _STEPS
    fit = _Fit(problem, design, penalty if penalty.convex else penalty.pilot)
    coef = coef * fit.unit
    gap, n_iter = np.inf, 0
    if not onward:
        coef, b, gap, n_iter = _solve_convex(fit, coef, b, tol, max_iter)
    history: list[float] = []
    status, pilot = "ok", (coef, b)
    if not penalty.convex:
        rounds = _Rounds(fit, penalty, (coef, b), (tol, max_iter))
        majorize_minimise(rounds, history, _ROUNDS)
        coef, b, gap = rounds.at
        unbounded = rounds.unbounded or fit.is_separated(coef, b)
        n_iter, status = n_iter + rounds.steps, "unbounded" if unbounded else "ok"
    objective = fit.losses(fit.scores(coef, b, slice(None))) + penalty.value(coef / fit.unit)
    coef, b = design.original(coef / fit.unit, b)
    history, n_iter = history or [objective], math.ceil(n_iter / _STEPS)
    found = Solution(
        coef, b, None, objective, gap, n_iter, gap <= tol and status == "ok", certificate="proximal residual",
        history=history, status=status,
    )  # fmt: skip
    if penalty.convex:
        return found
    coef, b = design.original(pilot[0] / fit.unit, pilot[1])
    return replace(found, base=replace(found, coef=coef, intercept=b))
