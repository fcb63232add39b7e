"""How labels go wrong: a transition matrix, and the probability that each label is wrong.

With ``T[t, s]`` the probability that a member of class ``t`` carries label ``s``, models fitted to the labels learn
``P(s given x) = sum_t p_t(x) T[t, s]``, ``p`` the probabilities of the true classes. The probability that the true
class is ``t``, given the row and its label, is

    r_i(t) = p_t(x_i) T[t, s_i] / sum_u p_u(x_i) T[u, s_i].

**The matrix.** Rows that certainly belong to ``t`` (anchors: the fifth of its rows with the largest out-of-fold
probability of it) show row ``t`` of ``T``. Few anchors say little about one class, so the error rates of the classes
are drawn towards their mean as far as they do not differ by more than chance (James and Stein): noise is taken to
depend on the class only as far as the data ask for it.

**The true classes.** ``P T^-1`` is ``p`` where ``P`` is exact; it is not, and the inverse exaggerates what is wrong
with it, so ``p`` is the geometric mean of ``P T^-1`` and ``P``, which keeps the order of the models where the inverse
is cut off at zero. Anchors are never quite pure: with ``o`` the mean of ``1 - max_t p_t``, the overlap of the classes,
no row is taken to be surer of its class than ``1 - c o^2``. So where classes overlap, no label is surely wrong.

**How sure.** Overlap and noise cannot be told apart by anybody. Of the matrix: overlap may explain every label ``s``
among the rows whose likeliest class is ``t``, so ``T[t, s]`` lies between zero and the upper end of Wilson's interval
of their share. Of the number of errors, ``sum_i 1 - r_i(s_i)``: normal quantiles of its spread, that of the matrix over
draws of anchors included, six tenths of the overlap below and nearly a half above: judges that know little about the
classes (bupa_liver, haberman) take overlap for noise, and noise that depends on the class hides in the overlap.

The constants were settled at 5, 15 and 30% noise on sets that the tables of ``python -m benchmarks audit`` do not use
(breast_w, credit_a, ionosphere, phoneme, pima_diabetes, spambase, vehicle, waveform_40: AUC .888, 90% intervals cover
in .90 to 1.0 of the cases of each kind of noise, 72% of the suspects at ``fdr=0.1`` are wrong: classes that overlap
keep that promise least, which is why :mod:`softmargin.inference._second_look` follows).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["Estimate", "NoiseModel", "fit_noise", "number_of_errors"]

Array = NDArray[np.floating[Any]]

_ANCHORS, _LEAST_ANCHORS = 0.2, 10
_PRIOR_ROWS = 40.0  # of the models' opinion of the anchors, which need not be calibrated, beside their labels
_SPREAD_ROWS = 2.0  # of labels that fall on all other classes alike
_INVERSE = 0.8  # exponent of P T^-1 in the geometric mean with P
_IMPURE = 0.3  # anchors are impure by so many squares of the overlap: more finds fewer wrong labels, less too many
_OVERLAP_AS_NOISE, _NOISE_AS_OVERLAP = 0.6, 0.45  # shares of the overlap that may be the other thing
_RESAMPLES, _RESAMPLED_ROWS = 40, 5000
_LEAST = 1e-3  # a probability no panel can vouch for
_ROOM = 0.05  # by which labels must be better than guessing


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
    overlap: float
    level: float
    spread: float
    caution: float = 1.0  # the share of a false discovery rate that the trusts may use up

    def informed(self, posterior: Array, codes: NDArray[np.intp]) -> NoiseModel:
        """The same with another account of the true classes, that of several annotators."""
        n = len(codes)
        error = 1 - posterior[np.arange(n), codes]
        label = np.eye(len(self.transition))[codes]
        number = number_of_errors(error, 0.0, self.overlap, self.level)
        return replace(self, posterior=posterior, joint=posterior.T @ label / n, n_errors=number)


class _Anchors(NamedTuple):
    """Labels of the anchors of each class (rows), counted, and the models' mean opinion of them."""

    counts: Array
    opinion: Array


def fit_noise(P: Array, codes: NDArray[np.intp], *, level: float = 0.9, random_state: Any = 0) -> NoiseModel:
    """The noise model of labels ``codes`` under out-of-fold probabilities ``P``."""
    P = np.maximum(P, _LEAST)
    P = P / P.sum(axis=1, keepdims=True)
    anchors = _anchors(P, codes)
    transition = _transition(anchors)
    overlap = float(1 - _cleaned(P, transition).max(axis=1).mean())
    posterior = _posterior(P, codes, transition, overlap)
    low, high = _bounds(P, codes, transition, level)
    joint = np.zeros_like(transition)
    np.add.at(joint.T, codes, posterior)
    n = len(P)
    error = 1 - posterior[np.arange(n), codes]
    spread = n * _spread(P, codes, anchors, overlap, np.random.default_rng(random_state))
    number = number_of_errors(error, spread, overlap, level)
    return NoiseModel(transition, low, high, posterior, joint / n, number, overlap, level, spread)


def _anchors(P: Array, codes: NDArray[np.intp]) -> _Anchors:
    n, k = P.shape
    members = np.bincount(P.argmax(axis=1), minlength=k)
    counts, opinion = np.empty((k, k)), np.empty((k, k))
    for t in range(k):
        size = min(n, max(_LEAST_ANCHORS, int(_ANCHORS * members[t]) + 1))
        chosen = np.argpartition(-P[:, t], size - 1)[:size]
        counts[t], opinion[t] = np.bincount(codes[chosen], minlength=k), P[chosen].mean(axis=0)
    return _Anchors(counts, opinion)


def _transition(anchors: _Anchors) -> Array:
    """Error rates drawn together as far as chance explains their differences, spread over the labels seen."""
    counts, k = anchors.counts, len(anchors.counts)
    size = counts.sum(axis=1) + _PRIOR_ROWS
    wrong = size - _PRIOR_ROWS - counts.diagonal() + _PRIOR_ROWS * (1 - anchors.opinion.diagonal())
    rate = wrong / size
    mean = float(np.average(rate, weights=size))
    chance = max(mean * (1 - mean), 0.01) / size
    between = max(float(rate.var(ddof=1) - chance.mean()), 0.0)
    own = between / (between + chance)
    rate = np.minimum(own * rate + (1 - own) * mean, 1 - 1 / k - _ROOM)
    T = counts + _SPREAD_ROWS / (k - 1)
    np.fill_diagonal(T, 0.0)
    T *= (rate / T.sum(axis=1))[:, None]
    np.fill_diagonal(T, 1 - rate)
    return T


def _cleaned(P: Array, T: Array) -> Array:
    """Probabilities of the true classes, by the inverse alone."""
    p = np.maximum(P @ np.linalg.pinv(T), _LEAST)
    return p / p.sum(axis=1, keepdims=True)


def _posterior(P: Array, codes: NDArray[np.intp], T: Array, overlap: float) -> Array:
    """``r_i(t)``: the true class of each row, given the models and its label."""
    p = _cleaned(P, T) ** _INVERSE * P ** (1 - _INVERSE)
    p /= p.sum(axis=1, keepdims=True)
    impure = _IMPURE * overlap**2
    p = (1 - impure) * p + impure * (1 - p) / (P.shape[1] - 1)
    R = p * T[:, codes].T
    return R / R.sum(axis=1, keepdims=True)


def _spread(P: Array, codes: NDArray[np.intp], anchors: _Anchors, overlap: float, rng: np.random.Generator) -> float:
    """The standard deviation of the share of wrong labels over draws of the anchors' labels."""
    rows = np.arange(len(P)) if len(P) <= _RESAMPLED_ROWS else rng.choice(len(P), _RESAMPLED_ROWS, replace=False)
    part, labels, every = P[rows], codes[rows], np.arange(len(rows))
    size = anchors.counts.sum(axis=1)
    shares = []
    for _ in range(_RESAMPLES):
        drawn = np.array([rng.multinomial(int(m), row / m) for m, row in zip(size, anchors.counts, strict=True)])
        T = _transition(_Anchors(drawn.astype(float), anchors.opinion))
        shares.append(1 - _posterior(part, labels, T, overlap)[every, labels].mean())
    return float(np.std(shares))


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


def number_of_errors(error: Array, spread: float, overlap: float, level: float) -> Estimate:
    """The sum of the rows' probabilities of being wrong, and its interval."""
    n, value = len(error), float(error.sum())
    chance = float(ndtri(0.5 + level / 2)) * float(np.sqrt(error @ (1 - error) + spread**2))
    low = value - chance - _OVERLAP_AS_NOISE * overlap * n
    high = value + chance + _NOISE_AS_OVERLAP * overlap * n
    return Estimate(value, max(low, 0.0), min(high, float(n)))
