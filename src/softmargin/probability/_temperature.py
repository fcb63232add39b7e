"""The coherence link fitted to given scores: one temperature (and, on request, the cost) by maximum likelihood.

With ``l(f; rho, u) = sp((f - u)/rho) - sp(-(f + u)/rho)``, ``sp(t) = log(1 + e^t)``, the log odds of the coherence loss
at temperature ``rho`` and cost ``u``, minimise over ``theta = log rho``

    E(theta) = mean_i sp(-y_i l_i),    E' = mean_i (expit(l_i) - t_i) dl_i/dtheta,   t = (y + 1)/2,
    dl/dtheta = -(x1 expit(x1) + x2 expit(-x2)),   x1 = (f - u)/rho,  x2 = (f + u)/rho.

The problem has one dimension but may have several minima (scores inside the margin ask for ``rho`` of order one,
support vectors at the margin for the solver's tolerance), so every sign change of ``E'`` on a grid is refined and the
best minimum, ends included, is returned.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit

from softmargin.losses import Coherence

__all__ = ["CoherenceLink", "fit_coherence", "fit_temperature"]

Array = NDArray[np.floating[Any]]

_POINTS_PER_DECADE = 20


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


def _log_loss(theta: float, f: Array, y: Array, weight: Array, cost: float) -> float:
    odds = Coherence(temperature=float(np.exp(theta)), cost=cost, scale="V").log_odds(f)
    return float(weight @ np.logaddexp(0, -y * odds))


def _slope(theta: float, f: Array, y: Array, weight: Array, cost: float) -> float:
    rho = float(np.exp(theta))
    odds = Coherence(temperature=rho, cost=cost, scale="V").log_odds(f)
    below, above = (f - cost) / rho, (f + cost) / rho
    change = -(below * expit(below) + above * expit(-above))
    return float(weight @ (-y * expit(-y * odds) * change))


def fit_temperature(
    f: Array,
    y: Array,
    weight: Array | None = None,
    *,
    cost: float = 1.0,
    bounds: tuple[float, float] = (1e-3, 1e3),
) -> CoherenceLink:
    """The temperature of least mean log loss for scores ``f``, labels ``y`` in {-1, +1} and a given cost."""
    f, y = np.asarray(f, dtype=float), np.asarray(y, dtype=float)
    weight = np.full(len(f), 1 / len(f)) if weight is None else np.asarray(weight, dtype=float) / np.sum(weight)
    low, high = np.log(bounds)
    grid = np.linspace(low, high, int(np.ceil((high - low) / np.log(10) * _POINTS_PER_DECADE)) + 1)
    slopes = np.array([_slope(theta, f, y, weight, cost) for theta in grid])
    minima = []
    for k in np.flatnonzero((slopes[:-1] < 0) & (slopes[1:] >= 0)):
        theta = brentq(_slope, grid[k], grid[k + 1], args=(f, y, weight, cost), xtol=1e-13, rtol=1e-13)
        minima.append((float(np.exp(theta)), _log_loss(theta, f, y, weight, cost)))
    ends = [(bounds[0], _log_loss(low, f, y, weight, cost)), (bounds[1], _log_loss(high, f, y, weight, cost))]
    temperature, log_loss = min(minima + ends, key=lambda item: item[1])
    return CoherenceLink(temperature, cost, log_loss, temperature in bounds, minima)


def fit_coherence(
    f: Array, y: Array, weight: Array | None = None, *, bounds: tuple[float, float] = (1e-3, 1e3)
) -> CoherenceLink:
    """Temperature and cost together: the best temperature for each cost, and the best cost by a bounded search."""
    f = np.asarray(f, dtype=float)
    largest = float(np.quantile(np.abs(f), 0.95)) or 1.0
    costs = np.linspace(0, largest, 9)
    values = [fit_temperature(f, y, weight, cost=cost, bounds=bounds) for cost in costs]
    best = int(np.argmin([link.log_loss for link in values]))
    window = (costs[max(best - 1, 0)], costs[min(best + 1, len(costs) - 1)])

    def profile(cost: float) -> float:
        return fit_temperature(f, y, weight, cost=cost, bounds=bounds).log_loss

    refined = minimize_scalar(profile, bounds=window, method="bounded", options={"xatol": 1e-4 * largest})
    candidate = fit_temperature(f, y, weight, cost=float(refined.x), bounds=bounds)
    return min(values[best], candidate, key=lambda link: link.log_loss)
