"""The extended criterion for robust losses: midway between counting no and all of the rows a fit has given up.

For the logistic loss, truncated or not, a star dropping the truncation,

    EGACV = base + (tr H / 2n) sum_i z_i r*_i / (n - df*),    df* = sum_i h_i W*_i.

For other losses it is the mean of the loss itself and of that of the generalised criterion.
"""

from __future__ import annotations

from scipy.special import expit

from softmargin.tuning.criteria._fitted import Fitted, is_logistic
from softmargin.tuning.criteria.gacv import gacv

__all__ = ["egacv"]


def egacv(fit: Fitted) -> float:
    """The extended criterion."""
    if not is_logistic(fit.loss):
        return (fit.base + gacv(fit)) / 2
    z, p = (fit.y + 1) / 2, expit(fit.scores)
    cost = fit.count * fit.cost * fit.weight
    trace = float(fit.count @ fit.influence)
    df = float(fit.influence @ (cost * p * (1 - p)))
    return fit.base + trace / (2 * fit.n) * float(z @ (cost * (z - p))) / (fit.n - df)
