"""The coherence link fitted to given scores: one temperature (and, on request, the cost) by maximum likelihood.

With ``l(f; rho, u) = sp((f - u)/rho) - sp(-(f + u)/rho)``, ``sp(t) = log(1 + e^t)``, the log odds of the coherence loss
at temperature ``rho`` and cost ``u``, and targets ``t`` (labels 0 and 1, or Platt's smoothed ones), minimise over
``theta = log rho``

    E(theta, u) = mean_i [sp(l_i) - t_i l_i],    dE = mean_i (expit(l_i) - t_i) dl_i,
    dl/dtheta = -(x1 expit(x1) + x2 expit(-x2)),   dl/du = (expit(-x2) - expit(x1)) / rho,
    x1 = (f - u)/rho,  x2 = (f + u)/rho.

For a given cost the problem has one dimension but may have several minima (scores inside the margin ask for ``rho`` of
order one, support vectors at the margin for the solver's tolerance), so every sign change of ``E'`` on a grid is
refined and the best minimum, ends included, is returned. Temperature and cost together are refined from the best
points of a grid of costs. The range of temperatures is a thousandfold around the order of magnitude of the scores.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize
from scipy.special import expit

from softmargin._constraints import BOOLEAN, finite_numbers, number
from softmargin.losses import Coherence
from softmargin.probability._sigmoid import judged_scores, targets

__all__ = ["CoherenceLink", "fit_coherence", "fit_temperature"]

Array = NDArray[np.floating[Any]]

_POINTS_PER_DECADE = 20
_RANGE = 1e3
_COSTS, _STARTS = 17, 4  # costs tried, and the best of them refined

_COST = number("a nonnegative, finite number", lambda value: 0 <= value < np.inf)


@dataclass(frozen=True)
class CoherenceLink:
    """The fitted link, the mean log loss it reached and every local minimum ``(temperature, log loss)`` found."""

    temperature: float
    cost: float
    log_loss: float
    at_bound: bool
    local_minima: list[tuple[float, float]] = field(default_factory=list)

    def log_odds(self, f: Array) -> Array:
        """The log odds of the positive class at score ``f``."""
        return Coherence(temperature=self.temperature, cost=self.cost, scale="V").log_odds(np.asarray(f, dtype=float))


@dataclass(frozen=True)
class _Sample:
    """Scores, targets and shares of the rows."""

    f: Array
    target: Array
    share: Array

    @classmethod
    def of(cls, f: Array, y: Array, weight: Array | None, smooth: bool) -> _Sample:
        BOOLEAN.check("smooth", smooth)
        f, y, weight = judged_scores(f, y, weight)
        return cls(f, targets(y, weight, smooth=smooth), weight / weight.sum())

    def bounds(self) -> tuple[float, float]:
        """A thousandfold around the power of ten nearest to the root mean square of the scores."""
        size = float(np.sqrt(self.share @ np.square(self.f)))
        unit = 10.0 ** np.round(np.log10(size)) if size > 0 else 1.0
        return float(unit / _RANGE), float(unit * _RANGE)

    def log_loss(self, theta: float, cost: float) -> float:
        odds = Coherence(temperature=float(np.exp(theta)), cost=cost, scale="V").log_odds(self.f)
        return float(self.share @ (self.target * np.logaddexp(0, -odds) + (1 - self.target) * np.logaddexp(0, odds)))

    def slopes(self, theta: float, cost: float) -> tuple[float, float]:
        """The derivatives of the log loss in ``theta`` and in the cost."""
        rho = float(np.exp(theta))
        residual = self.share * (expit(Coherence(temperature=rho, cost=cost, scale="V").log_odds(self.f)) - self.target)
        below, above = (self.f - cost) / rho, (self.f + cost) / rho
        first = -(below * expit(below) + above * expit(-above))
        return float(residual @ first), float(residual @ (expit(-above) - expit(below))) / rho


def _checked(bounds: Any) -> tuple[float, float]:
    """Two temperatures, the lower one first."""
    low, high = finite_numbers("bounds", bounds, 2)
    if not 0 < low < high:
        raise ValueError(f"bounds must be two positive temperatures, the lower one first; got {bounds!r}.")
    return float(low), float(high)


def fit_temperature(
    f: Array,
    y: Array,
    weight: Array | None = None,
    *,
    cost: float = 1.0,
    bounds: tuple[float, float] | None = None,
    smooth: bool = False,
) -> CoherenceLink:
    """The temperature of least mean log loss for scores ``f``, labels ``y`` in {-1, +1} and a given cost."""
    sample = _Sample.of(f, y, weight, smooth)
    _COST.check("cost", cost)
    return _best_temperature(sample, cost, sample.bounds() if bounds is None else _checked(bounds))


def _best_temperature(sample: _Sample, cost: float, bounds: tuple[float, float]) -> CoherenceLink:
    low, high = np.log(bounds)
    grid = np.linspace(low, high, int(np.ceil((high - low) / np.log(10) * _POINTS_PER_DECADE)) + 1)
    slopes = np.array([sample.slopes(theta, cost)[0] for theta in grid])
    minima = []
    for k in np.flatnonzero((slopes[:-1] < 0) & (slopes[1:] >= 0)):
        theta = brentq(lambda t: sample.slopes(t, cost)[0], grid[k], grid[k + 1], xtol=1e-13, rtol=1e-13)
        minima.append((float(np.exp(theta)), sample.log_loss(theta, cost)))
    ends = [(bounds[0], sample.log_loss(low, cost)), (bounds[1], sample.log_loss(high, cost))]
    temperature, log_loss = min(minima + ends, key=lambda item: item[1])
    return CoherenceLink(temperature, cost, log_loss, temperature in bounds, minima)


def fit_coherence(
    f: Array,
    y: Array,
    weight: Array | None = None,
    *,
    bounds: tuple[float, float] | None = None,
    smooth: bool = False,
) -> CoherenceLink:
    """Temperature and cost together, the cost no larger than the largest score."""
    sample = _Sample.of(f, y, weight, smooth)
    bounds = sample.bounds() if bounds is None else _checked(bounds)
    largest = float(np.abs(sample.f[sample.share > 0]).max()) or 1.0
    tried = [_best_temperature(sample, cost, bounds) for cost in np.r_[0.0, largest * np.geomspace(0.01, 1, _COSTS)]]
    tried.sort(key=lambda link: link.log_loss)
    refined = [_refine(sample, link, bounds, largest) for link in tried[:_STARTS]]
    return min([*refined, tried[0]], key=lambda link: link.log_loss)


def _refine(sample: _Sample, link: CoherenceLink, bounds: tuple[float, float], largest: float) -> CoherenceLink:
    """A minimum in temperature and cost (in units of the largest score) near the link."""

    def value(point: Array) -> tuple[float, Array]:
        cost = point[1] * largest
        theta_slope, cost_slope = sample.slopes(point[0], cost)
        return sample.log_loss(point[0], cost), np.array([theta_slope, cost_slope * largest])

    low, high = np.log(bounds)
    start = np.array([np.log(link.temperature), link.cost / largest])
    found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=[(low, high), (0.0, 1.0)])
    return _best_temperature(sample, float(found.x[1]) * largest, bounds)
