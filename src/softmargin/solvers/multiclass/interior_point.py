"""Simultaneous support vector machines by a primal-dual interior point method, for systems small enough to factorise.

Coordinate ascent crawls when costs are large: many big multipliers must cancel. Every machine is a quadratic program

    minimise  1/2 sum_j |theta_j|^2 - sum_i pull_i'F_i + sum_i cost of xi_i,    F = Zt theta,    sum_j theta_j = 0,
    subject to  U_ij + xi_ij >= t_ij,    U = B F,

where ``U_ij`` is ``+-F_ij`` (naive, Lee-Lin-Wahba, reinforced, bounded) or ``F_iy - F_ij`` (Weston-Watkins,
Crammer-Singer) and the slacks ``xi`` are

    BOX      one for each constraint, xi >= 0, with cost c_ij: multipliers 0 <= a_ij <= c_ij;
    SIMPLEX  one for each row (Crammer-Singer; its own class is the constraint xi_i >= 0): a >= 0, sum_j a_ij = c_i;
    HARD     none (the bounded machine): a >= 0.

With ``s = U + xi - t`` the central path is ``s a = xi (c - a) = mu cost_i``: a row of cost two takes the very steps of
two rows of cost one. Eliminating all but ``theta`` leaves ``da = E - D dU`` in each row, D diagonal or (SIMPLEX)
``diag(w) - w w' / sum w``, and ``sum_i (x_i x_i') (x) B'DB`` plus the ridge as matrix of the Newton equations, in the
classes but the last, which is minus the sum of the others. Steps are Mehrotra's predictor and corrector; the start
``theta = 0`` is feasible and stays so.

Late rows on their corners have curvatures D of 1e12, beside which the ridge is rounding where such rows are few or
repeats of few. What Cholesky's method would lose there, a QR factorisation of the rows ``D^(1/2) B x`` keeps. Products
``D dU`` lose the digits that cancel in dU: a step is refined until multipliers and coefficients agree, ``da`` summed
from the changes ``dU`` of every round, each smaller than the one before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin._progress import is_heard, report
from softmargin.losses.multiclass import MulticategoryHinge

__all__ = ["HingeProgram", "InteriorPoint", "follow_central_path", "step_work"]

Array = NDArray[np.floating[Any]]

_SMALLEST_MU = 1e-13
_SMALLEST_SHARE = 1e-3  # of the largest cost, for hard constraints: a cheap row's bounds may still bind, and hard
_SMALLEST_MULTIPLIER = 1e-9  # in units of the cost: smaller ones are zero
_BACK_OFF = 0.995
_REFINEMENTS = 6
_ENOUGH = 1e-13  # of the first right-hand side: what rounding leaves of one
_DIGITS = 1e-10  # share of a diagonal that its pivot keeps, below which rounding is too much of the pivot
_ROOT_WORK = 1e8  # multiplications of a QR factorisation that takes hundredths of a second


@dataclass(frozen=True)
class HingeProgram:
    """The constraints of one machine on rows of class ``codes``; see the module's docstring.

    ``sign`` (n, k) is +1, -1 or 0 (no constraint) for each class, None where ``U_ij = F_iy - F_ij``. ``upper`` holds
    the costs of the slacks; ``present`` says which constraints there are.
    """

    kind: str
    codes: NDArray[np.integer[Any]]
    sign: Array | None
    target: Array
    upper: Array
    present: NDArray[np.bool_]
    pull: Array
    weight: Array

    @classmethod
    def of(cls, loss: MulticategoryHinge, codes: NDArray[np.integer[Any]], cost: Array, k: int) -> HingeProgram:
        """The program of a multicategory hinge loss."""
        n, method, mix = len(codes), loss.method, loss.mix
        own = codes[:, None] == np.arange(k)
        weight = cost[:, None] * np.ones((1, k))
        zero, one = np.zeros((n, k)), np.ones((n, k))
        if method == "bounded":
            floor = np.maximum(weight, _SMALLEST_SHARE * cost.max())
            return cls("hard", codes, one, -one, zero, one > 0, np.where(own, weight, 0.0), floor)
        if method == "crammer_singer":
            return cls("simplex", codes, None, np.where(own, 0.0, 1.0), weight, one > 0, zero, weight)
        if method == "weston_watkins":
            return cls("box", codes, None, one, weight, ~own, zero, weight)
        shares = {"naive": (1.0, 0.0), "lee_lin_wahba": (0.0, 1.0), "reinforced": (mix, 1 - mix)}[method]
        upper = weight * np.where(own, *shares)
        sign = np.where(upper > 0, np.where(own, 1.0, -1.0), 0.0)
        target = np.where(own, 1.0 if method == "naive" else k - 1.0, 1.0)
        return cls("box", codes, sign, target, upper, upper > 0, zero, weight)

    def scaled(self, unit: float) -> HingeProgram:
        """The same program with costs in units of ``unit``."""
        return replace(self, upper=self.upper / unit, pull=self.pull / unit, weight=self.weight / unit)

    def dual(self, a: Array) -> Array:
        """Multipliers in the signs of the dual of ``_compiled/multicategory.pyx``; those at a bound exactly so."""
        small = a <= _SMALLEST_MULTIPLIER * self.weight
        a = np.where(small & self.present, 0.0, a)
        if self.kind == "hard":
            return self.pull + a
        if self.sign is not None:
            return self.sign * np.where(a >= self.upper * (1 - _SMALLEST_MULTIPLIER), self.upper, a)
        b = -np.minimum(a, self.upper)
        rows = np.arange(len(b))
        b[rows, self.codes] = 0
        if self.kind == "simplex":
            total = -b.sum(axis=1)
            b *= np.where(total > self.upper[:, 0], self.upper[:, 0] / np.maximum(total, 1e-300), 1.0)[:, None]
            b[rows, self.codes] = -b.sum(axis=1)
        return b

    def margins(self, F: Array) -> Array:
        """``U = B F``."""
        if self.sign is not None:
            return self.sign * F
        return F[np.arange(len(F)), self.codes][:, None] - F

    def pull_back(self, a: Array) -> Array:
        """``B' a``."""
        if self.sign is not None:
            return self.sign * a
        out = -a
        out[np.arange(len(a)), self.codes] += a.sum(axis=1)
        return out


@dataclass
class InteriorPoint:
    """Multipliers (n, k), coefficients whose first row is the intercept, and the number of steps."""

    multipliers: Array
    theta: Array
    n_iter: int


@dataclass
class _State:
    """A strictly feasible point: slacks ``s`` and ``xi``, multipliers ``a`` and ``z = c - a``."""

    theta: Array
    s: Array
    xi: Array
    a: Array
    z: Array

    @classmethod
    def start(cls, program: HingeProgram, m: int) -> _State:
        theta = np.zeros((m, program.target.shape[1]))
        k = theta.shape[1]
        if program.kind == "hard":
            return cls(
                theta, -program.target, np.zeros_like(program.target), program.weight, np.ones_like(program.upper)
            )
        if program.kind == "simplex":
            xi = np.repeat(np.maximum(program.target.max(axis=1, keepdims=True), 1.0) + 1.0, k, axis=1)
            return cls(theta, xi - program.target, xi, program.upper / k, np.ones_like(program.upper))
        xi = np.maximum(program.target, 0) + 1
        half = np.where(program.present, program.upper / 2, 0.0)
        return cls(theta, xi - program.target, xi, half, np.where(program.present, half, 1.0))

    def products(self, program: HingeProgram) -> tuple[Array, Array]:
        """``s a`` and ``xi z``, the latter zero where it is no condition of its own."""
        return self.s * self.a, self.xi * self.z * program.present if program.kind == "box" else np.zeros_like(self.s)

    def moved(self, step: _State, length: float) -> _State:
        return _State(*(x + length * dx for x, dx in zip(vars(self).values(), vars(step).values(), strict=True)))

    def longest(self, step: _State, kind: str) -> float:
        """The step at which the first of the nonnegative quantities reaches zero."""
        pairs = [(self.s, step.s), (self.a, step.a)]
        if kind == "box":
            pairs += [(self.xi, step.xi), (self.z, step.z)]
        return min(float(np.min(np.where(dx < 0, -x / np.where(dx < 0, dx, -1.0), np.inf))) for x, dx in pairs)


def step_work(n_rows: int, n_features: int, n_classes: int, method: str) -> float:
    """Multiplications of one step."""
    m = n_features + 1.0
    blocks = n_classes**2 / 2 if method in ("weston_watkins", "crammer_singer") else n_classes
    return ((n_classes - 1) * m) ** 3 / 3 + n_rows * blocks * m**2


def follow_central_path(Z: Array, program: HingeProgram, intercept: str, max_iter: int) -> InteriorPoint:
    """Minimise from ``theta = 0`` until ``mu`` is negligible or rounding undoes what steps gain."""
    n, k = program.target.shape
    Zt = np.ascontiguousarray(np.column_stack([np.ones(n), Z]) if intercept != "none" else Z)
    unit = float(program.weight.mean())
    program = program.scaled(unit)
    ridge = np.full(Zt.shape[1], 1 / unit)  # everything in units of the mean cost
    if intercept == "free":
        ridge[0] = 0
    count = float(program.present.sum()) * (2 if program.kind == "box" else 1)
    state = _State.start(program, Zt.shape[1])
    steps, least, best = 0, np.inf, state
    while steps < max_iter:
        sa, xz = state.products(program)
        mu = (float(sa.sum()) + float(xz.sum())) / count
        residual = Zt.T @ (program.pull + program.pull_back(state.a)) - ridge[:, None] * state.theta
        error = mu + _worth(residual, ridge, state.theta) / count
        if error < least:
            least, best = error, state
        if is_heard():
            report("interior point", f"complementarity {mu:.3g}, residual {error - mu:.3g}")
        if not error <= 1e3 * least or mu <= _SMALLEST_MU:
            break
        try:
            newton = _Newton(Zt, ridge, state, program)
        except np.linalg.LinAlgError:  # as close to the boundary as floating point can tell
            break
        ahead = newton.step(residual, -sa, -xz, 1)
        there = state.moved(ahead, min(state.longest(ahead, program.kind), 1.0)).products(program)
        left = (float(there[0].sum()) + float(there[1].sum())) / count
        target = (left / mu) ** 3 * mu * program.weight * program.present
        change = newton.step(residual, target - sa - ahead.s * ahead.a, target - xz - ahead.xi * ahead.z)
        length = min(_BACK_OFF * state.longest(change, program.kind), 1.0)
        if not length > 1e-10:
            break
        state = state.moved(change, length)
        steps += 1
    theta = best.theta if intercept != "none" else np.vstack([np.zeros(k), best.theta])
    return InteriorPoint(unit * best.a, theta, steps)


def _worth(residual: Array, ridge: Array, theta: Array) -> float:
    """What multipliers add to the duality gap by missing ``ridge theta``, ``sum_j theta_j = 0``, by ``residual``."""
    uneven = residual - residual.mean(axis=1, keepdims=True)
    free = ridge == 0
    imbalance = np.abs(uneven[free]) * (1 + np.abs(theta[free]))
    return float(imbalance.sum() + 0.5 * np.sum(uneven[~free] ** 2 / ridge[~free, None]))


class _Newton:
    """The factorised Newton equations at one point, in the coefficients of all classes but the last."""

    def __init__(self, Zt: Array, ridge: Array, state: _State, program: HingeProgram) -> None:
        self.Zt, self.ridge, self.state, self.program = Zt, ridge, state, program
        if program.kind == "box":
            self.curve = state.a / (state.s + state.a * state.xi / state.z)
        else:
            self.curve = state.a / state.s
        if program.kind == "simplex":
            self.share = self.curve / self.curve.sum(axis=1, keepdims=True)
        blocks = self._diagonal_blocks(len(ridge)) if program.sign is not None else self._coupled_blocks(len(ridge))
        size = blocks.shape[0] * blocks.shape[2]
        H = blocks.transpose(0, 2, 1, 3).reshape(size, size)
        H = H + np.kron(np.eye(len(blocks)) + 1, np.diag(ridge))
        lower, failed = linalg.lapack.dpotrf(H, lower=True)
        accurate = not failed and bool(np.all(np.diag(lower) ** 2 >= _DIGITS * np.diag(H)))
        if not accurate and self.curve.size * float(size) ** 2 <= _ROOT_WORK:
            self.root, self.order = self._root()
        elif not failed:
            self.root, self.order = lower.T, np.arange(size)
        else:
            raise np.linalg.LinAlgError

    def _root(self) -> tuple[Array, NDArray[np.integer[Any]]]:
        """``R`` with ``R'R = H`` and the order of its columns; long rows come first, which keeps the digits of all."""
        k, m = self.curve.shape[1], len(self.ridge)
        ends = np.vstack([np.eye(k - 1), -np.ones(k - 1)])
        B = np.stack([self.program.margins(np.tile(end, (len(self.Zt), 1))) for end in ends.T], axis=2)
        if self.program.kind == "simplex":
            B = np.stack([_contrast(one, self.share) for one in B.transpose(2, 0, 1)], axis=2)
        B *= np.sqrt(self.curve)[:, :, None]
        rows = (B[..., None] * self.Zt[:, None, None, :]).reshape(-1, (k - 1) * m)
        rows = np.vstack([rows, np.kron(ends, np.diag(np.sqrt(self.ridge)))])
        rows = rows[np.argsort(-np.abs(rows).max(axis=1), kind="stable")]
        R, order = linalg.qr(rows, mode="r", pivoting=True, check_finite=False)
        R = R[: R.shape[1]]
        if not np.all(np.diag(R) != 0):
            raise np.linalg.LinAlgError
        return R, order

    def solve(self, right: Array) -> Array:
        """``H^-1 right``."""
        x = np.empty_like(right)
        half = linalg.solve_triangular(self.root, right[self.order], trans=1, check_finite=False)
        x[self.order] = linalg.solve_triangular(self.root, half, check_finite=False)
        return x

    def _weighted_gram(self, weight: Array) -> Array:
        return (self.Zt * weight[:, None]).T @ self.Zt

    def _diagonal_blocks(self, m: int) -> Array:
        """``B'DB`` is diagonal: each class has a Gram matrix, and that of the last class enters every block."""
        k = self.curve.shape[1]
        blocks = np.broadcast_to(self._weighted_gram(self.curve[:, -1]), (k - 1, k - 1, m, m)).copy()
        for j in range(k - 1):
            blocks[j, j] += self._weighted_gram(self.curve[:, j])
        return blocks

    def _coupled_blocks(self, m: int) -> Array:
        D, rows, codes = self.curve, np.arange(len(self.curve)), self.program.codes
        k = D.shape[1]
        if self.program.kind == "simplex":
            H = -D[:, :, None] * self.share[:, None, :]
            H[:, np.arange(k), np.arange(k)] = 0
            H[:, np.arange(k), np.arange(k)] = -H.sum(axis=2)
        else:
            H = np.zeros((len(D), k, k))
            H[:, np.arange(k), np.arange(k)] = D
            H[rows, codes] -= D
            H[rows, :, codes] -= D
            H[rows, codes, codes] += D.sum(axis=1)
        last = H[:, :-1, -1]
        H = H[:, :-1, :-1] - last[:, :, None] - last[:, None, :] + H[:, -1:, -1:]
        blocks = np.empty((k - 1, k - 1, m, m))
        for j in range(k - 1):
            for l in range(j + 1):
                blocks[j, l] = blocks[l, j] = self._weighted_gram(H[:, j, l])
        return blocks

    def step(self, residual: Array, first: Array, second: Array, rounds: int = _REFINEMENTS) -> _State:
        """The change of the state that moves ``s a`` by ``first`` and ``xi z`` by ``second``, to first order."""
        at, program = self.state, self.program
        xi = np.zeros_like(first)
        if program.kind == "box":
            fixed = (first - at.a * second / at.z) / (at.s + at.a * at.xi / at.z)
        elif program.kind == "simplex":
            fixed = self.curve * _contrast(first / at.a, self.share)
            xi = (self.share * first / at.a).sum(axis=1, keepdims=True)
        else:
            fixed = first / at.s
        a, theta, dU, shift = fixed, np.zeros_like(residual), np.zeros_like(fixed), np.zeros_like(xi[:, :1])
        least, enough = np.inf, 0.0
        for _ in range(rounds):
            right = residual + self.Zt.T @ program.pull_back(a) - self.ridge[:, None] * theta
            right = (right[:, :-1] - right[:, -1:]).T.ravel()
            left = float(np.abs(right).max(initial=0.0))
            enough = enough or _ENOUGH * left
            if not enough < left < 0.5 * least:
                break
            least = left
            x = self.solve(right).reshape(theta.shape[1] - 1, len(theta)).T
            x = np.column_stack([x, -x.sum(axis=1)])
            more = program.margins(self.Zt @ x)
            theta, dU = theta + x, dU + more
            if program.kind == "simplex":
                shift = shift + (self.share * more).sum(axis=1, keepdims=True)
                more = _contrast(more, self.share)
            a = a - self.curve * more
        if program.kind == "simplex":
            return _State(theta, dU + xi - shift, xi - shift, a, np.zeros_like(dU))
        if program.kind == "hard":
            return _State(theta, dU, xi, a, xi)
        xi = np.where(program.present, (second + at.xi * a) / at.z, 0.0)
        return _State(theta, np.where(program.present, dU + xi, 0.0), xi, a, -a)


def _contrast(V: Array, share: Array) -> Array:
    """Each row's values less their mean of weights ``share``; a share of nearly one costs no digits."""
    return np.einsum("ijl,il->ij", V[:, :, None] - V[:, None, :], share)
