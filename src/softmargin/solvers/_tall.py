"""Steps that read tall data once: from the solution of a sample of rows to the certified solution of all.

Where rows abound, a Newton step costs what reading the data costs, not what solving a ``p x p`` system costs. The
Hessian ``H`` of a sample of ``m`` rows is that of all rows up to ``sqrt(p / m)``, so its inverse turns the residual
``r = (ridge beta + Phi'g, 1'g)`` of all rows into a step that leaves a few per cent of the error. BFGS corrections,

    H^-1 <- (I - rho s y') H^-1 (I - rho y s') + rho s s',     s = step, y = change of r along it, rho = 1 / s'y,

learn what the sample did not know, at no product with the data. Residuals come from one sweep over blocks of rows that
stay in cache between ``Phi beta`` and ``Phi'g``; no line is searched. A whole step is right unless the slope along it
says otherwise; then, or when the gap falls slowly, the method of :mod:`softmargin.solvers._newton` takes over.

Certificate. The slopes at any margins ``v`` with ``1'g(v) = 0`` are a point of the dual, ``duality gap =
|ridge beta + Phi'g(v)|^2 / (2 ridge) + sum_i D_i`` with ``D = phi(u) - phi(v) - phi'(v) (u - v)``, weighted, never
negative. The intercept being nearly right, shifting the margins of a few rows makes the sum vanish, and the data are
not read again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import DataTerm, Problem
from softmargin.solvers._geometry import FeatureGeometry
from softmargin.solvers._line import center
from softmargin.solvers._solution import Solution

__all__ = ["glide"]

Array = NDArray[np.floating[Any]]

_MOST_STEPS = 8
_FLAT = 0.3  # a whole step is kept where the slope at its end is at most this fraction of the slope at its start
_SLOW = 0.2  # a gap that is not brought below this fraction by a step asks for a new Hessian
_FEW = 4096  # rows that make up for an intercept that is nearly right


def glide(problem: Problem, geometry: FeatureGeometry, start: Solution, tol: float) -> Solution:
    """From ``start``, a solution of a sample whose factor ``geometry`` holds, towards the solution of all rows.

    The result says by ``converged`` whether it is certified; if not, it is a better start.
    """
    target = tol * abs(start.objective)
    here = _Sweep(problem, geometry, np.append(start.coef, start.intercept))
    pairs = list[tuple[Array, Array]]()
    for n_iter in range(_MOST_STEPS):
        if here.gap <= target:
            found = here.certified(n_iter, tol)
            if found.converged:
                return found
        step = -_solve(geometry, pairs, here.residual)
        there = _Sweep(problem, geometry, here.place + step)
        slope = float(step @ here.residual)
        if not (there.gap <= _SLOW * here.gap and abs(float(step @ there.residual)) <= -_FLAT * slope):
            break
        pairs.append((step, there.residual - here.residual))
        here = there
    return replace(start, coef=here.place[:-1], intercept=float(here.place[-1]), converged=False)


class _Sweep:
    """What reading the data once tells about a place: margins, responses ``g``, residual, and nearly the gap."""

    def __init__(self, problem: Problem, geometry: FeatureGeometry, place: Array) -> None:
        self.problem, self.ridge, self.place = problem, geometry.ridge, place
        coef, intercept = place[:-1], float(place[-1])
        self.margins, self.g = np.empty(len(problem.y)), np.empty(len(problem.y))

        def respond(rows: slice, scores: Array) -> Array:
            self.margins[rows], self.g[rows] = problem.response(rows, scores, intercept)
            return self.g[rows]

        image, total = problem.expansion.sweep(coef, respond)
        self.residual = np.append(self.ridge * coef + image, total if problem.fit_intercept else 0.0)
        self.gap = float(self.residual[:-1] @ self.residual[:-1]) / (2 * self.ridge)
        if geometry.total:
            self.gap += float(self.residual[-1]) ** 2 / (2 * geometry.total)

    def certified(self, n_iter: int, tol: float) -> Solution:
        coef, intercept, problem = self.place[:-1], float(self.place[-1]), self.problem
        penalty = 0.5 * self.ridge * float(coef @ coef)
        objective = problem.cost(self.margins) + penalty
        gap = self._balanced_gap() / max(abs(objective), penalty)
        return Solution(coef, intercept, -self.g, objective, gap, n_iter, gap <= tol, history=[objective])

    def _balanced_gap(self) -> float:
        """Make the responses sum to zero by moving the margins of a few rows; the duality gap of the result."""
        residual, apart = self.residual[:-1], 0.0
        if self.problem.fit_intercept:
            rows = np.linspace(0, len(self.g) - 1, min(_FEW, len(self.g))).astype(np.intp)
            few = self.problem.take(rows, np.ones(len(rows)))
            # what the other rows sum to, as a tilt of these: balancing them balances all
            rest = (float(self.residual[-1]) - float(self.g[rows].sum())) / len(rows)
            few = replace(few, tilt=few.y * rest + (0.0 if few.tilt is None else few.tilt))
            u = self.margins[rows]
            _, v, term = center(few, u, DataTerm(few, u))
            change = few.y * term.slope - rest - self.g[rows]
            self.g[rows] += change
            residual = residual + few.expansion.transpose(change)
            apart = max(few.cost(u) - term.cost - float(term.slope @ (u - v)), 0.0)
        return float(residual @ residual) / (2 * self.ridge) + apart


def _solve(geometry: FeatureGeometry, pairs: list[tuple[Array, Array]], residual: Array) -> Array:
    """The inverse of the sample's Hessian, corrected by what the steps so far have shown (the two-loop recursion)."""
    rest, lengths = residual, list[float]()
    for s, y in reversed(pairs):
        lengths.append(float(s @ rest) / float(s @ y))
        rest = rest - lengths[-1] * y
    out = np.append(*geometry.solve(rest[:-1], float(rest[-1])))
    for (s, y), length in zip(pairs, reversed(lengths), strict=True):
        out = out + (length - float(y @ out) / float(s @ y)) * s
    return out
