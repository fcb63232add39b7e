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

from softmargin._compiled.splines import spline_sum
from softmargin.expansions.kernels.columns import KernelColumns
from softmargin.expansions.kernels.function import KernelFunction
from softmargin.expansions.kernels.kernel import Kernel
from softmargin.expansions.memory import require_square

__all__ = ["AdditiveColumns", "AdditiveSplines", "spline"]

Array = NDArray[np.floating[Any]]
Indices = NDArray[np.intp]
Component = tuple[int, ...]

_MEAN_DIAGONAL = 31 / 360
_BLOCK_BYTES = 1 << 25  # similarities of all features at once: as many rows as fit here
_ALL_PAIRS = 8  # products of all pairs of features by BLAS take as long as that share of them one by one
_KEPT_BYTES = 1 << 29  # similarities of single features kept between passes: beyond, they are computed again


def spline(x: Array, z: Array) -> Array:
    """The matrix of ``k(x_i, z_j)`` for numbers in [0, 1]."""
    t = np.subtract.outer(x, z)
    np.abs(t, out=t)
    t *= 1 - t
    np.square(t, out=t)
    t /= -24 * _MEAN_DIAGONAL
    t += _low_powers(x) @ (_low_powers(z).T / _MEAN_DIAGONAL)
    return t


def _low_powers(x: Array) -> Array:
    """Columns whose products are ``k`` but for the powers of ``t = |x - z|``, ``24 k_4 = (t - t^2)^2 - 1/30``."""
    a = x - 0.5
    return np.column_stack([a, (a * a - 1 / 12) / 2, np.full(len(a), np.sqrt(1 / 720))])


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
        """Rows with each feature brought to [0, 1], one feature after the other in memory."""
        low, high = np.array(self.low), np.array(self.high)
        span = np.where(high > low, high - low, 1.0)
        return np.asfortranarray(np.clip((np.asarray(X, dtype=np.float64) / span) - low / span, 0.0, 1.0))

    @cached_property
    def features(self) -> list[int]:
        """The features that some component uses."""
        return sorted({v for component in self.components for v in component})

    @cached_property
    def places(self) -> tuple[Indices, Indices]:
        """Where the first and the last feature of each component stand in ``features``."""
        place = {v: number for number, v in enumerate(self.features)}
        first = np.array([place[component[0]] for component in self.components], dtype=np.intp)
        return first, np.array([place[component[-1]] for component in self.components], dtype=np.intp)

    def parts(self, chosen: Indices) -> tuple[Indices, Indices, Indices]:
        """The features that the chosen components use, and where the first and the last of each stand among them."""
        first, last = (places[chosen] for places in self.places)
        used = np.unique(np.concatenate([first, last]))
        return used, np.searchsorted(used, first), np.searchsorted(used, last)

    def __call__(self, A: Any, B: Any) -> Array:
        dtype = np.result_type(A.dtype, B.dtype)
        left = self.unit(A)
        right = left if A is B else self.unit(B)
        _, first, last = self.parts(np.arange(len(self.components)))
        if np.array_equal(first, last):
            x = _feature_rows(left, [component[0] for component in self.components])
            z = x if A is B else _feature_rows(right, [component[0] for component in self.components])
            return spline_sum(x, z, np.array(self.weights) / _MEAN_DIAGONAL).astype(dtype, copy=False)
        K = np.zeros((len(A), len(B)), dtype=dtype)
        for rows in _row_blocks(len(left), len(self.features), len(right)):
            block = np.stack([spline(left[rows, v], right[:, v]) for v in self.features])
            K[rows] = _add_up(block, first, last, np.array(self.weights))
        return K


def _feature_rows(unit: Array, features: list[int]) -> Array:
    """Those features, a row each, as compiled loops read them."""
    return np.ascontiguousarray(unit[:, features].T)


def _row_blocks(n_rows: int, n_features: int, n_columns: int) -> Iterator[slice]:
    """As many rows at a time as their similarities of all features fit in; none without features."""
    step = max(1, _BLOCK_BYTES // (8 * max(1, n_features * n_columns)))
    for start in range(0, n_rows if n_features else 0, step):
        yield slice(start, min(start + step, n_rows))


def _add_up(block: Array, first: Indices, last: Indices, weights: Array) -> Array:
    """Rows of the kernel: ``sum_v S_v (w_v + sum_u W_vu S_u)``, where the inner sums are matrix products."""
    single, pairs, alone = np.zeros(len(block)), np.zeros((len(block), len(block))), first == last
    single[first[alone]], pairs[first[~alone], last[~alone]] = weights[alone], weights[~alone]
    return np.einsum("vij,vij->ij", block, np.tensordot(pairs, block, axes=1) + single[:, None, None])


def _pair_images(block: Array, first: Indices, last: Indices, coef: Array) -> Array:
    """Those rows of ``K_j coef`` for pairs of features, a column each."""
    if len(block) ** 2 <= _ALL_PAIRS * len(first):
        by_row = block.transpose(1, 0, 2)
        return np.asarray(np.matmul(by_row * coef, by_row.transpose(0, 2, 1))[:, first, last])
    return np.column_stack([(block[u] * block[v]) @ coef for u, v in zip(first, last, strict=True)])


class _SortedFeatures:
    """Products with the spline kernels of single features, without their matrices.

    ``24 k_4 = t^4 - 2 t^3 + t^2 - 1/30`` of ``t = |x - z|`` is a polynomial of ``x`` and ``z`` but for the cube. Sums
    of ``|x - z|^3`` are those of ``(x - z)^3`` over the smaller ``z`` less those over the larger, which running moments
    of sorted rows give: ``n`` steps a feature in place of ``n^2``.
    """

    def __init__(self, unit: Array) -> None:
        self._order = np.argsort(unit, axis=0, kind="stable")
        self._x = np.take_along_axis(unit, self._order, axis=0) - 0.5

    def images(self, coef: Array, wanted: Indices) -> Array:
        """``k(x_iv, x_jv) coef_j`` summed over rows, a column for each wanted feature."""
        order, x = self._order[:, wanted], self._x[:, wanted]
        moments, terms = list[Array](), coef[order]
        for _ in range(5):
            moments.append(np.cumsum(terms, axis=0))
            terms *= x
        m0, m1, m2, m3, m4 = (moment[-1] for moment in moments)
        cubes = 2 * _cubes(x, *moments[:4]) - _cubes(x, m0, m1, m2, m3)
        fourth = m4 - x * (4 * m3 - x * (6 * m2 - x * (4 * m1 - x * m0)))
        even = fourth + m2 - x * (2 * m1 - x * m0) - m0 / 30
        found = x * m1 + (x * x - 1 / 12) * (m2 - m0 / 12) / 4 - (even - 2 * cubes) / 24
        images = np.empty_like(found)
        np.put_along_axis(images, order, found / _MEAN_DIAGONAL, axis=0)
        return images


def _cubes(x: Array, m0: Array, m1: Array, m2: Array, m3: Array) -> Array:
    """``sum_j c_j (x - z_j)^3`` by the moments of the ``z_j``."""
    return x * (x * (x * m0 - 3 * m1) + 3 * m2) - m3


class AdditiveColumns:
    """Training rows seen through each component of an additive kernel: what choosing their weights asks for."""

    def __init__(self, X: Array, splines: AdditiveSplines) -> None:
        self.X, self.splines = X, splines
        self._unit, self._kept = self.splines.unit(X), {}  # type: tuple[Array, dict[int, Array]]
        self._last: tuple[Array, KernelColumns] | None = None
        self._sorted = _SortedFeatures(self._unit[:, self.splines.features])
        require_square(len(X), 8)

    @classmethod
    def of_rows(cls, X: Array, interactions: bool) -> AdditiveColumns:
        """All components that the rows allow."""
        return cls(X, AdditiveSplines.of_rows(X, interactions))

    def take(self, rows: Indices) -> AdditiveColumns:
        """The same components on some of the rows."""
        return AdditiveColumns(self.X[rows], self.splines)

    @property
    def components(self) -> tuple[Component, ...]:
        return self.splines.components

    def weighted(self, weights: Array) -> KernelColumns:
        """Kernel columns of the sum; those asked for last are at hand."""
        if self._last is not None and np.array_equal(weights, self._last[0]):
            return self._last[1]
        chosen = np.flatnonzero(weights > 0)
        used, first, last = self.splines.parts(chosen)
        if np.array_equal(first, last):
            units = _feature_rows(self._unit, [self.splines.features[place] for place in used[first]])
            K = spline_sum(units, units, weights[chosen] / _MEAN_DIAGONAL)
        else:
            K = np.zeros((len(self.X), len(self.X)))
            for rows, block in self._blocks(used):
                K[rows] = _add_up(block, first, last, weights[chosen])
        self._last = weights.copy(), KernelColumns(K, Kernel(self.splines.weighted(weights)), self.X)
        return self._last[1]

    def images(self, coef: Array, chosen: Indices) -> Array:
        """``K_j coef`` of the chosen components, a column each."""
        images, (first, last) = np.zeros((len(self.X), len(chosen))), (one[chosen] for one in self.splines.places)
        alone, pairs = np.flatnonzero(first == last), np.flatnonzero(first != last)
        images[:, alone] = self._sorted.images(coef, first[alone])
        used, first, last = self.splines.parts(chosen[pairs])
        for rows, block in self._blocks(used):
            images[rows, pairs] = _pair_images(block, first, last, coef)
        return images

    def squares(self, coef: Array) -> Array:
        """``coef'K_j coef`` of every component, pairs by matrix products: ``sum_ir (c_i c_r S_u(i, r)) S_v(i, r)``."""
        first, last = self.splines.places
        squares, pairs = (coef @ self._sorted.images(coef, np.arange(len(self.splines.features))))[first], first != last
        whole, held = np.zeros((len(self.splines.features),) * 2), np.flatnonzero(coef)
        for rows, block in self._blocks(np.arange(len(whole))) if pairs.any() else ():
            here = held[(held >= rows.start) & (held < rows.stop)]
            flat = block[:, here - rows.start][:, :, held].reshape(len(block), -1)
            whole += (flat * np.outer(coef[here], coef[held]).ravel()) @ flat.T
        squares[pairs] = whole[first[pairs], last[pairs]]
        return np.maximum(squares, 0.0)

    def _blocks(self, wanted: Indices) -> Iterator[tuple[slice, Array]]:
        """Blocks of all rows, from the matrices at hand where they hold the features."""
        self._keep(wanted)
        n = len(self.X)
        for rows in _row_blocks(n, len(wanted), n):
            yield rows, np.stack([self._rows_of(place, rows) for place in wanted])

    def _keep(self, wanted: Indices) -> None:
        """Have the matrices of those features at hand, as many as there is room for."""
        features, room = self.splines.features, _KEPT_BYTES // (8 * len(self.X) ** 2)
        if len(self._kept.keys() | set(wanted)) > room:
            self._kept = {place: self._kept[place] for place in wanted if place in self._kept}
        for place in wanted[:room]:
            if place not in self._kept and len(self._kept) < room:
                self._kept[place] = spline(self._unit[:, features[place]], self._unit[:, features[place]])

    def _rows_of(self, place: int, rows: slice) -> Array:
        if place in self._kept:
            return self._kept[place][rows]
        v = self.splines.features[place]
        return spline(self._unit[rows, v], self._unit[:, v])
