"""A boosted model under construction: the hypotheses held, their coefficients, and what the rows answer to them.

The objective of every step is the smoothed risk

    sum_k [ sum_i c_i psi(y_ik f_ik) + smoothing sum_t (psi(a_kt) + psi(-a_kt) - 2 psi(0)) ],

zero smoothing for the constant column; ``largest_edge`` is the size of its gradient and the certificate of the fit.
Boosting sees this class; :mod:`~softmargin.solvers.rules.resident` answers for rows in memory,
:mod:`~softmargin.solvers.rules.chunked` for rows elsewhere.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.solvers.rules.learners import Hypothesis, Proposal
from softmargin.solvers.rules.leveraging import Block, Separable, SeparableWarning, both_ways

__all__ = ["FALLBACK_SMOOTHING", "ModelState"]

Array = NDArray[np.floating[Any]]

FALLBACK_SMOOTHING = 0.5  # pseudo-examples per hypothesis when the optimum is at infinity: Laplace's rule


@dataclass(kw_only=True)
class ModelState(ABC):
    """Coefficients (channels, columns) of the columns held; column 0 is the constant when ``n_fixed`` is 1."""

    loss: Loss
    smoothing: float
    n_fixed: int
    coef: Array
    hypotheses: list[Hypothesis] = field(default_factory=list)
    _known: dict[Any, int] = field(default_factory=dict)

    # -- what the rows answer ------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def size(self) -> float:
        """The total weight of the examples."""

    @abstractmethod
    def risk(self) -> float:
        """``sum_k sum_i c_i psi(y_ik f_ik)``."""

    @abstractmethod
    def switch(self, loss: Loss) -> None:
        """Go on with another loss at the same scores."""

    @abstractmethod
    def propose(self, n_round: int, count: int) -> list[Proposal]:
        """The best blocks to leverage next, at most ``count``."""

    @abstractmethod
    def after(self, proposal: Proposal) -> tuple[float, float]:
        """The risk after leveraging a proposal from zero, and the share of the weight on the wrong side."""

    @abstractmethod
    def gradients(self, members: Sequence[int]) -> Array:
        """The gradient of the objective, (channels, members)."""

    @abstractmethod
    def largest_edge(self) -> float:
        """The largest entry of the gradient relative to the weights of the examples."""

    @abstractmethod
    def squared_norms(self, members: Sequence[int]) -> Array:
        """``sum_i c_i h_i^2`` of each member."""

    @abstractmethod
    def reach(self, members: Sequence[int]) -> Array:
        """``max(1, max_i |h_i|)`` of each member."""

    @abstractmethod
    def return_to(self, loss: Loss, coef: Array, smoothing: float) -> None:
        """Forget all columns but those of ``coef``."""

    @abstractmethod
    def _append(self, hypothesis: Hypothesis) -> None:
        """Hold one more column, with coefficients of zero."""

    @abstractmethod
    def _solved(self, k: int, members: list[int], tol: float) -> Block:
        """[LC] solved on a block for channel ``k``; may raise ``Separable``."""

    @abstractmethod
    def _move(self, k: int, members: list[int], step: Array, block: Block | None) -> None:
        """Tell the rows the step of a channel; ``block`` is where it leads, None where it was shortened."""

    # -- what boosting does with it ------------------------------------------------------------------------------

    @property
    def n_columns(self) -> int:
        return int(self.coef.shape[1])

    def objective(self) -> float:
        """The smoothed risk."""
        total = self.risk()
        pseudo = self.pseudo(range(self.n_columns))
        if np.any(pseudo):
            both = both_ways(self.loss.value, self.coef).sum(axis=0) - 2 * self.loss.value(0.0)
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
                self._known[one.key] = self.n_columns
                self.hypotheses.append(one)
                self.coef = np.column_stack([self.coef, np.zeros(len(self.coef))])
                self._append(one)
            members.append(self._known[one.key])
        return members

    def minimise(self, members: Sequence[int], tol: float, rate: float = 1.0) -> float:
        """A leveraging step on the block ``members`` for every channel, times ``rate``; returns the residual left."""
        members, residual = list(members), 0.0
        for k in range(len(self.coef)):
            block = self._solve(k, members, tol)
            step = rate * (block.coef - self.coef[k, members])
            self.coef[k, members] += step
            self._move(k, members, step, block if rate == 1 else None)
            residual = max(residual, block.edge)
        return residual

    def renormalise(self) -> bool:
        """Divide the coefficients by what they add up to beyond the limit of the loss; whether that changed any.

        The limit is the score of a certain label: 1 for the squared loss, which rises again beyond it. Hypotheses
        within [-1, 1] then score within the limit on any row.
        """
        limit = float(self.loss.score(1.0))
        factors = np.minimum(1.0, limit / np.maximum(np.abs(self.coef).sum(axis=1), np.finfo(float).tiny))
        if np.all(factors == 1):
            return False
        self.return_to(self.loss, self.coef * factors[:, None], self.smoothing)
        return True

    def forget(self, count: int) -> None:
        """Keep the first ``count`` columns only."""
        self.hypotheses = self.hypotheses[: count - self.n_fixed]
        self._known = {key: t for key, t in self._known.items() if t < count}

    def _solve(self, k: int, members: list[int], tol: float) -> Block:
        try:
            return self._solved(k, members, tol)
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
