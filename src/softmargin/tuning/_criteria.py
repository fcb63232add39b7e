"""How good is a fit, judged by the rows it was fitted to? Criteria from one fit and its influences.

With ``h_i`` the influence of row ``i``, ``r_i = -y_i w_i phi'(u_i)`` its pull and ``W_i = w_i phi''(u_i)``, one
Newton step away from the fit gives the score the row would have had without itself,

    f_i - f_i^(-i) = h_i r_i / (1 - h_i W_i),

exact for a squared loss and for rows without pull (a truncated row). The approximate leave-one-out criterion (ALO) is
the mean loss at those scores. For the logistic loss, truncated or not, the generalised criteria average the
influences:

    GACV  = base + (tr H / n) sum_R z_i r_i / (n - df),          df  = sum_R h_i W_i
    EGACV = base + (tr H / 2n) sum_i z_i r*_i / (n - df*),       df* = sum_i h_i W*_i

where ``R`` are the rows that are not truncated, ``z = (y + 1)/2``, and a star drops the truncation. AIC and BIC are
``2 n base + penalty df`` with penalty ``2`` or ``log n``; other losses with a link use their deviance for ``2 n base``.
All are per row of positive weight; smaller is better.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from softmargin.losses import Loss, NoLink

__all__ = ["Fitted", "aic", "alo", "alo_scores", "bic", "egacv", "gacv"]

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


def alo_scores(fit: Fitted) -> Array:
    """The score of each row had it not been in the fit, to first order."""
    leverage = np.maximum(1 - fit.influence * fit.curvature, 1e-12)
    return fit.scores - fit.influence * fit.pull / leverage


def alo(fit: Fitted) -> float:
    """Approximate leave-one-out mean loss."""
    return float((fit.count * fit.weight) @ fit.loss.value(fit.y * alo_scores(fit))) / fit.n


def gacv(fit: Fitted) -> float:
    """Generalised approximate cross-validation (logistic losses)."""
    _require_logistic(fit.loss, "gacv")
    z = fit.count * (fit.y + 1) / 2
    trace = float(fit.count @ fit.influence)
    return fit.base + trace / fit.n * float(z @ fit.pull) / (fit.n - fit.df)


def egacv(fit: Fitted) -> float:
    """The extended criterion: midway between counting no and all truncated rows (logistic losses)."""
    _require_logistic(fit.loss, "egacv")
    z, p = (fit.y + 1) / 2, expit(fit.scores)
    cost = fit.count * fit.cost * fit.weight
    trace = float(fit.count @ fit.influence)
    df = float(fit.influence @ (cost * p * (1 - p)))
    return fit.base + trace / (2 * fit.n) * float(z @ (cost * (z - p))) / (fit.n - df)


def aic(fit: Fitted) -> float:
    """Akaike's criterion with the influence trace as degrees of freedom."""
    return _deviance(fit) + 2 * fit.df


def bic(fit: Fitted) -> float:
    """Schwarz's criterion with the influence trace as degrees of freedom."""
    return _deviance(fit) + np.log(fit.n) * fit.df


def _is_logistic(loss: Loss) -> bool:
    return loss.name in ("logistic", "truncated_logistic")


def _require_logistic(loss: Loss, criterion: str) -> None:
    if not _is_logistic(loss):
        raise ValueError(
            f"criterion={criterion!r} is defined for the logistic loss and its truncation; got {loss!r}. Use 'alo'."
        )


def _deviance(fit: Fitted) -> float:
    if _is_logistic(fit.loss):
        return 2 * fit.n * fit.base
    try:
        odds = fit.loss.log_odds(fit.scores)
    except NoLink as error:
        raise ValueError(f"aic and bic need a likelihood, and {fit.loss!r} has no link: {error} Use 'alo'.") from error
    return 2 * float((fit.count * fit.weight) @ np.logaddexp(0, -fit.y * odds))
