"""Scores to probabilities as formulas: the functions of :mod:`softmargin.probability`, step by step the same.

Two of them are written there as loops over sorted classes and here without sorting. Water filling needs the level
``mu`` with ``sum_j max(0, (A_j - mu)/D_j) = 1``. For any set ``S`` of classes the level that would fill ``S`` alone
lies below, and for the right set, all ``j`` with ``A_j`` above some ``A_t``, it is exact; so ``mu`` is the largest of
the ``k`` levels of the sets ``{j : A_j >= A_t}``. Sharing with the winner (``keep_decision``) is the same argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from softmargin.export._formula import Affine, ArgMax, Cases, Formula, concat, constant
from softmargin.export._functions import exp, larger, largest, log, sigmoid, smaller, smallest, sqrt, total, where
from softmargin.export._links import slope, step
from softmargin.losses import Loss
from softmargin.probability import ScoreMap

__all__ = [
    "bracket",
    "couple",
    "estimable_or_fallback",
    "keep_decision",
    "least_squares",
    "log_odds_of",
    "margin",
    "nearest_estimable",
    "score_map",
    "sharpened",
    "softmax",
    "two_columns",
    "unweighted",
]

Array = NDArray[np.floating[Any]]

_TINY = float(np.finfo(float).tiny)
_MORE = 1e-12
_ZERO = 1e-9  # the slack of softmargin.probability.bracket
_SMALLEST_DENOMINATOR = 1e-8
_STEEPEST = 700.0  # a score whose exponential is a number


def two_columns(p: Formula, score: Formula) -> Formula:
    """``[1 - p, p]`` on the side of the score."""
    p = where(score > 0.0, larger(p, float(np.nextafter(0.5, 1))), smaller(p, 0.5))
    return concat([1.0 - p, p])


def normalised(parts: Formula) -> Formula:
    """Divided by their sum."""
    return parts / total(parts)


def couple(parts: Formula, scores: Formula) -> Formula:
    """One-vs-rest probabilities divided by their sum, the largest score's class on top."""
    parts = larger(parts, _TINY)
    return normalised(where(chosen(scores), larger(parts, _raised(largest(parts))), parts))


def _raised(x: Formula) -> Formula:
    """A little more, said as a sum: onnxruntime leaves out a factor that is one in float32."""
    return x + x * _MORE


def chosen(scores: Formula) -> Formula:
    """Truth values: the first largest column."""
    return constant(np.arange(scores.width)).equals(ArgMax(scores))


def keep_decision(P: Formula, winner: Formula) -> Formula:
    """The nearest probabilities whose largest entry is the column where ``winner`` is true."""
    own = total(where(winner, P, 0.0))
    others = where(winner, -1.0, P)
    levels = [own]
    for j in range(P.width):
        above = (others >= others[[j]]) & (others >= 0.0)
        levels.append((own + total(where(above, P, 0.0))) / (1.0 + total(where(above, 1.0, 0.0))))
    level = largest(concat(levels))
    return normalised(where(winner, _raised(level), smaller(P, level)))


def softmax(Z: Formula) -> Formula:
    """``exp(Z)`` divided by its sum."""
    return normalised(exp(Z - largest(Z)))


def score_map(link: ScoreMap, scores: Formula) -> Formula:
    """The increasing curve of :func:`softmargin.probability.fit_score_map`."""
    if scores.width == 1:
        centred = concat([scores * -0.5, scores * 0.5])
    else:
        centred = scores - total(scores) / float(scores.width)
    G = centred / link.unit
    Z = link.slope * G + link.bend * _levelled(G) + constant(link.offsets)
    if link.matrix.any():
        Z = Z + Affine(G, link.matrix)
    return normalised(larger(softmax(Z), link.floor))


def _levelled(G: Formula) -> Formula:
    """``arcsinh(10 G)`` over that of 10; large numbers are not squared but their inverses."""
    size = abs(10.0 * G)
    small, inverse = smaller(size, 1.0), 1.0 / larger(size, 1.0)
    near = log(small + sqrt(1.0 + small * small))
    far = log(1.0 + sqrt(1.0 + inverse * inverse)) - log(inverse)
    return step(G) * where(size > 1.0, far, near) / float(np.arcsinh(10.0))


def unweighted(P: Formula, weights: Array) -> Formula:
    """The probabilities of the population sampled, from those of weighted classes."""
    return normalised(P / constant(weights))


def bracket(scores: Formula) -> Formula:
    """The middle between the last positive and the first negative class weight."""
    m = scores.width + 1
    if m == 1:
        return constant(0.5)
    slack = _ZERO * larger(largest(abs(scores)), 1.0)
    steps = constant(np.arange(1, m))
    up = largest(where(scores > slack, steps, 0.0))
    down = smallest(where(scores < -slack, steps, float(m)))
    return (up + down) / (2.0 * m)


def estimable_or_fallback(f: Formula, fallback: Formula, reach: float) -> Formula:
    """The score's own probability within reach, else the fallback."""
    return where(abs(f) <= reach, sigmoid(f), fallback)


def nearest_estimable(F: Formula, weights: Array, fallback: Formula, reach: float) -> Formula:
    """The probability of the first class weight within reach on the row's own side; the fallback is log odds.

    Outwards from 1/2, the first fit that does not say "further" ends the search, whether it is within reach or points
    back. There may be hundreds of weights, so this is one choice among many and not a choice within a choice.
    """
    middle = F[[int(np.argmin(np.abs(weights - 0.5)))]]
    odds = where(abs(middle) <= reach, middle, fallback)
    for side in (-1.0, 1.0):
        outward = np.flatnonzero(side * (weights - 0.5) > 1e-12)
        if len(outward):
            outward = outward[np.argsort(side * weights[outward])]
            f = F[outward]
            told = where(abs(f) <= reach, f + constant(logit(weights[outward])), fallback)
            odds = where(side * middle > reach, Cases(side * f <= reach, told, fallback), odds)
    return sigmoid(odds)


def least_squares(f: Formula, mix: float, rescale: str) -> Formula:
    """Probabilities of composite least squares."""
    k = f.width
    scale, tilt = (1 - mix) + mix * (k - 1), 1 - 2 * mix
    if tilt != 0:
        end = scale * (_SMALLEST_DENOMINATOR - 1) / tilt
        f = larger(f, end) if tilt > 0 else smaller(f, end)
    D = scale + tilt * f
    if rescale == "waterfill":
        return _waterfill((1 - mix) * (1.0 + f), D)
    share = normalised(1.0 / D)
    raw = (1.0 + ((k - 1) * (1 - mix) + mix) * (f - total(share * f)) / D) / float(k)
    if rescale == "simplex":
        return _waterfill(raw, constant(np.ones(k)))
    shifted = raw - smallest(raw)
    whole = total(shifted)
    return where(whole > 0.0, shifted / where(whole > 0.0, whole, 1.0), 1 / k)


def margin(f: Formula, loss: Loss, mix: float) -> Formula:
    """Probabilities of a composite margin loss."""
    size = largest(abs(f))
    with np.errstate(over="ignore"):
        overflows = not np.isfinite(loss.slope(-2 * _STEEPEST))
    if overflows:  # such scores leave no doubt: any that keep their order say the same
        f = where(size > _STEEPEST, f * (0.9 * _STEEPEST / larger(size, _STEEPEST)), f)
    A = (1 - mix) * slope(loss, -f)
    D = A + mix * slope(loss, f)
    scale = largest(D)
    return _waterfill(A / scale, larger(D / scale, _TINY))


def _waterfill(A: Formula, D: Formula) -> Formula:
    A = A - largest(A)  # which moves the level alike; beside huge numbers a total of one would be lost
    levels = []
    for j in range(A.width):
        within = A[[j]] <= A
        levels.append((total(where(within, A / D, 0.0)) - 1.0) / total(where(within, 1.0 / D, 0.0)))
    return normalised(larger((A - largest(concat(levels))) / D, 0.0))


def sharpened(P: Formula, power: float) -> Formula:
    """``P^power`` divided by its sum."""
    return softmax(power * log(larger(P, _TINY)))


def log_odds_of(P: Formula) -> Formula:
    """The scores whose signs or sizes are the probabilities': log odds of two classes, logarithms of more."""
    logs = log(larger(P, _TINY))
    return logs[[1]] - logs[[0]] if P.width == 2 else logs
