"""Reading many rows once per step: what a sweep tells about a point, and steps that learn from the sweeps so far.

A sweep over blocks of rows that stay in cache between ``Phi beta`` and ``Phi'g`` yields margins, responses ``g`` and
the residual ``r = (ridge beta + Phi'g, 1'g)``, and no line is searched. A Hessian of a sample of the rows, or of a
point nearby, turns residuals into steps; BFGS corrections,

    H^-1 <- (I - rho s y') H^-1 (I - rho y s') + rho s s',     s = step, y = change of r along it, rho = 1 / s'y,

teach it the rest at no further product with the data.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Response
from softmargin.problem import Problem, RowTerm

__all__ = ["Secant", "Sweep"]

Array = NDArray[np.floating[Any]]

_LEAST_CURVATURE = 1e-10  # a correction needs this much curvature along its step, as a cosine


class Sweep:
    """A point ``(beta, b)`` with its margins, responses and residual; ``number`` counts the sweeps up to it."""

    def __init__(self, problem: Problem, point: Array, number: int = 0) -> None:
        self.problem, self.point, self.number = problem, point, number
        self.margins, self.g = np.empty(len(problem.y)), np.empty(len(problem.y))

        term = RowTerm(problem.loss, self.intercept)

        def keep(scores: Array, *vectors: Any) -> Response:
            y, weights, tilt, offset, margins, g = vectors
            margins[:] = term.margins(scores, y, offset)
            np.multiply(y, term.slopes(margins, weights, tilt), out=g)
            return Response(g)

        totals = problem.expansion.sweep(self.coef, keep, (*problem.vectors, self.margins, self.g))
        total = totals.total if problem.fit_intercept else 0.0
        self.residual = np.append(problem.penalty.ridge * self.coef + totals.gradient, total)

    @property
    def coef(self) -> Array:
        return self.point[:-1]

    @property
    def intercept(self) -> float:
        return float(self.point[-1])

    @property
    def penalty(self) -> float:
        return 0.5 * self.problem.penalty.ridge * float(self.coef @ self.coef)

    @cached_property
    def objective(self) -> float:
        return self.problem.cost(self.margins) + self.penalty

    def moved(self, step: Array) -> Sweep:
        """The point a step away."""
        return Sweep(self.problem, self.point + step, self.number + 1)

    def under(self, problem: Problem) -> Sweep:
        """The same point in a problem whose data term has the same slopes here."""
        other = copy(self)
        other.problem = problem
        other.__dict__.pop("objective", None)
        return other


class Secant:
    """An inverse Hessian, corrected by what the steps so far have shown (the two-loop recursion)."""

    def __init__(self, inverse: Callable[[Array], Array]) -> None:
        self.inverse = inverse
        self.pairs = list[tuple[Array, Array]]()

    def learn(self, before: Sweep, after: Sweep) -> None:
        """Take note of the residuals at both ends of a step."""
        s, y = after.point - before.point, after.residual - before.residual
        if float(s @ y) > _LEAST_CURVATURE * float(np.linalg.norm(s)) * float(np.linalg.norm(y)):
            self.pairs.append((s, y))

    def __call__(self, residual: Array) -> Array:
        """The corrected inverse times a residual."""
        rest, lengths = residual, list[float]()
        for s, y in reversed(self.pairs):
            lengths.append(float(s @ rest) / float(s @ y))
            rest = rest - lengths[-1] * y
        out = self.inverse(rest)
        for (s, y), length in zip(self.pairs, reversed(lengths), strict=True):
            out = out + (length - float(y @ out) / float(s @ y)) * s
        return out
