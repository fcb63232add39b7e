"""Approximate leave-one-out: the mean loss at the scores each row would have had without itself."""

from __future__ import annotations

from softmargin.tuning.criteria._fitted import Fitted, alo_scores

__all__ = ["alo"]


def alo(fit: Fitted) -> float:
    """Approximate leave-one-out mean loss."""
    return float((fit.count * fit.weight) @ fit.loss.value(fit.y * alo_scores(fit))) / fit.n
