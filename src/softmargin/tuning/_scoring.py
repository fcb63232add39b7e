"""What an honest score costs: the loss itself, the log loss or Brier score of its probability, or a wrong label.

A wrong label costs 1 (``"error"``), or passes smoothly from 1 to 0 across the boundary (``"soft_error"``): with ``u``
the margin of the label, ``1 / (1 + exp(4 u / mean |u|))``. Counting jumps by ``1/n`` whenever one row changes sides, so
among many candidates it mostly finds the luckiest; the soft count moves with every row. Like the count it has
``cost(u) + cost(-u) = 1``: labels flipped at random change the mean by the same straight line for all candidates, and
leave the best one the best. It takes no probabilities, and scores of any unit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from softmargin.losses import Loss, NoLink
from softmargin.probability import couple, two_columns

__all__ = ["SCORINGS", "proba_costs", "row_costs", "soft_errors"]

Array = NDArray[np.floating[Any]]
SCORINGS = ("loss", "log_loss", "brier", "error", "soft_error")


def row_costs(scoring: str, loss: Loss, codes: NDArray[np.intp], scores: Array, weight: Array) -> Array:
    """The cost of each row; ``scores`` has one column per class, or is a vector for two classes."""
    if scoring == "loss":
        if scores.ndim == 1:
            return loss.value(np.where(codes == 1, 1.0, -1.0) * scores)
        own = np.arange(scores.shape[1]) == codes[:, None]
        return loss.value(np.where(own, scores, -scores)).sum(axis=1)
    if scoring == "error":
        label = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return (label != codes).astype(float)
    if scoring == "soft_error":
        return soft_errors(codes, scores, weight)
    return proba_costs(scoring, codes, probabilities(loss, scores))


def soft_errors(codes: NDArray[np.intp], scores: Array, weight: Array) -> Array:
    """A wrong label's cost with a smooth passage, as wide as the weighted mean margin is large."""
    scores = np.asarray(scores, dtype=float)
    if scores.ndim == 1:
        margins = np.where(codes == 1, scores, -scores)
    else:
        own = np.arange(scores.shape[1]) == codes[:, None]
        margins = scores[own] - np.where(own, -np.inf, scores).max(axis=1)
    unit = float(weight @ np.abs(margins)) / float(weight.sum()) if len(weight) else 0.0
    return expit(-4 * margins / unit) if unit > 0 else np.full(len(margins), 0.5)


def probabilities(loss: Loss, scores: Array) -> Array:
    """Class probabilities by the loss's link."""
    try:
        parts = loss.probability(scores)
    except NoLink as error:
        raise ValueError(f"scoring by probabilities needs a link: {error} Use scoring='loss' or 'error'.") from error
    return two_columns(parts, scores) if scores.ndim == 1 else couple(parts, scores)


def proba_costs(scoring: str, codes: NDArray[np.intp], P: Array) -> Array:
    """The cost of each row of a matrix of class probabilities."""
    if scoring == "log_loss":
        own = P[np.arange(len(codes)), codes]
        return -np.log(np.maximum(own, np.finfo(float).eps))
    if scoring == "brier":
        indicator = np.arange(P.shape[1]) == codes[:, None]
        return np.square(P - indicator).sum(axis=1) / (2 if P.shape[1] == 2 else 1)
    if scoring == "error":
        return (P.argmax(axis=1) != codes).astype(float)
    raise ValueError(f"scoring must be one of {SCORINGS}; got {scoring!r}.")
