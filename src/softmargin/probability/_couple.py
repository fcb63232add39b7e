"""From scores and one-vs-rest probabilities to rows that sum to one, with labels and probabilities kept together."""

from __future__ import annotations

import numpy as np

__all__ = ["couple", "two_columns"]


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
