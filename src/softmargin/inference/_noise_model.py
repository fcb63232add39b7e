"""How labels go wrong: a transition matrix, and the probability that each label is wrong.

With ``T[t, s]`` the probability that a member of class ``t`` carries label ``s``, models fitted to the labels learn
``P(s given x) = sum_t p_t(x) T[t, s]``, ``p`` the probabilities of the true classes. So rows that certainly belong to
``t`` (anchors) show row ``t`` of ``T``, ``p`` is ``P T^-1`` where it is positive, and the probability that the true
class is ``t`` given the row and its label is

    r_i(t) = p_t(x_i) T[t, s_i] / sum_u p_u(x_i) T[u, s_i].

The anchors of a class are the tenth of its rows with the largest out-of-fold probability of it; row ``t`` is what their
labels are, shrunk towards their mean ``P``. The matrix is drawn towards the one of equal rates in all classes, fully
while the standard deviation of its diagonal is below .05 and not at all above .13: trust is adjusted by class only as
far as the data ask for it.

Where classes overlap, no method can tell noise from overlap, and the bounds say so. Of the matrix: overlap may explain
every label ``s`` among the rows whose likeliest class is ``t``, so ``T[t, s]`` lies between zero and the upper end of
Wilson's interval of their share. Of the number of errors, ``sum_i 1 - r_i(s_i)``: the spread of the sum and of the
matrix over resampled rows, down to the errors the models are sure of and up to all rows whose label is not the
likeliest class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["Estimate", "NoiseModel", "fit_noise"]

Array = NDArray[np.floating[Any]]

_ANCHORS, _LEAST_ANCHORS = 0.1, 10
_PRIOR_ROWS = 10.0  # of the models' opinion of the anchors, which need not be calibrated, beside their labels
_EQUAL, _UNEQUAL = 0.05, 0.13  # standard deviation of the diagonal: the noise is the same, or not, in all classes
_RESAMPLES = 40
_LEAST = 1e-3  # a probability no panel can vouch for


class Estimate(NamedTuple):
    """A number and its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class NoiseModel:
    """The matrix (true class in rows, label in columns), its interval, and what it says about each row."""

    transition: Array
    low: Array
    high: Array
    posterior: Array
    joint: Array
    n_errors: Estimate


def fit_noise(P: Array, codes: NDArray[np.intp], *, level: float = 0.9, random_state: Any = 0) -> NoiseModel:
    """The noise model of labels ``codes`` under out-of-fold probabilities ``P``."""
    P = np.maximum(P, _LEAST)
    P = P / P.sum(axis=1, keepdims=True)
    n = len(P)
    label = np.eye(P.shape[1])[codes]
    transition = _transition(P, label)
    posterior = _posterior(P, codes, transition)
    rng = np.random.default_rng(random_state)
    draws = (rng.integers(n, size=n) for _ in range(_RESAMPLES))
    spread = [_transition(P[rows], label[rows]) for rows in draws]
    low, high = _bounds(P, codes, transition, level)
    joint = posterior.T @ label / n
    shares = np.array([1 - _posterior(P, codes, T)[np.arange(n), codes].mean() for T in spread])
    number = _number(P, codes, posterior, float(shares.std()), level)
    return NoiseModel(transition, low, high, posterior, joint, number)


def _transition(P: Array, label: Array) -> Array:
    """The labels of the anchors of each class, and a few rows' worth of their probabilities, drawn to equal rates."""
    k = P.shape[1]
    members = np.bincount(P.argmax(axis=1), minlength=k)
    T = np.empty((k, k))
    for t in range(k):
        size = min(len(P), max(_LEAST_ANCHORS, int(_ANCHORS * members[t]) + 1))
        anchors = np.argpartition(-P[:, t], size - 1)[:size]
        T[t] = (label[anchors].sum(axis=0) + _PRIOR_ROWS * P[anchors].mean(axis=0)) / (size + _PRIOR_ROWS)
    right = T.diagonal().copy()
    equal = np.full((k, k), (1 - right.mean()) / (k - 1))
    np.fill_diagonal(equal, right.mean())
    asked = float(np.clip((right.std(ddof=1) - _EQUAL) / (_UNEQUAL - _EQUAL), 0, 1))
    return asked * T + (1 - asked) * equal


def _posterior(P: Array, codes: NDArray[np.intp], T: Array) -> Array:
    """``r_i(t)``: the true class of each row, given the models and its label."""
    p = np.maximum(P @ np.linalg.pinv(T), _LEAST)
    R = p * T[:, codes].T
    return R / R.sum(axis=1, keepdims=True)


def _bounds(P: Array, codes: NDArray[np.intp], T: Array, level: float) -> tuple[Array, Array]:
    """Zero and Wilson's upper end for the rates of wrong labels, and what they leave for the right ones."""
    k = P.shape[1]
    counts = np.zeros((k, k))
    np.add.at(counts, (P.argmax(axis=1), codes), 1)
    size = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    share, room = counts / size, float(ndtri(0.5 + level / 2)) ** 2 / size
    upper = (share + room / 2 + np.sqrt(room * (share * (1 - share) + room / 4))) / (1 + room)
    low, high = np.zeros((k, k)), np.maximum(upper, T)
    np.fill_diagonal(high, 0.0)
    np.fill_diagonal(low, np.minimum(np.maximum(1 - high.sum(axis=1), 0.0), T.diagonal()))
    np.fill_diagonal(high, 1.0)
    return low, high


def _number(P: Array, codes: NDArray[np.intp], posterior: Array, spread: float, level: float) -> Estimate:
    n = len(codes)
    error = 1 - posterior[np.arange(n), codes]
    value = float(error.sum())
    reach = float(ndtri(0.5 + level / 2)) * float(np.sqrt(error @ (1 - error) + np.square(n * spread)))
    sure, doubted = float((error > 0.9).sum()), float((P.argmax(axis=1) != codes).sum())
    return Estimate(value, max(min(value - reach, sure), 0.0), min(max(value + reach, doubted), float(n)))
