"""One increasing curve from scores to probabilities, fitted by penalised maximum likelihood.

With ``f`` centred across classes (``(-f/2, f/2)`` for two) and divided by its root mean square ``s``, the log
probabilities are, up to a constant per row,

    z_c = slope g_c + bend asinh(10 g_c) / asinh(10) + offset_c + (g M)_c,     g = f / s,   slope, bend >= 0

a straight line, a line that levels off (scores far from the boundary promise less than they seem to), the classes'
prior log odds and, for more than two classes, what the score of one class says about another. The negative log
likelihood plus ``(rho_0 (slope^2 + bend^2 + |offset|^2) + rho_1 |M|^2) / 2`` is convex and is minimised by a
trust-region Newton method on Hessian-vector products; the two signs are settled exactly by trying which of the two
terms to drop. Probabilities stay above ``1 / (k n)``: n rows cannot vouch for less.

The ridges and the curve were chosen on 47 data sets (at most 300 rows, SVC and LinearSVC scores from five folds;
``python -m benchmarks calibration``), where the mean log loss is .985 (two classes) and .76 (more) times that of
one sigmoid per class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from softmargin.probability._weights import row_weights

__all__ = ["ScoreMap", "fit_score_map"]

Array = NDArray[np.floating[Any]]

_RIDGE = 0.01  # of the curve and the offsets: finite where the scores separate the classes
_CROSS_RIDGE = 1.0  # of what one class's score says about another
_LEVELLING = 10.0


@dataclass(frozen=True)
class ScoreMap:
    """The fitted curve; ``matrix`` is zero for two classes."""

    unit: float
    slope: float
    bend: float
    offsets: Array
    matrix: Array
    floor: float

    def probability(self, scores: Array) -> Array:
        """Class probabilities, shape (n, k), for scores of shape (n,) or (n, k)."""
        G = _centred(scores) / self.unit
        Z = self.slope * G + self.bend * _levelled(G) + self.offsets + G @ self.matrix
        P = np.maximum(softmax(Z, axis=1), self.floor)
        return P / P.sum(axis=1, keepdims=True)


def fit_score_map(scores: Array, codes: NDArray[np.intp], weight: Array | None = None) -> ScoreMap:
    """The map of scores, shape (n,) or (n, k), of rows whose classes are ``codes``."""
    G = _centred(scores)
    weight = row_weights(weight, len(G), "weight")
    unit = float(np.sqrt(weight @ np.square(G).mean(axis=1) / weight.sum())) or 1.0
    likelihood = _Likelihood(G / unit, codes, weight)
    slope, bend, offsets, matrix = likelihood.unpack(likelihood.minimise_increasing())
    return ScoreMap(unit, float(slope), float(bend), offsets, matrix, 1 / (G.shape[1] * weight.sum()))


def _centred(scores: Array) -> Array:
    scores = np.asarray(scores, dtype=float)
    if scores.ndim == 1:
        return np.column_stack([-scores / 2, scores / 2])
    return scores - scores.mean(axis=1, keepdims=True)


def _levelled(G: Array) -> Array:
    return np.arcsinh(_LEVELLING * G) / np.arcsinh(_LEVELLING)


class _Likelihood:
    """The penalised negative log likelihood in ``theta = (slope, bend, offsets, matrix)``."""

    def __init__(self, G: Array, codes: NDArray[np.intp], weight: Array) -> None:
        self.G, self.bent, self.weight = G, _levelled(G), weight
        self.k = G.shape[1]
        self.cross = self.k > 2
        self.target = np.eye(self.k)[codes]
        n_theta = 2 + self.k + self.cross * self.k**2
        self.ridge = np.where(np.arange(n_theta) < 2 + self.k, _RIDGE, _CROSS_RIDGE)

    def unpack(self, theta: Array) -> tuple[float, float, Array, Array]:
        matrix = theta[2 + self.k :].reshape(self.k, self.k) if self.cross else np.zeros((self.k, self.k))
        return theta[0], theta[1], theta[2 : 2 + self.k], matrix

    def minimise_increasing(self) -> Array:
        """The minimiser with slope and bend nonnegative: the best of the fits that drop none, one or both of them."""
        both = self.minimise((True, True))
        if min(both[1][:2]) >= 0:
            return both[1]
        one = [fit for fit in map(self.minimise, ((True, False), (False, True))) if min(fit[1][:2]) >= 0]
        return min(one or [self.minimise((False, False))], key=lambda fit: fit[0])[1]

    def minimise(self, used: tuple[bool, bool]) -> tuple[float, Array]:
        """Value and minimiser over the parameters, with slope or bend left out where not used."""
        free = np.r_[np.array(used), np.ones(len(self.ridge) - 2, dtype=bool)]

        def value(part: Array) -> tuple[float, Array]:
            cost, gradient = self._value(self._whole(part, free))
            return cost, gradient[free]

        def product(part: Array, direction: Array) -> Array:
            return self._product(self._whole(part, free), self._whole(direction, free))[free]

        start = np.zeros(int(free.sum()))
        options = {"gtol": 1e-9 * float(self.weight.sum()), "maxiter": 200}
        found = minimize(value, start, jac=True, hessp=product, method="trust-ncg", options=options)
        return float(found.fun), self._whole(found.x, free)

    @staticmethod
    def _whole(part: Array, free: NDArray[np.bool_]) -> Array:
        theta = np.zeros(len(free))
        theta[free] = part
        return theta

    def _logits(self, theta: Array) -> Array:
        slope, bend, offsets, matrix = self.unpack(theta)
        Z = slope * self.G + bend * self.bent + offsets
        return Z + self.G @ matrix if self.cross else Z

    def _transpose(self, R: Array) -> Array:
        """The derivative in theta of ``sum(R * logits)``."""
        parts = [np.array([np.vdot(R, self.G), np.vdot(R, self.bent)]), R.sum(axis=0)]
        return np.concatenate([*parts, (self.G.T @ R).ravel()] if self.cross else parts)

    def _value(self, theta: Array) -> tuple[float, Array]:
        L = log_softmax(self._logits(theta), axis=1)
        cost = -float(self.weight @ (self.target * L).sum(axis=1)) + 0.5 * float(self.ridge @ np.square(theta))
        R = self.weight[:, None] * (np.exp(L) - self.target)
        return cost, self._transpose(R) + self.ridge * theta

    def _product(self, theta: Array, direction: Array) -> Array:
        P, D = softmax(self._logits(theta), axis=1), self._logits(direction)
        R = self.weight[:, None] * P * (D - (P * D).sum(axis=1, keepdims=True))
        return self._transpose(R) + self.ridge * direction
