"""What an honest score costs: the loss itself, the log loss or Brier score of its probability, or a wrong label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss, NoLink
from softmargin.probability import couple, two_columns

__all__ = ["SCORINGS", "row_costs"]

Array = NDArray[np.floating[Any]]
SCORINGS = ("loss", "log_loss", "brier", "error")


def row_costs(scoring: str, loss: Loss, codes: NDArray[np.intp], scores: Array) -> Array:
    """The cost of each row; ``scores`` has one column per class, or is a vector for two classes."""
    if scoring == "loss":
        if scores.ndim == 1:
            return loss.value(np.where(codes == 1, 1.0, -1.0) * scores)
        own = np.arange(scores.shape[1]) == codes[:, None]
        return loss.value(np.where(own, scores, -scores)).sum(axis=1)
    if scoring == "error":
        label = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return (label != codes).astype(float)
    return proba_costs(scoring, codes, probabilities(loss, scores))


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
