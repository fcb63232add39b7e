"""Sums of smoothing splines as formulas.

A component of one feature is a polynomial of degree four between the values of the support rows, so however many rows
there are, it is one function with knots. A component of two features is a sum over support rows of products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import AdditiveSplines
from softmargin.export._formula import Affine, Formula, Piecewise, concat, constant
from softmargin.export._functions import larger, smaller

__all__ = ["additive_score"]

Array = NDArray[np.floating[Any]]

_DEGREE = 4
_NODES = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
_MOST_CELLS = 1 << 22  # similarities computed at once
_SPLINE = AdditiveSplines(((0,),), (1.0,), (0.0,), (1.0,))  # of one feature between zero and one
_MEAN_DIAGONAL = 31 / 360


def additive_score(splines: AdditiveSplines, x: Formula, rows: Array, coef: Array) -> Formula:
    """``sum_i coef_i sum_j weights_j prod_v k(x_v, rows_iv)``, a column for every column of ``coef``."""
    if not splines.components:
        return constant(np.zeros(coef.shape[1]))
    units, held = _units(splines, x), splines.unit(rows)
    terms: list[Formula] = []
    partners: dict[int, list[tuple[int, float]]] = {}
    for component, weight in zip(splines.components, splines.weights, strict=True):
        if len(component) == 1:
            terms.append(_function(units[component[0]], held[:, component[0]], weight * coef))
        else:
            partners.setdefault(component[0], []).append((component[1], weight))
    kernels = {v: _similarities(units[v], held[:, v]) for v in units} if partners else {}
    for v, others in partners.items():
        beside = _sum_of([weight * kernels[other] for other, weight in others])
        terms.append(Affine(kernels[v] * beside, coef))
    return Affine(concat(terms), np.tile(np.eye(coef.shape[1]), (len(terms), 1)))


def _units(splines: AdditiveSplines, x: Formula) -> dict[int, Formula]:
    """The features that components use, each brought to [0, 1]."""
    found: dict[int, Formula] = {}
    for v in splines.features:
        span = splines.high[v] - splines.low[v]
        found[v] = smaller(larger(x[[v]] / span - splines.low[v] / span, 0.0), 1.0)
    return found


def _function(u: Formula, held: Array, coef: Array) -> Formula:
    """``sum_i coef_i k(u, held_i)``: through its values at five points of every interval between knots."""
    edges = np.unique(np.concatenate([[0.0, 0.5, 1.0], held]))
    centres, radii = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    points = (centres[:, None] + radii[:, None] * _NODES).ravel()
    parts = np.array_split(points, max(1, len(points) * len(held) // _MOST_CELLS))
    values = np.concatenate([_SPLINE(part[:, None], held[:, None]) @ coef for part in parts])
    values = values.reshape(len(centres), len(_NODES), -1)
    pieces = np.linalg.solve(np.vander(_NODES, increasing=True), values)
    return Piecewise(u, edges[1:-1], centres, radii, pieces)


def _similarities(u: Formula, held: Array) -> Formula:
    """``k(u, held_i)`` for every row, in the words of :mod:`softmargin.expansions.kernels.additive`.

    ``k_1(u) k_1(z) + k_2(u) k_2(z) - k_4(t)`` at the distance ``t``, where ``24 k_4 = (t - t^2)^2 - 1/30``.
    """
    apart = abs(u - constant(held))
    bent = apart * (1.0 - apart)
    line, curve = u - 0.5, (np.square(held - 0.5) - 1 / 12) / 2
    low = Affine(concat([line, (line * line - 1 / 12) / 2.0]), np.stack([held - 0.5, curve]) / _MEAN_DIAGONAL)
    return low + 1 / (720 * _MEAN_DIAGONAL) - bent * bent / (24 * _MEAN_DIAGONAL)


def _sum_of(terms: Sequence[Formula]) -> Formula:
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return _sum_of(terms[:middle]) + _sum_of(terms[middle:])
