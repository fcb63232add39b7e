"""The sandwich covariance of a linear margin classifier, smooth or kinked.

For ``theta = (b, beta)`` minimising ``sum_i c_i phi(y_i x_i'theta) + (ridge/2)|beta|^2`` with ``x_i = (1, features)``,

    cov = H^-1 G H^-1,   H = sum_i c_i [phi''(u_i) + sum_k J_k K_h(u_i - t_k)] x_i x_i' + ridge diag(0, 1, ..., 1),
                         G = sum_i c_i^2 phi'(u_i)^2 (1 - l_i)^-m x_i x_i',

where a corner of ``phi`` at ``t_k`` with slope jump ``J_k`` contributes the density of the margins there, estimated
with a Gaussian kernel of width ``1.06 min(sd, IQR/1.349) n^(-1/5)`` (``n^(-1/3)`` when the loss is flat beyond its
corner, where the usual width biases the slope). A row repeated ``m`` times counts ``m`` times in both sums. Intervals
built on it are for the minimiser of the population risk: they do not see the bias of a strong penalty.

The leverage ``l_i`` of a row is its entry of the diagonal of the influence matrix in the metric of the curvature; a row
that attracts its own fit shows too small a slope. ``m = 0`` is the plain sandwich, 1 and 2 are known as HC2 and HC3
from least squares. The sum of leverages is the degrees of freedom of the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from softmargin.losses import Loss

__all__ = ["LinearFit", "kink_bandwidth", "optimal_slope", "sandwich"]

Array = NDArray[np.floating[Any]]

_NEARLY_FLAT = 0.05
_MOST_LEVERAGE = 0.99
_ON_CORNER = 1e-5  # distance of a margin from a corner within which a converged fit has put it there


def kink_bandwidth(margins: Array, frequency: Array, *, flat: bool) -> float:
    """The width of the Gaussian window that estimates the density of the margins at a corner."""
    n = float(frequency.sum())
    mean = float(frequency @ margins) / n
    spread = float(np.sqrt(frequency @ np.square(margins - mean) / n))
    order = np.argsort(margins)
    share = np.cumsum(frequency[order]) / n
    quartiles = margins[order][np.minimum(np.searchsorted(share, [0.25, 0.75]), len(margins) - 1)]
    width = min(spread, float(quartiles[1] - quartiles[0]) / 1.349) or spread or 1.0
    return 1.06 * width * n ** (-1 / 3 if flat else -1 / 5)


def optimal_slope(loss: Loss, signed: Array, margins: Array, cost: Array, pull: Array, frequency: Array) -> Array:
    """``phi'`` with the subgradients that make the point stationary at rows on a corner.

    ``signed`` holds ``y_i x_i``; stationarity is ``sum_i frequency_i cost_i g_i y_i x_i + pull = 0``. Rows off every
    corner have ``g = phi'``; those on one (no more than columns, in general position) are solved for by least squares.
    Of several solutions it is the one whose ``sum_i frequency_i g_i^2`` is least, the same for rows and for repeats.
    """
    slope = np.array(loss.slope(margins), dtype=float)
    pulls, copies = signed * (frequency * cost)[:, None], np.sqrt(frequency)
    for kink in loss.kinks:
        elbow = np.abs(margins - kink.at) <= _ON_CORNER
        if elbow.any():
            rest = pulls[~elbow].T @ slope[~elbow] + pull
            found = np.linalg.lstsq((pulls[elbow] / copies[elbow, None]).T, -rest, rcond=None)[0] / copies[elbow]
            low, high = sorted((kink.left_slope, kink.right_slope))
            slope[elbow] = np.clip(found, low, high)
    return slope


@dataclass(frozen=True)
class LinearFit:
    """A minimum seen by its rows: each row of ``design`` counts ``frequency`` times at ``cost``, ``ridge`` per column.

    ``slope`` overrides ``phi'`` where the optimal subgradient is known (see ``optimal_slope``), ``bandwidth`` the
    width of the window at corners.
    """

    loss: Loss
    design: Array
    margins: Array
    frequency: Array
    cost: Array
    ridge: Array
    slope: Array | None = None
    bandwidth: float | None = None

    @cached_property
    def curvature(self) -> Array:
        """``phi''`` and the density of the margins at the corners."""
        curvature = np.asarray(self.loss.curvature(self.margins), dtype=float)
        for kink in self.loss.kinks:
            flat = 0 <= kink.right_slope < _NEARLY_FLAT
            width = self.bandwidth
            width = kink_bandwidth(self.margins, self.frequency, flat=flat) if width is None else width
            distance = (self.margins - kink.at) / width
            curvature = curvature + kink.jump * np.exp(-0.5 * distance**2) / (np.sqrt(2 * np.pi) * width)
        return curvature

    @cached_property
    def bread(self) -> Array:
        """``H^-1``; raises ``numpy.linalg.LinAlgError`` when ``H`` is not positive definite: no strict minimum."""
        scaled = self.design * (self.frequency * self.cost * self.curvature)[:, None]
        hessian = self.design.T @ scaled
        hessian[np.diag_indices_from(hessian)] += self.ridge
        return linalg.cho_solve(linalg.cho_factor(hessian), np.eye(len(hessian)))

    @cached_property
    def leverage(self) -> Array:
        """The influence of one copy of each row on its own margin, in the metric of the curvature."""
        diagonal = np.einsum("ij,ij->i", self.design @ self.bread, self.design)
        return np.clip(diagonal * self.cost * self.curvature, 0.0, _MOST_LEVERAGE)

    @property
    def bent_down(self) -> float:
        """The share of the curvature that rows with a negative one take away from that of the others."""
        spent = self.frequency * self.cost * np.einsum("ij,ij->i", self.design @ self.bread, self.design)
        up, down = float(spent @ np.maximum(self.curvature, 0)), float(spent @ np.maximum(-self.curvature, 0))
        return down / up if up > 0 else 0.0

    @property
    def df(self) -> float:
        """The degrees of freedom of the fit."""
        return float(self.frequency @ self.leverage)

    @property
    def n(self) -> float:
        return float(self.frequency.sum())


def sandwich(fit: LinearFit, *, leverage_power: int = 0) -> Array:
    """The covariance of ``theta``; ``leverage_power`` is ``m`` above."""
    slope = np.asarray(fit.loss.slope(fit.margins), dtype=float) if fit.slope is None else fit.slope
    share = fit.frequency * np.square(fit.cost * slope)
    if leverage_power:
        share = share * (1 - fit.leverage) ** -leverage_power
    meat = fit.design.T @ (fit.design * share[:, None])
    return fit.bread @ meat @ fit.bread
