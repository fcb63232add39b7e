"""Additive kernels: a weighted sum of components, each a kernel of one feature or the product of those of two.

Each feature is brought to [0, 1] by its range in training (new values outside stand at the end they passed), where

    k(x, z) = k_1(x) k_1(z) + k_2(x) k_2(z) - k_4(|x - z|),     k_1(t) = t - 1/2,  k_2 = (k_1^2 - 1/12) / 2,
    k_4 = (k_1^4 - k_1^2 / 2 + 7/240) / 24                                     (Wahba 1990, section 1.2 and chapter 10)

reproduces functions with a square-integrable second derivative whose mean over [0, 1] is zero: straight lines are in
it, constants are not. So the components of a sum are those of an analysis of variance: products hold what no sum of
functions of one feature can say. ``k`` is divided by its mean on the diagonal, 31/360, so that all components weigh
alike. A feature that is constant in training makes no component.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions.kernels.columns import KernelColumns
from softmargin.expansions.kernels.function import KernelFunction
from softmargin.expansions.kernels.kernel import Kernel
from softmargin.expansions.memory import require_square

__all__ = ["AdditiveColumns", "AdditiveSplines", "spline"]

Array = NDArray[np.floating[Any]]
Component = tuple[int, ...]

_MEAN_DIAGONAL = 31 / 360
_KEPT_BYTES = 1 << 28  # matrices of single features kept between passes: beyond, they are computed again


def spline(x: Array, z: Array) -> Array:
    """The matrix of ``k(x_i, z_j)`` for numbers in [0, 1]."""
    a, b = x - 0.5, z - 0.5
    distance = np.abs(x[:, None] - z) - 0.5
    np.square(distance, out=distance)
    K = -(np.square(distance) - 0.5 * distance + 7 / 240) / 24
    K += np.outer(a, b)
    K += np.outer(a * a - 1 / 12, b * b - 1 / 12) / 4
    return K / _MEAN_DIAGONAL


@dataclass(frozen=True)
class AdditiveSplines(KernelFunction):
    """``sum_j weights_j prod_{v in components_j} k(x_v, z_v)``; ``low`` and ``high`` are the ranges of the features."""

    components: tuple[Component, ...]
    weights: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of_rows(cls, X: Array, interactions: bool) -> AdditiveSplines:
        """The components that rows allow, with weights of one."""
        low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        varying = [int(v) for v in np.flatnonzero(high > low)]
        components = [(v,) for v in varying] + (list(combinations(varying, 2)) if interactions else [])
        return cls(tuple(components), (1.0,) * len(components), tuple(low.tolist()), tuple(high.tolist()))

    def weighted(self, weights: Array) -> AdditiveSplines:
        """The same components with other weights; those of weight zero are left out."""
        kept = [(one, float(weight)) for one, weight in zip(self.components, weights, strict=True) if weight > 0]
        components, values = tuple(one for one, _ in kept), tuple(value for _, value in kept)
        return AdditiveSplines(components, values, self.low, self.high)

    def unit(self, X: Any) -> Array:
        """Rows with each feature brought to [0, 1]."""
        low, high = np.array(self.low), np.array(self.high)
        span = np.where(high > low, high - low, 1.0)
        return np.clip((np.asarray(X, dtype=np.float64) / span) - low / span, 0.0, 1.0)

    def __call__(self, A: Any, B: Any) -> Array:
        K = np.zeros((len(A), len(B)))
        left = self.unit(A)
        right = left if A is B else self.unit(B)
        for component, weight in zip(self.components, self.weights, strict=True):
            part = spline(left[:, component[0]], right[:, component[0]])
            for v in component[1:]:
                part *= spline(left[:, v], right[:, v])
            part *= weight
            K += part
        return K.astype(np.result_type(A.dtype, B.dtype), copy=False)


class AdditiveColumns:
    """Training rows seen through each component of an additive kernel: what choosing their weights asks for."""

    def __init__(self, X: Array, interactions: bool) -> None:
        self.X, self.splines = X, AdditiveSplines.of_rows(X, interactions)
        self._unit, self._kept = self.splines.unit(X), {}  # type: tuple[Array, dict[int, Array]]
        self._keeps = 8 * len(X) ** 2 * X.shape[1] <= _KEPT_BYTES
        require_square(len(X), 8)

    @property
    def components(self) -> tuple[Component, ...]:
        return self.splines.components

    def weighted(self, weights: Array) -> KernelColumns:
        """Kernel columns of the sum."""
        K = np.zeros((len(self.X), len(self.X)))
        for weight, part in zip(weights[weights > 0], self._matrices(np.flatnonzero(weights > 0)), strict=True):
            K += weight * part
        return KernelColumns(K, Kernel(self.splines.weighted(weights)), self.X)

    def images(self, coef: Array) -> Array:
        """``K_j coef`` of every component, a column each."""
        if self._keeps and len(self.components) > len(self.X):
            return self._images_by_row(coef)
        images = [K @ coef for K in self._matrices(np.arange(len(self.components)))]
        return np.column_stack(images) if images else np.zeros((len(self.X), 0))

    def _images_by_row(self, coef: Array) -> Array:
        """The same for more components than rows: all products of two features in a row are one matrix product."""
        features = sorted({v for component in self.components for v in component})
        place = {v: number for number, v in enumerate(features)}
        first = np.array([place[component[0]] for component in self.components])
        last = np.array([place[component[-1]] for component in self.components])
        alone = np.array([len(component) == 1 for component in self.components])
        matrices = np.stack([self._of_feature(v) for v in features])
        images = np.empty((len(self.X), len(self.components)))
        for i in range(len(self.X)):
            row = matrices[:, i]
            pairs = (row * coef) @ row.T
            images[i] = np.where(alone, (row @ coef)[first], pairs[first, last])
        return images

    def _matrices(self, at: NDArray[np.intp]) -> Iterator[Array]:
        for j in at:
            first, *others = self.components[j]
            K = self._of_feature(first)
            for v in others:
                K = K * self._of_feature(v)
            yield K

    def _of_feature(self, v: int) -> Array:
        if v in self._kept:
            return self._kept[v]
        K = spline(self._unit[:, v], self._unit[:, v])
        if self._keeps:
            self._kept[v] = K
        return K
