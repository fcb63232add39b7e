"""Leveraging a small block for all channels side by side: the Newton steps of ``leveraging``, as matrices.

Channels share the columns ``H`` of a block and differ in labels and margins. On few rows a step of one channel is more
calls than arithmetic, and with many classes the calls are the work of a round. Here the rows of all channels that have
not ended make one array: margins ``Z`` (channels, rows), gradients ``(Y * C psi'(Z)) H``, and Hessians
``(C psi''(Z)) [h_s h_t]`` for all pairs of columns at once. Every channel has a Hessian, kept while it serves, a length
of the step and an end of its own.

The block must be smoothed, so that a finite optimum exists; a channel that finds none all the same is left to the
search for one channel, which says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses import Loss
from softmargin.solvers.linalg import backtrack, definite_cholesky
from softmargin.solvers.rules.leveraging import MAX_NEWTON, ROUNDING, Block, Evaluation, damping, is_worn

__all__ = ["Channels"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Channels:
    """The block ``columns`` (rows, members) for labels (channels, rows) and coefficients (channels, members)."""

    loss: Loss
    y: Array
    weights: Array
    columns: Array
    smoothing: Array

    def moved(self, points: Sequence[Evaluation], steps: Array) -> list[Evaluation]:
        """The points after a step of every channel."""
        return [Evaluation(*part) for part in self._moved(_stacked(points)[:, 0], steps)]

    def gradients(self, points: Sequence[Evaluation], coef: Array) -> Array:
        """The gradient of the smoothed risk, (channels, members)."""
        force = self.weights * np.stack([point.slope for point in points])
        return (self.y * force) @ self.columns + self.smoothing * np.subtract(*self._pseudo(coef)[1])

    def correct(self, points: Sequence[Evaluation], coef: Array, tol: float) -> list[Block]:
        """[LC] solved for every channel: damped Newton until the largest edge is ``tol`` or nothing is left to gain."""
        parts, coef = _stacked(points), coef.copy()
        pairs = (self.columns[:, :, None] * self.columns[:, None, :]).reshape(len(self.columns), -1)
        edges, n_iter = np.full(len(coef), np.inf), np.zeros(len(coef), dtype=int)
        hessians = np.empty((*coef.shape, coef.shape[1]))
        active = np.arange(len(coef))
        for iteration in range(MAX_NEWTON + 1):
            force = self.weights * parts[active, 2]
            pseudo = self._pseudo(coef[active])
            pull = self.smoothing * (pseudo[1][0] - pseudo[1][1])
            gradient = (self.y[active] * force) @ self.columns + pull
            size = np.abs(force).sum(axis=1) + np.abs(pull).max(axis=1)
            last = edges[active]
            edge = np.abs(gradient).max(axis=1) / np.where(size > 0, size, 1.0)
            edges[active], n_iter[active] = edge, iteration
            going = np.flatnonzero(edge > tol)
            if iteration == MAX_NEWTON or not len(going):
                break
            fresh = active[[a for a in going if not iteration or is_worn(edge[a], last[a], tol)]]
            if len(fresh):
                hessians[fresh] = ((self.weights * parts[fresh, 3]) @ pairs).reshape(len(fresh), *hessians.shape[1:])
            active, gradient = active[going], gradient[going]
            step = self._directions(hessians[active], pseudo[2][:, going].sum(axis=0), gradient)
            served, moved, there = replace(self, y=self.y[active])._search(parts[active], coef[active], step, gradient)
            active = active[served]
            coef[active], parts[active] = moved[served], there[served]
            if not len(active):
                break
        return [
            Block(a, Evaluation(*part), float(edge), int(n), bool(edge <= tol))
            for a, part, edge, n in zip(coef, parts, edges, n_iter, strict=True)
        ]

    def _directions(self, hessians: Array, bends: Array, gradients: Array) -> Array:
        """The Newton steps, (channels, members)."""
        diagonals = np.einsum("kii->ki", hessians)
        diagonals += self.smoothing * bends
        diagonals += damping(diagonals, gradients)[:, None]
        try:
            np.linalg.cholesky(hessians)  # a check: of some matrices at once NumPy solves by elimination only
            steps = -np.linalg.solve(hessians, gradients[:, :, None])[:, :, 0]
            if np.isfinite(steps).all():
                return steps
        except np.linalg.LinAlgError:
            pass
        solves = [definite_cholesky(np.asfortranarray(hessian)) for hessian in hessians]
        trios = zip(solves, diagonals, gradients, strict=True)
        return np.stack([-g / diagonal if solve is None else -solve(g) for solve, diagonal, g in trios])

    def _search(
        self, parts: Array, coef: Array, step: Array, gradient: Array
    ) -> tuple[NDArray[np.bool_], Array, Array]:
        """Which channels some length of their step serves, with the coefficients and the parts there."""
        whole, trial = self._moved(parts[:, 0], step), coef + step
        now, then = self._costs(parts, coef), self._costs(whole, trial)
        slope, served = np.einsum("km,km->k", gradient, step), np.zeros(len(coef), dtype=bool)
        for k in range(len(coef)):

            def at(length: float, k: int = k) -> tuple[float, tuple[Array, Array]]:
                if length == 1:
                    return float(then[k]), (trial[k], whole[k])
                one, shorter = replace(self, y=self.y[k : k + 1]), coef[k] + length * step[k]
                there = one._moved(parts[k : k + 1, 0], length * step[k : k + 1])
                return float(one._costs(there, shorter[None])[0]), (shorter, there[0])

            found = backtrack(at, float(now[k]), float(slope[k]), noise=ROUNDING * abs(float(now[k])))
            if found is not None:  # else rounding: nothing left to gain
                served[k] = True
                trial[k], whole[k] = found.there
        return served, trial, whole

    def _moved(self, margins: Array, steps: Array) -> Array:
        """Margins after a step of every channel with the loss there, (channels, 4, rows)."""
        there = margins + self.y * (steps @ self.columns.T)
        parts = np.empty((len(there), 4, there.shape[1]))
        parts[:, 0] = there
        for place, part in enumerate(self.loss.evaluate(there.ravel()), 1):
            parts[:, place] = part.reshape(there.shape)
        return parts

    def _costs(self, parts: Array, coef: Array) -> Array:
        """The smoothed risk of every channel."""
        both = self.loss.value(np.concatenate((coef.ravel(), -coef.ravel()))).reshape(2, *coef.shape)
        return parts[:, 1] @ self.weights + both.sum(axis=0) @ self.smoothing

    def _pseudo(self, coef: Array) -> Array:
        """The loss of the pseudo-examples and its derivatives: (3, right or wrong, channels, members)."""
        both = np.stack((coef, -coef))
        return np.stack([part.reshape(both.shape) for part in self.loss.evaluate(both.ravel())])


def _stacked(points: Sequence[Evaluation]) -> Array:
    """Margins, loss, slope and curvature, (channels, 4, rows)."""
    return np.array([(point.margins, point.value, point.slope, point.curvature) for point in points])
