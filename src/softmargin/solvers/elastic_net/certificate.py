"""How far is a point from the elastic-net optimum? Violations of its conditions, and a duality gap for any loss.

With ``g`` the slopes of the data term ``L`` in each score (``sum g = 0``: the intercept is optimal), ``v = Phi'g`` and
``G = v + ridge b`` (``K(g + ridge b)`` for kernel columns), the point is optimal when ``G_j = -l_j sign(b_j)``, and
``|G_j| <= l_j`` where ``b_j = 0``.

Any multiple ``c g``, ``0 <= c <= 1``, of the slopes is a point of the dual, and no conjugate is needed to value it:
Fenchel-Young holds with equality at ``g``, ``L*(g) = g'f - L(f)``, and convexity gives
``L*(c g) <= c L*(g) + (1 - c) L*(0)`` with ``L*(0) = -inf L``. Two choices bound the gap ``L + Omega(b) + L*(c g) +
Omega*(-c v)``:

* features with a ridge, ``c = 1``:  ``Omega*(-v) = sum S(v_j, l_j)^2 / (2 ridge)``;
* always, ``c = min(1, min_j l_j / |G_j|)``:  ``Omega*(-c v) <= c^2 ridge/2 b'b`` (``b'K b``).

The second is about ``(1 - c)(L + Omega)``; where the loss knows its conjugate, ``L*(c g)`` itself makes it
``(1 - c) Omega``. It needs ``inf L`` finite, which a tilt can spoil, and no violated coefficient free of l1 cost. Where
neither applies the largest violation, in units of the largest l1 cost, is reported instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.problem import Problem
from softmargin.solvers.engine import relative_gap

__all__ = ["Certificate", "PrimalDual", "certify", "violations"]

Array = NDArray[np.floating[Any]]


class Certificate(NamedTuple):
    """An absolute optimality measure and its name."""

    gap: float
    kind: str

    def relative(self, objective: float, penalty: float) -> float:
        """The measure in units of the objective; a violation already is in units of the l1 cost."""
        return relative_gap(self.gap, objective, penalty) if self.kind == "duality gap" else self.gap


def violations(G: Array, coef: Array, cost: Array, positive: bool) -> Array:
    """By how much each coefficient violates its optimality condition."""
    at_zero = -G - cost if positive else np.abs(G) - cost
    return np.where(coef == 0, np.maximum(at_zero, 0.0), np.abs(G + cost * np.sign(coef)))


@dataclass(frozen=True)
class PrimalDual:
    """A point and the dual point its slopes make, with what a certificate needs of them.

    ``conjugate`` is ``L*`` (or a bound of it) at dual slopes that sum to zero, ``v`` their product with the columns,
    ``scores`` is ``Phi coef``, ``cost`` the l1 cost of each coefficient. ``shrunk(c)`` is ``L*`` at ``c`` times those
    slopes, if it is to be computed.
    """

    loss: float
    conjugate: float
    v: Array
    coef: Array
    scores: Array
    cost: Array
    shrunk: Callable[[float], float] | None = None


def certify(problem: Problem, at: PrimalDual) -> Certificate:
    """The best bound on how far the objective is above its minimum."""
    loss, conjugate, v, coef, scores, cost = at.loss, at.conjugate, at.v, at.coef, at.scores, at.cost
    is_kernel = problem.expansion.is_kernel
    square = max(float(coef @ (scores if is_kernel else coef)), 0.0)  # rounding alone makes it negative
    size = scores if is_kernel else coef
    if not is_kernel:  # columns at rest, b_j = 0 and |v_j| <= l_j, contribute nothing
        moving = np.flatnonzero((np.abs(v) > cost) | (coef != 0))
        v, coef, size, cost = v[moving], coef[moving], size[moving], cost[moving]
    G = v + problem.penalty.ridge * size
    penalty = problem.penalty
    ridge, positive = penalty.ridge, penalty.positive
    omega = 0.5 * ridge * square + float(cost @ np.abs(coef))
    best = math.inf
    if ridge > 0 and not is_kernel:
        beyond = np.maximum((-v if positive else np.abs(v)) - cost, 0.0)
        best = loss + omega + conjugate + float(beyond @ beyond) / (2 * ridge)
    excess = -G if positive else np.abs(G)
    over = excess > cost
    if problem.tilt is None and not np.any(over & (cost == 0)):
        c = float(np.min(cost[over] / excess[over], initial=1.0))
        floor = problem.constant + problem.floor
        bound = c * conjugate - (1 - c) * floor
        if at.shrunk is not None:
            bound = min(bound, at.shrunk(c))
        best = min(best, loss + omega + bound + 0.5 * c * c * ridge * square)
    if math.isfinite(best):
        return Certificate(abs(best), "duality gap")  # a bound above the objective shows how much is rounding
    scale = float(cost.max(initial=0.0)) or 1.0
    return Certificate(float(violations(G, coef, cost, positive).max(initial=0.0)) / scale, "KKT violation")
