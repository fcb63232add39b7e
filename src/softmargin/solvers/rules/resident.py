"""A boosted model over rows in memory: margins of every row are kept, and moved by every step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.solvers.rules.learners import HeldColumns, Hypothesis, Learner, Proposal
from softmargin.solvers.rules.leveraging import (
    LARGEST_COEFFICIENT,
    Block,
    BlockDerivatives,
    Evaluation,
    WeightedRisk,
    correct,
    leverage,
)
from softmargin.solvers.rules.side_by_side import Channels
from softmargin.solvers.rules.state import FALLBACK_SMOOTHING, ModelState

__all__ = ["ResidentState"]

Array = NDArray[np.floating[Any]]

# Channels times rows up to which the channels of a block are solved side by side: it halves the time of 11 to 26
# classes on 1000 to 2000 rows and gains little beyond, where it would only hold more memory.
_SIDE_BY_SIDE = 200_000
_PAIRED = 4  # columns of such a block: products of all pairs are held
_TRIAL_TOL = 1e-5  # of steps that only rank proposals: the risk they reach is off by the square of it


@dataclass(kw_only=True)
class ResidentState(ModelState):
    """Labels (channels, rows), weights, the columns of the hypotheses held and the loss at the present margins."""

    y: Array
    weights: Array
    learner: Learner
    columns: HeldColumns
    points: list[Evaluation] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.n_fixed:
            self.columns.append_constant()
        self.switch(self.loss)

    def risk_of(self, k: int) -> WeightedRisk:
        """The risk of channel ``k``."""
        return WeightedRisk(self.loss, self.y[k], self.weights, self.learner.n_threads)

    def switch(self, loss: Loss) -> None:
        margins = [p.margins for p in self.points] or [np.zeros(self.y.shape[1]) for _ in self.y]
        self.loss = loss
        self.points = [self.risk_of(k).at(z) for k, z in enumerate(margins)]

    @property
    def size(self) -> float:
        return float(sum(self.weights @ np.abs(point.slope) for point in self.points))

    def risk(self) -> float:
        return sum(self.risk_of(k).value(point) for k, point in enumerate(self.points))

    def propose(self, n_round: int, count: int) -> list[Proposal]:
        return self.learner.propose(self.signed_weights(), n_round, count)

    def signed_weights(self) -> Array:
        """``c y w`` of each row, a column per channel."""
        g = [-self.weights * self.y[k] * point.slope for k, point in enumerate(self.points)]
        return np.ascontiguousarray(np.stack(g, axis=1))

    def minimise(self, members: Sequence[int], tol: float, rate: float = 1.0) -> float:
        members = list(members)
        channels = self._side_by_side(members)
        blocks = [] if channels is None else channels.correct(self.points, self.coef[:, members], tol)
        if channels is None or max(float(np.abs(block.coef).max()) for block in blocks) > LARGEST_COEFFICIENT:
            return super().minimise(members, tol, rate)
        step = rate * (np.stack([block.coef for block in blocks]) - self.coef[:, members])
        self.coef[:, members] += step
        self.points = [block.point for block in blocks] if rate == 1 else channels.moved(self.points, step)
        return max(block.edge for block in blocks)

    def _side_by_side(self, members: Sequence[int]) -> Channels | None:
        """A small block of several channels that has an optimum."""
        pseudo = self.pseudo(members)
        if len(self.y) == 1 or self.y.size > _SIDE_BY_SIDE or not 0 < len(members) <= _PAIRED or not pseudo.any():
            return None
        columns = self.columns.columns(np.asarray(members, dtype=np.intp))
        return Channels(self.loss, self.y, self.weights, columns, pseudo)

    def gradients(self, members: Sequence[int]) -> Array:
        channels = self._side_by_side(members)
        if channels is not None:
            return channels.gradients(self.points, self.coef[:, members])
        parts = [self._derivatives(k, members).gradient(p, self.coef[k, members])[0] for k, p in enumerate(self.points)]
        return np.stack(parts)

    def largest_edge(self) -> float:
        members = range(self.n_columns)
        if not members:
            return 0.0
        return max(self._derivatives(k, members).gradient(p, self.coef[k])[1] for k, p in enumerate(self.points))

    def squared_norms(self, members: Sequence[int]) -> Array:
        return self.columns.select(members).squared_norms(self.weights)

    def reach(self, members: Sequence[int]) -> Array:
        return np.array([max(1.0, float(np.abs(self.columns.column(t)).max())) for t in members])

    def return_to(self, loss: Loss, coef: Array, smoothing: float) -> None:
        self.columns.keep(coef.shape[1])
        self.forget(coef.shape[1])
        self.coef, self.smoothing, self.loss = coef.copy(), smoothing, loss
        self.points = [self.risk_of(k).at(self.y[k] * self.columns.apply(a)) for k, a in enumerate(coef)]

    def after(self, proposal: Proposal) -> tuple[float, float]:
        points = self._trial(proposal)
        risk = sum(self.risk_of(k).value(point) for k, point in enumerate(points))
        wrong = sum(float(self.weights @ (point.margins <= 0)) for point in points)
        return risk, wrong / (float(self.weights.sum()) * len(points))

    def _derivatives(self, k: int, members: Sequence[int]) -> BlockDerivatives:
        return BlockDerivatives(self.loss, self.pseudo(members), self.risk_of(k), self._selected(members))

    def _selected(self, members: Sequence[int]) -> HeldColumns:
        return self.columns if len(members) == self.n_columns else self.columns.select(members)

    def _append(self, hypothesis: Hypothesis) -> None:
        self.columns.append(hypothesis.content)

    def _solved(self, k: int, members: list[int], tol: float) -> Block:
        point, coef, risk = self.points[k], self.coef[k, members], self.risk_of(k)
        if len(members) == 1 and self.smoothing == 0:
            step = leverage(risk, point, self.columns.column(members[0]), tol=tol)
            return Block(coef + step.delta, step.point, step.residual)
        return correct(risk, self._selected(members), Block(coef, point), smoothing=self.pseudo(members), tol=tol)

    def _move(self, k: int, members: list[int], step: Array, block: Block | None) -> None:
        if block is not None:
            self.points[k] = block.point
            return
        move = self.columns.select(members).apply(step)
        self.points[k] = self.risk_of(k).at(self.points[k].margins + self.y[k] * move)

    def _trial(self, proposal: Proposal) -> list[Evaluation]:
        """The margins after leveraging a proposal from zero, without keeping it."""
        values = [self.learner.values(one) for one in proposal.block]
        smoothing = self.smoothing or FALLBACK_SMOOTHING if len(values) > 1 or self._pure(values[0]) else self.smoothing
        if len(values) == 1:
            return [
                leverage(self.risk_of(k), point, values[0], smoothing=smoothing, tol=_TRIAL_TOL).point
                for k, point in enumerate(self.points)
            ]
        columns = self.learner.hold(len(values))
        for one in proposal.block:
            columns.append(one.content)
        start = np.zeros(len(values))
        return [
            correct(self.risk_of(k), columns, Block(start, point), smoothing=smoothing, tol=_TRIAL_TOL).point
            for k, point in enumerate(self.points)
        ]

    def _pure(self, column: Array) -> bool:
        """Whether a channel's labels all agree, or all disagree, with the column where it is not zero."""
        return any(bool(np.all(y * column >= 0) or np.all(y * column <= 0)) for y in self.y)
