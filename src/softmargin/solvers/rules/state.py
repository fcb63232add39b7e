"""A boosted model under construction: the hypotheses held, their coefficients, and the margins they give.

The objective of every step is the smoothed risk

    sum_k [ sum_i c_i psi(y_ik f_ik) + smoothing sum_t (psi(a_kt) + psi(-a_kt) - 2 psi(0)) ],

zero smoothing for the constant column; ``largest_edge`` is the size of its gradient and the certificate of the fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.solvers.rules.learners import HeldColumns, Hypothesis, Learner, Proposal
from softmargin.solvers.rules.leveraging import (
    Block,
    BlockDerivatives,
    Evaluation,
    Separable,
    SeparableWarning,
    WeightedRisk,
    correct,
    leverage,
)

__all__ = ["FALLBACK_SMOOTHING", "ModelState"]

Array = NDArray[np.floating[Any]]

FALLBACK_SMOOTHING = 0.5  # pseudo-examples per hypothesis when the optimum is at infinity: Laplace's rule


@dataclass
class ModelState:
    """Coefficients (channels, columns) of the columns held; column 0 is the constant when ``n_fixed`` is 1."""

    loss: Loss
    y: Array
    weights: Array
    learner: Learner
    columns: HeldColumns
    smoothing: float
    n_fixed: int
    coef: Array
    points: list[Evaluation] = field(default_factory=list)
    hypotheses: list[Hypothesis] = field(default_factory=list)
    _hessians: dict[int, Array | None] = field(default_factory=dict)
    _known: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n_fixed:
            self.columns.append_constant()
        self.switch(self.loss)

    def risk_of(self, k: int) -> WeightedRisk:
        """The risk of channel ``k``."""
        return WeightedRisk(self.loss, self.y[k], self.weights, self.learner.n_threads)

    def switch(self, loss: Loss) -> None:
        """Go on with another loss at the same scores."""
        margins = [p.margins for p in self.points] or [np.zeros(self.y.shape[1]) for _ in self.y]
        self.loss = loss
        self.points = [self.risk_of(k).at(z) for k, z in enumerate(margins)]
        self._hessians.clear()

    @property
    def size(self) -> float:
        """The total weight of the examples."""
        return float(sum(self.weights @ np.abs(point.slope) for point in self.points))

    def signed_weights(self) -> Array:
        """``c y w`` of each row, a column per channel."""
        g = [-self.weights * self.y[k] * point.slope for k, point in enumerate(self.points)]
        return np.ascontiguousarray(np.stack(g, axis=1))

    def objective(self) -> float:
        """The smoothed risk."""
        total = sum(self.risk_of(k).value(point) for k, point in enumerate(self.points))
        pseudo = self.pseudo(range(self.coef.shape[1]))
        if np.any(pseudo):
            both = self.loss.value(self.coef) + self.loss.value(-self.coef) - 2 * self.loss.value(0.0)
            total += float((both @ pseudo).sum())
        return total

    def pseudo(self, members: Sequence[int]) -> Array:
        """Smoothing of each member; the constant needs none, both classes are present."""
        return np.where(np.asarray(members) < self.n_fixed, 0.0, self.smoothing)

    def hold(self, block: Sequence[Hypothesis]) -> list[int]:
        """The numbers of the columns of a block, added where they are new."""
        members = []
        for one in block:
            if one.key not in self._known:
                self._known[one.key] = self.columns.shape[1]
                self.columns.append(one.content)
                self.hypotheses.append(one)
                self.coef = np.column_stack([self.coef, np.zeros(len(self.coef))])
            members.append(self._known[one.key])
        return members

    def gradients(self, members: Sequence[int]) -> Array:
        """The gradient of the objective, (channels, members)."""
        columns = self.columns.select(members)
        parts = []
        for k, point in enumerate(self.points):
            derivatives = BlockDerivatives(self.risk_of(k), columns, self.pseudo(members))
            parts.append(derivatives.gradient(point, self.coef[k, members])[0])
        return np.stack(parts)

    def largest_edge(self) -> float:
        """The largest entry of the gradient relative to the weights of the examples."""
        members, edges = range(self.columns.shape[1]), [0.0]
        for k, point in enumerate(self.points if members else ()):
            derivatives = BlockDerivatives(self.risk_of(k), self.columns, self.pseudo(members))
            edges.append(derivatives.gradient(point, self.coef[k])[1])
        return max(edges)

    def minimise(self, members: Sequence[int], tol: float, rate: float = 1.0) -> float:
        """A leveraging step on the block ``members`` for every channel, times ``rate``; returns the residual left."""
        members, residual = list(members), 0.0
        for k in range(len(self.points)):
            block = self._solve(k, members, tol)
            step = rate * (block.coef - self.coef[k, members])
            self.coef[k, members] += step
            if rate == 1:
                self.points[k] = block.point
            else:
                move = self.columns.select(members).apply(step)
                self.points[k] = self.risk_of(k).at(self.points[k].margins + self.y[k] * move)
            residual = max(residual, block.edge)
        return residual

    def _solve(self, k: int, members: list[int], tol: float) -> Block:
        point, coef, risk = self.points[k], self.coef[k, members], self.risk_of(k)
        try:
            if len(members) == 1 and self.smoothing == 0:
                step = leverage(risk, point, self.columns.column(members[0]), tol=tol)
                return Block(coef + step.delta, step.point, step.residual)
            whole = len(members) == self.columns.shape[1]
            block = correct(
                risk,
                self.columns if whole else self.columns.select(members),
                Block(coef, point, hessian=self._hessians.get(k) if whole else None),
                smoothing=self.pseudo(members),
                tol=tol,
            )
            if whole:
                self._hessians[k] = block.hessian
            return block
        except Separable:
            self._smooth()
            return self._solve(k, members, tol)

    def _smooth(self) -> None:
        if self.smoothing > 0:
            raise AssertionError("a smoothed block always has a finite optimum")
        warnings.warn(
            "The rules separate the classes, so their coefficients have no finite optimum; from here on each rule is "
            f"smoothed by two pseudo-examples of weight {FALLBACK_SMOOTHING}. Set smoothing > 0 to do so from the "
            "start, or fewer rules.",
            SeparableWarning,
            stacklevel=2,
        )
        self.smoothing = FALLBACK_SMOOTHING

    def trial(self, proposal: Proposal) -> list[Evaluation]:
        """The margins after leveraging a proposal from zero, without keeping it."""
        values = [self.learner.values(one) for one in proposal.block]
        smoothing = self.smoothing or FALLBACK_SMOOTHING if len(values) > 1 or self._pure(values[0]) else self.smoothing
        if len(values) == 1:
            return [
                leverage(self.risk_of(k), point, values[0], smoothing=smoothing).point
                for k, point in enumerate(self.points)
            ]
        columns = self.learner.hold(len(values))
        for one in proposal.block:
            columns.append(one.content)
        start = np.zeros(len(values))
        return [
            correct(self.risk_of(k), columns, Block(start, point), smoothing=smoothing).point
            for k, point in enumerate(self.points)
        ]

    def _pure(self, column: Array) -> bool:
        """Whether a channel's labels all agree, or all disagree, with the column where it is not zero."""
        return any(bool(np.all(y * column >= 0) or np.all(y * column <= 0)) for y in self.y)

    def return_to(self, loss: Loss, coef: Array, smoothing: float) -> None:
        """Forget all columns but those of ``coef``."""
        self.columns.keep(coef.shape[1])
        self.hypotheses = self.hypotheses[: coef.shape[1] - self.n_fixed]
        self._known = {key: t for key, t in self._known.items() if t < coef.shape[1]}
        self.coef, self.smoothing, self.loss = coef.copy(), smoothing, loss
        self.points = [self.risk_of(k).at(self.y[k] * self.columns.apply(a)) for k, a in enumerate(coef)]
        self._hessians.clear()
