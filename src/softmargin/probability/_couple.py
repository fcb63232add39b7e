"""From scores and one-vs-rest probabilities to rows that sum to one, with labels and probabilities kept together."""

from __future__ import annotations

import numpy as np

__all__ = ["couple", "keep_decision", "two_columns"]


def two_columns(p: np.ndarray, score: np.ndarray) -> np.ndarray:
    """``[1 - p, p]``, with ``p`` above one half exactly where the score is positive, even after rounding."""
    p = np.asarray(p, dtype=np.float64)
    p = np.where(score > 0, np.maximum(p, np.nextafter(0.5, 1)), np.minimum(p, 0.5))
    return np.column_stack([1 - p, p])


def couple(parts: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """One-vs-rest probabilities divided by their sum; rounding never hides the class of the largest score."""
    parts = np.maximum(np.asarray(parts, dtype=np.float64), np.finfo(float).tiny)
    row, winner = np.arange(len(scores)), scores.argmax(axis=1)
    parts[row, winner] = np.maximum(parts[row, winner], parts.max(axis=1) * (1 + 1e-12))
    return parts / parts.sum(axis=1, keepdims=True)


def keep_decision(P: np.ndarray, winner: np.ndarray) -> np.ndarray:
    """The probabilities nearest to ``P`` (least Kullback-Leibler divergence) whose largest entry is ``winner``.

    A class that stands above the winner shares its probability with it and with the others above: the pooled mean of
    the winner and the largest entries, as many as lie above that mean.
    """
    P = np.array(P, dtype=np.float64)
    row = np.flatnonzero(P.argmax(axis=1) != winner)
    own = winner[row]
    others = P[row]
    others[np.arange(len(row)), own] = -1.0  # below every probability, so sorted last
    order = np.argsort(-others, axis=1, kind="stable")
    ranked = np.take_along_axis(others, order, axis=1)[:, :-1]
    means = (P[row, own][:, None] + np.cumsum(ranked, axis=1)) / (2 + np.arange(ranked.shape[1]))
    following = np.column_stack([ranked[:, 1:], np.full(len(row), -1.0)])
    last = np.argmax(means >= following, axis=1)
    pooled = means[np.arange(len(row)), last]
    for depth in range(int(last.max(initial=-1)) + 1):
        part = last >= depth
        P[row[part], order[part, depth]] = pooled[part]
    P[row, own] = pooled * (1 + 1e-12)  # the largest even where entries are equal
    return P / P.sum(axis=1, keepdims=True)
