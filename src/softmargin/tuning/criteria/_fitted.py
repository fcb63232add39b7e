"""One fit as the criteria see it: its loss, labels, scores, weights and influences.

With ``h_i`` the influence of row ``i``, ``r_i = -y_i w_i phi'(u_i)`` its pull and ``W_i = w_i phi''(u_i)``, one
Newton step away from the fit gives the score the row would have had without itself,

    f_i - f_i^(-i) = h_i r_i / (1 - h_i W_i),

exact for a squared loss and for rows without pull (a truncated row). ``df = sum_i h_i W_i`` are its degrees of freedom.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss

__all__ = ["Fitted", "alo_scores", "is_logistic"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Fitted:
    """What the criteria need of one fit: the loss, the labels, the scores, the row weights and the influences.

    ``weight`` is the importance of a row (its class weight), ``count`` how many equal rows it stands for: one of them
    is left out at a time. ``cost`` is the factor ``C`` in front of the sum.
    """

    loss: Loss
    y: Array
    scores: Array
    weight: Array
    cost: float
    influence: Array
    count: Array

    @property
    def n(self) -> float:
        """The number of rows, repeated ones counted."""
        return float(self.count.sum())

    @property
    def margins(self) -> Array:
        return self.y * self.scores

    @property
    def base(self) -> float:
        """The mean loss of the fit itself."""
        return float((self.count * self.weight) @ self.loss.value(self.margins)) / self.n

    @property
    def curvature(self) -> Array:
        return self.cost * self.weight * self.loss.curvature(self.margins)

    @property
    def pull(self) -> Array:
        return -self.y * self.cost * self.weight * self.loss.slope(self.margins)

    @property
    def df(self) -> float:
        """Degrees of freedom: the trace of the influence matrix in the metric of the curvature."""
        return float((self.count * self.influence) @ self.curvature)

    @property
    def shift(self) -> Array:
        """``f_i - f_i^(-i)``: what each row adds to its own score."""
        return self.influence * self.pull / np.maximum(1 - self.influence * self.curvature, 1e-12)

    @property
    def mean_shift(self) -> Array:
        """The same with every influence replaced by their mean."""
        mean = float(self.count @ self.influence) / self.n
        return mean * self.pull / max(1 - self.df / self.n, 1e-12)

    @property
    def charge(self) -> float:
        """``sum_i C (w_i phi'(u_i))^2 h_i``: what the fit has gained on its own rows, in units of the loss."""
        slope = self.loss.slope(self.margins)
        return self.cost * float((self.count * np.square(self.weight * slope)) @ self.influence)


def alo_scores(fit: Fitted) -> Array:
    """The score of each row had it not been in the fit, to first order."""
    return fit.scores - fit.shift


def is_logistic(loss: Loss) -> bool:
    """Whether the loss is a negative log likelihood, truncated or not."""
    return loss.name in ("logistic", "truncated_logistic")
