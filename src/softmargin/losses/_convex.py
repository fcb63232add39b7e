"""Convex losses with textbook forms: logistic, exponential, hinge and its smooth relatives, least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from softmargin.losses._base import Array, Kink, Loss, NoLink

__all__ = ["Hinge", "Logistic", "SquaredHinge"]


@dataclass(frozen=True)
class Logistic(Loss):
    """``log(1 + exp(-u))``: the deviance of logistic regression, ``P(y = 1) = expit(f)``."""

    name = "logistic"
    family = "convex"

    @property
    def curvature_bound(self) -> float:
        return 0.25

    def _value(self, u: Array) -> Array:
        return np.logaddexp(0, -u)

    def _slope(self, u: Array) -> Array:
        return -expit(-u)

    def _curvature(self, u: Array) -> Array:
        return expit(u) * expit(-u)

    def _log_odds(self, f: Array) -> Array:
        return f

    def _score(self, p: Array) -> Array:
        return logit(p)


@dataclass(frozen=True)
class Hinge(Loss):
    """``max(0, 1 - u)``: the support vector machine. It determines the class, never the probability."""

    name = "hinge"
    family = "convex"
    smooth = False

    @property
    def kink(self) -> Kink:
        return Kink(1.0, -1.0, 0.0)

    def _value(self, u: Array) -> Array:
        return np.maximum(1 - u, 0)

    def _slope(self, u: Array) -> Array:
        return -(u < 1).astype(u.dtype)

    def _curvature(self, u: Array) -> Array:
        return np.zeros_like(u)

    def _log_odds(self, f: Array) -> Array:
        raise NoLink(
            "The hinge loss determines the class only: its population minimiser is sign(2p - 1). "
            "Use ProbabilisticSVC (bracketing), ScoreCalibrator, or a smooth loss such as Coherence."
        )

    def _conjugate(self, v: Array) -> Array:
        return np.where((v >= -1) & (v <= 0), v, np.inf)


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``max(0, 1 - u)^2``: the L2-loss support vector machine, ``P(y = 1) = (1 + f) / 2`` on ``|f| <= 1``."""

    name = "squared_hinge"
    family = "convex"

    @property
    def curvature_bound(self) -> float:
        return 2.0

    def _value(self, u: Array) -> Array:
        return np.square(np.maximum(1 - u, 0))

    def _slope(self, u: Array) -> Array:
        return -2 * np.maximum(1 - u, 0)

    def _curvature(self, u: Array) -> Array:
        return 2 * (u < 1).astype(u.dtype)

    def _log_odds(self, f: Array) -> Array:
        return logit(np.clip((1 + f) / 2, 0, 1))

    def _score(self, p: Array) -> Array:
        return 2 * p - 1

    def _conjugate(self, v: Array) -> Array:
        return np.where(v <= 0, v + np.square(v) / 4, np.inf)
