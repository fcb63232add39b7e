"""Score functions as formulas: linear features, kernels over support rows or landmarks, rules and trees."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from softmargin.expansions import AdditiveSplines, ColumnScore, Kernel, KernelScore, LinearScore, RuleScore, TreeScore
from softmargin.export._additive import additive_score
from softmargin.export._formula import Affine, Distances, Formula, NotExportable, Rules, Trees, constant
from softmargin.export._functions import exp, smaller, sqrt
from softmargin.export._rows import Rows

__all__ = ["kernel_values", "score", "table_score"]

Array = NDArray[np.floating[Any]]

_ROUNDED, _ROOTED = 1e6, 1e2  # squared widths from the middle: nine digits are left, or of a root eight
_FARTHEST = 700.0  # whose exponential is nothing beside one


def score(found: LinearScore | KernelScore, x: Formula) -> Formula:
    """``x' coef`` or ``sum_j coef_j k(rows_j, x)``."""
    if isinstance(found, LinearScore):
        return Affine(x, _matrix(found.coef))
    coef = _matrix(found.coef)
    if not len(coef):
        return constant(np.zeros(coef.shape[1]))
    if found.kernel.precomputed:
        return Affine(x[np.asarray(found.rows)], coef)
    if isinstance(found.kernel.name, AdditiveSplines):
        return additive_score(found.kernel.name, x, _dense(found.rows), coef)
    if found.kernel.name == "linear":
        origin = np.array(found.kernel.origin or np.zeros(found.rows.shape[1]))
        weights = (_dense(found.rows) - origin).T @ coef
        return Affine(x, weights) + constant(-origin @ weights)
    return Affine(kernel_values(found.kernel, x, _dense(found.rows)), coef)


def kernel_values(kernel: Kernel, x: Formula, rows: Array) -> Formula:
    """The similarities to reference rows."""
    gamma = float(kernel.gamma)
    if kernel.name == "rbf":
        return exp(-gamma * _squared_distances(x, rows, gamma, _ROUNDED))
    if kernel.name == "laplacian":
        return exp(-gamma * Distances(x, rows, "manhattan"))
    if kernel.name == "poly":
        inner = Affine(x, gamma * rows.T) + float(kernel.coef0)
        power = inner
        for _ in range(int(kernel.degree) - 1):
            power = power * inner
        return power
    if kernel.name == "matern":
        d = int(kernel.degree)
        s = float(2 * np.sqrt((d + 0.5) * gamma)) * sqrt(_squared_distances(x, rows, gamma, _ROOTED))
        s = smaller(s, _FARTHEST)  # zero times infinity is no number
        front = factorial(d) / factorial(2 * d)
        polynomial: Formula = constant(0.0)
        for i in range(d + 1):
            size = front * factorial(d + i) / (factorial(i) * factorial(d - i)) * 2.0 ** (d - i)
            polynomial = polynomial * s + size
        return exp(-s) * polynomial
    raise NotExportable(
        f"kernel={kernel.name!r} is code of your own, which no other system can run; use a kernel by name."
    )


def _squared_distances(x: Formula, rows: Array, gamma: float, limit: float) -> Formula:
    """Squares less products lose the digits of distances where rows are many widths of the kernel apart."""
    with np.errstate(over="ignore"):
        widths = gamma * np.square(rows - rows.mean(axis=0)).sum(axis=1).max()
    return Distances(x, rows, "squared" if widths <= limit else "differences")


def table_score(found: Any, rows: Rows) -> Formula:
    """Scores of rules, trees or given columns on a table."""
    if isinstance(found, RuleScore):
        base = found.intercept - found.coef.sum(axis=1)
        if not any(rule.literals for rule in found.rules):  # the empty rule always holds
            return constant(base + 2.0 * found.coef.sum(axis=1))
        return Affine(Rules(rows.columns, found.rules), 2.0 * found.coef.T) + constant(base)
    if isinstance(found, ColumnScore):
        return Affine(rows.matrix, found.coef.T) + constant(found.intercept)
    if isinstance(found, TreeScore):
        if not len(found.roots):
            return constant(found.intercept)
        coded = tuple(
            rows.codes(j, *found.categories[j]) if j in found.categories else rows.columns[j]
            for j in range(len(rows.columns))
        )
        return Trees(coded, found) + constant(found.intercept)
    raise NotExportable(f"{type(found).__name__} has no formula.")


def _matrix(coef: Array) -> Array:
    coef = np.asarray(coef, dtype=np.float64)
    return coef[:, None] if coef.ndim == 1 else coef


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=np.float64)
