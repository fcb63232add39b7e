"""The bounded machine by a primal-dual interior point method, for problems whose Newton systems are small,

    minimise  1/2 sum_j |theta_j|^2 - sum_i cost_i f_{y_i}(x_i)   subject to   f_j(x_i) >= -1,   sum_j f_j = 0.

Its multipliers have no upper bound, so coordinate ascent crawls when costs are large: many big multipliers must cancel.
Here slacks ``s = f + 1`` and multipliers follow the central path ``s_ij l_ij = mu cost_i`` (a row of cost two takes the
very steps of two rows of cost one). Eliminating both, and the last class by ``theta_k = -sum_j theta_j``, leaves

    M_j step_j + M_k sum_l step_l = r_j - r_k,    M_j = G + Zt' diag(l_.j / s_.j) Zt,    j, l < k,

one positive definite system, whose Cholesky factors stay accurate however ill scaled the late ones are.
Steps are Mehrotra's predictor and corrector. The start ``theta = 0``, ``s = 1`` is feasible and stays so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

__all__ = ["bounded_multipliers", "is_small"]

Array = NDArray[np.floating[Any]]

_WORK = 1e9  # multiplications per step that still take a fraction of a second
_SMALLEST_MU = 1e-13
_SMALLEST_SHARE = 1e-3  # of the largest cost: a cheap row's bounds may still bind, and hard
_BACK_OFF = 0.995


def is_small(n_rows: int, n_features: int, n_classes: int) -> bool:
    """Whether a step is cheap enough to prefer this method."""
    m = n_features + 1.0
    return ((n_classes - 1) * m) ** 3 / 3 + n_rows * n_classes * m**2 <= _WORK


def bounded_multipliers(
    Z: Array, codes: NDArray[np.integer[Any]], cost: Array, k: int, intercept: str, max_iter: int
) -> tuple[Array, Array, int]:
    """Multipliers (n, k) of the bounds, coefficients whose first row is the intercept, and the number of steps."""
    n = len(Z)
    Zt = np.ascontiguousarray(np.column_stack([np.ones(n), Z]) if intercept != "none" else Z)
    ridge = np.ones(Zt.shape[1])
    if intercept == "free":
        ridge[0] = 0
    weight = np.maximum(cost, _SMALLEST_SHARE * cost.max())[:, None]
    unit = float(weight.mean())
    weight /= unit
    pull = np.zeros((n, k))
    pull[np.arange(n), codes] = cost / unit
    theta, s, multiplier = np.zeros((Zt.shape[1], k)), np.ones((n, k)), np.repeat(weight, k, axis=1)
    ridge = ridge / unit  # everything in units of the mean cost
    steps, least, best = 0, np.inf, (multiplier, theta)
    while steps < max_iter:
        mu = float(np.sum(s * multiplier)) / (k * n)
        residual = Zt.T @ (pull + multiplier) - ridge[:, None] * theta
        uneven = (residual - residual.mean(axis=1, keepdims=True)) / np.where(ridge > 0, ridge, 1)[:, None]
        error = mu + float(np.abs(uneven).max())
        if error < least:
            least, best = error, (multiplier, theta)
        if mu <= _SMALLEST_MU or error > 1e3 * least:  # beyond, rounding undoes what steps gain
            break
        try:
            newton = _Newton(Zt, ridge, s, multiplier)
        except np.linalg.LinAlgError:  # as close to the boundary as floating point can tell
            break
        _, ds, dl = newton.step(residual, -s * multiplier)
        length = min(_longest(s, ds), _longest(multiplier, dl), 1.0)
        ahead = float(np.sum((s + length * ds) * (multiplier + length * dl))) / (k * n)
        target = (ahead / mu) ** 3 * mu * weight
        change, ds, dl = newton.step(residual, target - s * multiplier - ds * dl)
        length = min(_BACK_OFF * min(_longest(s, ds), _longest(multiplier, dl)), 1.0)
        if not length > 1e-10:
            break
        theta, multiplier = theta + length * change, multiplier + length * dl
        s = s + length * ds
        steps += 1
    multiplier, theta = best
    if intercept == "none":
        theta = np.vstack([np.zeros(k), theta])
    return unit * multiplier, theta, steps


class _Newton:
    """The factorised Newton equations at one point, in the coefficients of all classes but the last."""

    def __init__(self, Zt: Array, ridge: Array, s: Array, multiplier: Array) -> None:
        self.Zt, self.s, self.multiplier = Zt, s, multiplier
        m, k = len(ridge), s.shape[1]
        grams = [(Zt * curve[:, None]).T @ Zt + np.diag(ridge) for curve in (multiplier / s).T]
        self.H = np.tile(grams[-1], (k - 1, k - 1))
        for j in range(k - 1):
            self.H[j * m : (j + 1) * m, j * m : (j + 1) * m] += grams[j]
        self.factor = linalg.cho_factor(self.H, lower=True)

    def step(self, residual: Array, products: Array) -> tuple[Array, Array, Array]:
        """Changes of coefficients, slacks and multipliers that move ``s * multiplier`` by ``products``."""
        right = residual + self.Zt.T @ (products / self.s)
        right = (right[:, :-1] - right[:, -1:]).T.ravel()
        x = linalg.cho_solve(self.factor, right, check_finite=False)
        x += linalg.cho_solve(self.factor, right - self.H @ x, check_finite=False)
        change = x.reshape(-1, self.Zt.shape[1]).T
        change = np.column_stack([change, -change.sum(axis=1)])
        ds = self.Zt @ change
        return change, ds, (products - self.multiplier * ds) / self.s


def _longest(x: Array, dx: Array) -> float:
    """The step at which the first entry of ``x`` reaches zero."""
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling])) if falling.any() else np.inf
