"""Generalised approximate cross-validation: leave-one-out with every influence replaced by their mean.

For the logistic loss, truncated or not, with ``R`` the rows that are not truncated and ``z = (y + 1)/2``,

    GACV = base + (tr H / n) sum_R z_i r_i / (n - df),    df = sum_R h_i W_i.

For other losses it is the mean loss at the scores ``f_i - (tr H / n) r_i / (1 - df / n)``.
"""

from __future__ import annotations

from softmargin.tuning.criteria._fitted import Fitted, is_logistic

__all__ = ["gacv"]


def gacv(fit: Fitted) -> float:
    """Generalised approximate cross-validation."""
    if not is_logistic(fit.loss):
        scores = fit.scores - fit.mean_shift
        return float((fit.count * fit.weight) @ fit.loss.value(fit.y * scores)) / fit.n
    mean = float(fit.count @ fit.influence) / fit.n
    z = fit.count * (fit.y + 1) / 2
    return fit.base + mean * float(z @ fit.pull) / (fit.n - fit.df)
