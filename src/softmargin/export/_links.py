"""Functions of a score as formulas: a closed form where there is one, polynomials between knots otherwise.

What a loss says of a score is known by asking it, so a user's own loss is exported like any other. If its log odds are
a multiple of the score, the probability is a sigmoid; if the probability is a clipped line, it is that; the coherence
link has its own words. Everything else is tabulated: Chebyshev interpolation of degree 7 on intervals that are halved
until the error is below ``TOLERANCE`` (corners and jumps end in intervals too small to matter), constant beyond.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from softmargin.export._formula import Formula, Piecewise, concat
from softmargin.export._functions import exp, larger, log, sigmoid, smaller, where
from softmargin.losses import Coherence, Loss

__all__ = ["TOLERANCE", "coherence_log_odds", "link", "slope", "tabulate"]

Array = NDArray[np.floating[Any]]

TOLERANCE = 1e-9
_DEGREE = 7
_NARROW = 1e-11  # relative width of an interval that is not halved again
_NODES = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
_GRID = np.concatenate([-np.geomspace(50.0, 1e-3, 60), [0.0], np.geomspace(1e-3, 50.0, 60)])
_FAR = 1e8


def link(loss: Loss, f: Formula) -> Formula:
    """P(y = +1) at scores ``f`` of any width."""
    if isinstance(loss, Coherence):
        return sigmoid(coherence_log_odds(loss, f))
    odds, p = np.asarray(loss.log_odds(_GRID)), np.asarray(loss.probability(_GRID))
    rate = float(loss.log_odds(1.0))
    if np.isfinite(rate) and np.allclose(odds, rate * _GRID, rtol=1e-12, atol=1e-13):
        return sigmoid(f if rate == 1 else rate * f)
    steepness = float(loss.probability(1e-3) - loss.probability(-1e-3)) / 2e-3
    if np.allclose(p, np.clip(0.5 + steepness * _GRID, 0, 1), rtol=0, atol=1e-12):
        return smaller(larger(0.5 + steepness * f, 0.0), 1.0)
    return each(f, *_range(loss.probability), loss.probability)


def coherence_log_odds(loss: Coherence, f: Formula) -> Formula:
    """``sp((f - cost)/rho) - sp(-(f + cost)/rho)`` with ``sp(t) = log(1 + e^t)``."""
    rho, cost = float(loss.temperature), float(loss.cost)
    return _softplus((f - cost) / rho) - _softplus((f + cost) / -rho)


def _softplus(t: Formula) -> Formula:
    return larger(t, 0.0) + log(1.0 + exp(-abs(t)))


def slope(loss: Loss, u: Formula) -> Formula:
    """Minus the slope of a loss that decreases everywhere, to nine digits relative to its size."""

    def minus(t: Any) -> Array:
        return -np.asarray(loss.slope(t), dtype=np.float64)

    sigma, rate = 1 / (1 + np.exp(_GRID)), np.log(float(minus(0.0))) - np.log(float(minus(1.0)))
    if np.allclose(minus(_GRID), sigma, rtol=1e-12, atol=0):
        return sigmoid(-u)
    if np.allclose(np.log(minus(_GRID)), np.log(minus(0.0)) - rate * _GRID, rtol=1e-12, atol=1e-12):
        return float(minus(0.0)) * exp(-rate * u)
    if isinstance(loss, Coherence):
        scale = float(minus(0.0)) * (1 + np.exp(-loss.cost / loss.temperature))
        return scale * sigmoid((loss.cost - u) / loss.temperature)
    with np.errstate(all="ignore"):
        return exp(each(u, -60.0, 60.0, lambda t: np.log(minus(t))))


def each(f: Formula, low: float, high: float, function: Callable[[Any], Any]) -> Formula:
    """A function of one number, tabulated, for every column of ``f``."""
    return concat([tabulate(f[[j]], low, high, function) for j in range(f.width)])


def tabulate(x: Formula, low: float, high: float, function: Callable[[Any], Any]) -> Piecewise:
    """The function between ``low`` and ``high``, constant beyond."""
    cells = list(_cells(function, low, high))
    knots = np.array([low, *(right for _, right, _ in cells)])
    ends = np.asarray([function(np.array([low]))[0], function(np.array([high]))[0]], dtype=np.float64)
    body = np.array([_monomials(values) for _, _, values in cells])
    flat = np.zeros((2, body.shape[1]))
    flat[:, 0] = ends
    centres = np.concatenate([[low], (knots[1:] + knots[:-1]) / 2, [high]])
    radii = np.concatenate([[1.0], (knots[1:] - knots[:-1]) / 2, [1.0]])
    return Piecewise(x, knots, centres, radii, np.concatenate([flat[:1], body, flat[1:]])[:, :, None])


def _cells(function: Callable[[Any], Any], low: float, high: float) -> Iterator[tuple[float, float, Array]]:
    """Intervals with the values at their Chebyshev nodes, left to right."""
    waiting = [(low, high)]
    probe = np.linspace(-1, 1, 23)
    while waiting:
        left, right = waiting.pop()
        middle, radius = (left + right) / 2, (right - left) / 2
        values = np.asarray(function(middle + radius * _NODES), dtype=np.float64)
        narrow = radius <= _NARROW * max(1.0, abs(left), abs(right))
        if narrow:
            values = np.full_like(values, float(function(np.array([middle]))[0]))
        else:
            fitted = chebyshev.chebval(probe, _coefficients(values))
            error = np.abs(fitted - np.asarray(function(middle + radius * probe)))
            if not np.all(error <= TOLERANCE):
                waiting += [(middle, right), (left, middle)]
                continue
        yield left, right, values


def _coefficients(values: Array) -> Array:
    """Chebyshev coefficients of the interpolant through the values at the nodes."""
    order = np.arange(_DEGREE + 1)
    found = 2 / (_DEGREE + 1) * np.cos(np.outer(order, np.arccos(_NODES))) @ values
    found[0] /= 2
    return found


def _monomials(values: Array) -> Array:
    found = chebyshev.cheb2poly(_coefficients(values))
    return np.pad(found, (0, _DEGREE + 1 - len(found)))


def _range(probability: Callable[[Any], Any]) -> tuple[float, float]:
    """Where a probability still moves."""
    sizes = np.geomspace(1e-2, _FAR, 400)
    ends = []
    for sign in (-1.0, 1.0):
        p = np.asarray(probability(sign * sizes))
        moving = np.flatnonzero(np.abs(p - p[-1]) > TOLERANCE / 2)
        last = min(moving[-1] + 1, len(sizes) - 1) if len(moving) else 0
        ends.append(sign * float(sizes[last]))
    return ends[0], ends[1]


def step(f: Formula) -> Formula:
    """-1, 0 or 1 by the sign."""
    return where(f > 0.0, 1.0, where(f < 0.0, -1.0, 0.0))
