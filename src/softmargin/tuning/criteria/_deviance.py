"""What AIC and BIC are made of: minus twice a log likelihood, and what it costs to have fitted it.

A logistic loss, truncated or not, is its own likelihood; another convex loss with a link has the deviance of its
probabilities. Both are charged the degrees of freedom of the fit. Any other loss (a bounded one gives impossible rows
a finite cost, its link does not) is minus its own log likelihood up to the unit: twice its sum, charged
``sum_i C (w_i phi'(u_i))^2 h_i``, the trace in Takeuchi's criterion and in Ronchetti's for robust estimates.
"""

from __future__ import annotations

import numpy as np

from softmargin.losses import NoLink
from softmargin.tuning.criteria._fitted import Fitted, is_logistic

__all__ = ["deviance_and_charge"]


def deviance_and_charge(fit: Fitted) -> tuple[float, float]:
    """Minus twice the log likelihood, and the number of parameters it was fitted with."""
    if is_logistic(fit.loss):
        return 2 * fit.n * fit.base, fit.df
    odds = _odds(fit) if fit.loss.convex else None
    if odds is not None:
        return 2 * float((fit.count * fit.weight) @ np.logaddexp(0, -fit.y * odds)), fit.df
    return 2 * fit.n * fit.base, fit.charge


def _odds(fit: Fitted) -> np.ndarray | None:
    try:
        return np.asarray(fit.loss.log_odds(fit.scores))
    except NoLink:
        return None
