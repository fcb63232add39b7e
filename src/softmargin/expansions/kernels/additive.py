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
from functools import cached_property
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
_BLOCK_BYTES = 1 << 25  # similarities of all features at once: as many rows as fit here
_ALL_PAIRS = 8  # products of all pairs of features by BLAS take as long as that share of them one by one
_KEPT_BYTES = 1 << 28  # such blocks kept between passes: beyond, they are computed again


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
        kept = np.flatnonzero(weights > 0)
        components, values = tuple(self.components[j] for j in kept), tuple(weights[kept].tolist())
        return AdditiveSplines(components, values, self.low, self.high)

    def unit(self, X: Any) -> Array:
        """Rows with each feature brought to [0, 1]."""
        low, high = np.array(self.low), np.array(self.high)
        span = np.where(high > low, high - low, 1.0)
        return np.clip((np.asarray(X, dtype=np.float64) / span) - low / span, 0.0, 1.0)

    @cached_property
    def features(self) -> list[int]:
        """The features that some component uses."""
        return sorted({v for component in self.components for v in component})

    @cached_property
    def places(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Where the first and the last feature of each component stand in ``features``."""
        place = {v: number for number, v in enumerate(self.features)}
        first = np.array([place[component[0]] for component in self.components], dtype=np.intp)
        return first, np.array([place[component[-1]] for component in self.components], dtype=np.intp)

    def blocks(self, left: Array, right: Array) -> Iterator[tuple[slice, Array]]:
        """Blocks of rows brought to [0, 1]: ``k(x_iv, z_jv)`` of all features, of shape (features, rows, columns)."""
        features = self.features
        step = max(1, _BLOCK_BYTES // (8 * max(1, len(features) * len(right))))
        for start in range(0, len(left), step):
            rows = slice(start, min(start + step, len(left)))
            block = np.empty((len(features), rows.stop - start, len(right)))
            for number, v in enumerate(features):
                block[number] = spline(left[rows, v], right[:, v])
            yield rows, block

    def add_up(self, block: Array, weights: Array) -> Array:
        """Rows of the kernel: ``sum_v S_v (w_v + sum_u W_vu S_u)``, where the inner sums are matrix products."""
        first, last = (places[weights > 0] for places in self.places)
        used = np.unique(np.concatenate([first, last]))
        first, last = np.searchsorted(used, first), np.searchsorted(used, last)
        block, weights = block[used] if len(used) < len(block) else block, weights[weights > 0]
        single, pairs, alone = np.zeros(len(used)), np.zeros((len(used), len(used))), first == last
        single[first[alone]], pairs[first[~alone], last[~alone]] = weights[alone], weights[~alone]
        if alone.all():
            return np.tensordot(single, block, axes=1)
        return np.einsum("vij,vij->ij", block, np.tensordot(pairs, block, axes=1) + single[:, None, None])

    def images(self, block: Array, coef: Array, chosen: NDArray[np.intp]) -> Array:
        """Those rows of ``K_j coef`` for the chosen components, a column each and without the weights."""
        first, last = (places[chosen] for places in self.places)
        images, pairs = np.empty((block.shape[1], len(chosen))), np.flatnonzero(first != last)
        alone = np.flatnonzero(first == last)
        images[:, alone] = np.matmul(block[first[alone]], coef).T
        if len(self.features) ** 2 <= _ALL_PAIRS * len(pairs):
            by_row = block.transpose(1, 0, 2)
            images[:, pairs] = np.matmul(by_row * coef, by_row.transpose(0, 2, 1))[:, first[pairs], last[pairs]]
        else:
            for j in pairs:
                images[:, j] = (block[first[j]] * block[last[j]]) @ coef
        return images

    def squares(self, block: Array, left: Array, right: Array) -> Array:
        """What those rows add to ``left'K_j right``, for every component."""
        first, last = self.places
        flat, products = block.reshape(len(block), -1), np.outer(left, right).ravel()
        squares, pairs = (flat @ products)[first], first != last
        if pairs.any():
            squares[pairs] = ((flat * products) @ flat.T)[first[pairs], last[pairs]]
        return np.asarray(squares)

    def __call__(self, A: Any, B: Any) -> Array:
        K = np.zeros((len(A), len(B)), dtype=np.result_type(A.dtype, B.dtype))
        left = self.unit(A)
        for rows, block in self.blocks(left, left if A is B else self.unit(B)) if self.components else ():
            K[rows] = self.add_up(block, np.array(self.weights))
        return K


class AdditiveColumns:
    """Training rows seen through each component of an additive kernel: what choosing their weights asks for."""

    def __init__(self, X: Array, interactions: bool) -> None:
        self.X, self.splines = X, AdditiveSplines.of_rows(X, interactions)
        self._unit, self._kept = self.splines.unit(X), []  # type: tuple[Array, list[tuple[slice, Array]]]
        require_square(len(X), 8)

    @property
    def components(self) -> tuple[Component, ...]:
        return self.splines.components

    def weighted(self, weights: Array) -> KernelColumns:
        """Kernel columns of the sum."""
        K = np.zeros((len(self.X), len(self.X)))
        if np.any(weights > 0):
            for rows, block in self._blocks():
                K[rows] = self.splines.add_up(block, weights)
        return KernelColumns(K, Kernel(self.splines.weighted(weights)), self.X)

    def images(self, coef: Array, chosen: NDArray[np.intp]) -> Array:
        """``K_j coef`` of the chosen components, a column each."""
        images = np.zeros((len(self.X), len(chosen)))
        for rows, block in self._blocks():
            images[rows] = self.splines.images(block, coef, chosen)
        return images

    def squares(self, coef: Array) -> Array:
        """``coef'K_j coef`` of every component, by matrix products: ``sum_ir (c_i c_r S_u(i, r)) S_v(i, r)``."""
        squares = np.zeros(len(self.components))
        for rows, block in self._blocks():
            squares += self.splines.squares(block, coef[rows], coef)
        return np.maximum(squares, 0.0)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        if not self.components:
            return
        if not self._kept and 8 * len(self.X) ** 2 * len(self.splines.features) <= _KEPT_BYTES:
            self._kept = list(self.splines.blocks(self._unit, self._unit))
        yield from self._kept or self.splines.blocks(self._unit, self._unit)
