"""What a small surrogate risk guarantees: how far the error rate can be above the best possible one.

With ``H(eta) = min_f eta phi(f) + (1 - eta) phi(-f)`` and ``H-`` the same minimum over scores of the wrong sign, the
psi-transform (Bartlett, Jordan and McAuliffe 2006) is the largest convex function below

    H-((1 + theta) / 2) - H((1 + theta) / 2),         for convex losses  phi(0) - H((1 + theta) / 2),

and whatever the distribution,  psi(error - best error) <= risk - best risk. No function gives a better bound. It is
positive for ``theta > 0`` exactly if the loss is classification calibrated.

Losses that determine probabilities obey ``risk - best risk >= m E (eta - eta(f))^2``; since a wrong decision costs
``|2 eta - 1| <= 2 |eta - eta(f)|``, the excess error is at most ``2 ((risk - best risk) / m)^(1/2)``. For the coherence
loss in its V scale ``m = 2 rho``, and this is ``(2 excess / rho)^(1/2)``, theorem 9 of the coherence paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softmargin._constraints import real_numbers
from softmargin.losses._base import Array, Loss, require

__all__ = ["ExcessRiskBound", "excess_risk_bound"]

_SCORES = np.concatenate([[0.0], np.geomspace(1e-6, 700.0, 600)])  # sizes; beyond 700 exponentials overflow
_ANGLES = np.concatenate([np.geomspace(1e-6, 0.05, 80), np.linspace(0.05, 1.0, 200)[1:]])
_ZERO = 1e-13  # a transform below this, in units of the loss at 0, has no digits
_ROUNDS = 32  # golden sections of a bracket 7 per cent wide: a minimiser to 1e-8, its risk to all digits
_BISECTIONS = 30  # of a bracket at most 15 per cent wide: ten digits


@dataclass(frozen=True)
class ExcessRiskBound:
    """The bound of one loss: call it with an excess risk to get the largest excess error rate.

    Attributes
    ----------
    loss : Loss
    calibrated : bool
        Whether a vanishing excess risk forces a vanishing excess error.
    """

    loss: Loss
    angles: tuple[float, ...] = field(repr=False)
    values: tuple[float, ...] = field(repr=False)

    @property
    def calibrated(self) -> bool:
        return self.values[int(np.searchsorted(self.angles, 1e-3))] > 0

    def __call__(self, excess: ArrayLike) -> Any:
        """The largest excess error rate, in [0, 1], at a given excess of the risk over the best risk."""
        e = real_numbers("excess", excess)
        require(bool(np.all(e >= 0)), "excess", excess, "nonnegative")
        angles, values = np.append(0.0, self.angles), np.append(0.0, self.values)
        place = np.minimum(np.searchsorted(values, e, side="right"), len(angles) - 1)
        low, high = angles[place - 1], angles[place]
        if self.loss.convex:
            for _ in range(_BISECTIONS):
                middle = 0.5 * (low + high)
                above = _transform(self.loss, middle.ravel()).reshape(middle.shape) > e
                low, high = np.where(above, low, middle), np.where(above, middle, high)
        else:  # the hull is straight where it left points out; between neighbours the upper end is the safe answer
            apart = np.searchsorted(_ANGLES, high) - np.searchsorted(_ANGLES, low, side="right") > 0
            high = np.where(apart, np.interp(e, values, angles), high)
        found = np.where(e < values[-1], high, 1.0)
        return found[()] if found.ndim == 0 else found

    def psi(self, theta: ArrayLike) -> Any:
        """The psi-transform at ``theta`` in [0, 1]: the least excess risk of an excess error ``theta``."""
        t = real_numbers("theta", theta)
        require(bool(np.all((t >= 0) & (t <= 1))), "theta", theta, "between 0 and 1")
        if self.loss.convex:
            found = _transform(self.loss, t.ravel()).reshape(t.shape)
        else:
            found = np.interp(t, (0.0, *self.angles), (0.0, *self.values))
        return found[()] if found.ndim == 0 else found

    def by_probability(self, excess: ArrayLike) -> Any:
        """The weaker bound through the error of the probabilities (theorem 9 for ``Coherence``)."""
        modulus = self.loss.probability_modulus
        if modulus is None:
            raise ValueError(f"No bound on the probabilities of {self.loss!r} is known; call the bound itself.")
        e = real_numbers("excess", excess)
        require(bool(np.all(e >= 0)), "excess", excess, "nonnegative")
        return np.minimum(2 * np.sqrt(e / modulus), 1.0)[()]


def excess_risk_bound(loss: Loss) -> ExcessRiskBound:
    """How far the error rate can be above the best one, given how far the risk is above its best.

    Parameters
    ----------
    loss : Loss
        Any loss, built in or made by ``make_loss``.

    Returns
    -------
    ExcessRiskBound
        A function of the excess risk (in the units of ``loss.value``, per row).

    Examples
    --------
    >>> from softmargin import losses
    >>> bound = losses.excess_risk_bound(losses.LeastSquares())
    >>> round(float(bound(0.04)), 9)  # the square root
    0.2
    >>> coherence = losses.excess_risk_bound(losses.Coherence(temperature=0.5, scale="V"))
    >>> bool(coherence(0.01) <= coherence.by_probability(0.01) <= (2 * 0.01 / 0.5) ** 0.5 + 1e-12)
    True
    """
    if not isinstance(loss, Loss):
        raise ValueError(f"loss must be a Loss; got {loss!r}. Make one from functions with make_loss.")
    return _bound(loss)


@lru_cache(maxsize=64)
def _bound(loss: Loss) -> ExcessRiskBound:
    seen = _transform(loss, _ANGLES)
    angles, values = _convex_hull(np.append(0.0, _ANGLES), np.append(0.0, np.maximum(seen, 0.0)))
    return ExcessRiskBound(loss, tuple(angles), tuple(values))


def _transform(loss: Loss, theta: Array) -> Array:
    """``H-(eta) - H(eta)`` at ``eta = (1 + theta) / 2``, with no digits where it is zero up to rounding."""
    eta = 0.5 * (1 + theta)
    right = _least(loss, eta, 1.0)
    wrong = np.full(len(eta), float(loss.value(0.0))) if loss.convex else _least(loss, eta, -1.0)
    unit = max(abs(float(loss.value(0.0))), 1e-300)
    return np.where(wrong - right > _ZERO * unit, wrong - right, 0.0)


@lru_cache(maxsize=4)
def _table(loss: Loss) -> tuple[Array, Array, Array]:
    """Sizes of scores, corners of the loss among them, with the loss at them and at their negatives."""
    sizes = np.union1d(_SCORES, [abs(kink.at) for kink in loss.kinks if np.isfinite(kink.at)])
    with np.errstate(all="ignore"):
        return sizes, np.asarray(loss.value(sizes)), np.asarray(loss.value(-sizes))


def _least(loss: Loss, eta: Array, side: float) -> Array:
    """The least risk over scores of one sign: the best of a grid, sharpened by golden sections around it."""

    def risk(size: Array) -> Array:
        scores = side * size
        with np.errstate(all="ignore"):
            near, far = eta * loss.value(scores), (1 - eta) * loss.value(-scores)
        return np.where(eta == 1, near, near + np.nan_to_num(far, nan=0.0, posinf=np.inf))

    sizes, plus, minus = _table(loss)
    up, down = (plus, minus) if side > 0 else (minus, plus)
    with np.errstate(all="ignore"):
        grid = eta[:, None] * up + np.where(eta[:, None] < 1, (1 - eta[:, None]) * down, 0.0)
    best = np.argmin(grid, axis=1)
    low, high = sizes[np.maximum(best - 1, 0)], sizes[np.minimum(best + 1, len(sizes) - 1)]
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(_ROUNDS):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        left = risk(a) <= risk(b)
        low, high = np.where(left, low, a), np.where(left, b, high)
    return np.minimum(grid[np.arange(len(eta)), best], risk(0.5 * (low + high)))


def _convex_hull(x: Array, y: Array) -> tuple[list[float], list[float]]:
    """The corners of the largest convex function below the points, without the origin they start from."""
    hull: list[tuple[float, float]] = []
    for point in zip(x.tolist(), y.tolist(), strict=True):
        while len(hull) >= 2 and _turns_right(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return [point[0] for point in hull[1:]], [point[1] for point in hull[1:]]


def _turns_right(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[1] - a[1]) * (c[0] - a[0]) > (c[1] - a[1]) * (b[0] - a[0])
