"""Exact paths for the page: a linear support vector machine at every class weight, cost and balance.

Between two breakpoints coefficients and intercept are affine in the parameter, so the page needs their values at the
ends of each segment and nothing else: what it shows at any position of a slider is the exact solution. The machine is
fitted to a few rows of the report, in its leading columns, standardised; the counts are on other rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from softmargin.paths import Path, balance_path, cost_path, weight_path
from softmargin.report._held_out import HeldOut

__all__ = ["exact_paths"]

Array = NDArray[np.floating[Any]]

_FIT_ROWS, _COUNTED_ROWS = 120, 400
_FEATURES = 8
_MOST_KNOTS = 2000
_DIGITS = 10
_COST, _COST_MAX, _BALANCE_MAX = 1.0, 100.0, 4.0
_FEWEST = 10  # rows of a class


def exact_paths(held: HeldOut, leading: list[int]) -> dict[str, Any] | None:
    """The three paths with the rows they are counted on; None where there are not two classes or no numbers."""
    if len(held.classes) != 2 or np.bincount(held.codes, minlength=2).min() < _FEWEST:
        return None
    names, Z = _features(held, leading)
    if not names:
        return None
    rng = np.random.default_rng([held.seed, 5])
    fit, counted = _split(held.codes, rng)
    Z = Z[:, :_FEATURES]
    centre, spread = Z[fit].mean(axis=0), Z[fit].std(axis=0)
    moving = spread > 1e-12
    if not moving.any():
        return None
    Z = np.round((Z[:, moving] - centre[moving]) / spread[moving], _DIGITS)
    y = np.where(held.codes == 1, 1, -1)
    found = {}
    for name, make in _PATHS.items():
        path = _traced(make, Z[fit], y[fit])
        if path is not None:
            found[name] = _segments(path)
    if not found:
        return None
    kept = [name for name, moves in zip(names, moving, strict=False) if moves]
    return {
        "columns": kept,
        "fitted": len(fit),
        "rows": Z[counted].tolist(),
        "positive": (y[counted] > 0).tolist(),
        "paths": found,
    }


_PATHS: dict[str, Callable[[Array, Array], Path]] = {
    "weight": lambda Z, y: weight_path(Z, y, C=_COST),
    "cost": lambda Z, y: cost_path(Z, y, C_max=_COST_MAX),
    "balance": lambda Z, y: balance_path(Z, y, C=_COST),
}


def _features(held: HeldOut, leading: list[int]) -> tuple[list[str], Array]:
    """Leading columns as numbers: the missing are put at the median, a category is whether it is the frequent one."""
    names, found = [], []
    for j in leading:
        column = held.columns[j]
        if column.kind == "number":
            present = column.values[np.isfinite(column.values)]
            middle = float(np.median(present)) if len(present) else 0.0
            names.append(column.name)
            found.append(np.where(np.isfinite(column.values), column.values, middle))
        elif column.kind == "category" and len(column.levels) > 1:
            names.append(f"{column.name} is {column.levels[0]}")
            found.append((column.values == column.levels[0]).astype(float))
    return names[:_FEATURES], np.column_stack(found) if found else np.zeros((len(held), 0))


def _split(codes: NDArray[np.intp], rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to fit, with both classes in their shares but at least five of each, and other rows to count."""
    share = min(_FIT_ROWS, len(codes) // 2) / len(codes)
    parts = [rng.permutation(np.flatnonzero(codes == code)) for code in (0, 1)]
    sizes = [min(max(round(share * len(part)), 5), len(part) - 1) for part in parts]
    fit = np.concatenate([part[:size] for part, size in zip(parts, sizes, strict=True)])
    rest = rng.permutation(np.concatenate([part[size:] for part, size in zip(parts, sizes, strict=True)]))
    return np.sort(fit), np.sort(rest[:_COUNTED_ROWS])


def _traced(make: Callable[[Array, Array], Path], Z: Array, y: Array) -> Path | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = make(Z, y)
    return path if path.complete and path.gap < 1e-5 and len(path.breakpoints) <= _MOST_KNOTS else None


@dataclass(frozen=True)
class _End:
    coef: Array
    intercept: float


def _segments(path: Path) -> dict[str, Any]:
    """The knots, coefficients at them, and the intercept at both ends of every segment (it may jump at a knot)."""
    low, high = path.range
    knots = path.breakpoints[path.breakpoints <= _last(path)]
    if np.isinf(high) or _last(path) < high:
        knots = np.append(knots, _last(path))
    knots = np.unique(np.concatenate([[max(low, 0.0)], knots]))
    coef, ends = [], []
    for left, right in pairwise(knots.tolist()):
        first, second = _extrapolated(path, left, right)
        coef.append(first.coef)
        ends.append([first.intercept, second.intercept])
        last = second
    coef.append(last.coef)
    return {
        "knots": knots.tolist(),
        "coef": _rounded(np.array(coef)),
        "intercept": _rounded(np.array(ends)),
        "gap": float(path.gap),
    }


def _last(path: Path) -> float:
    return _BALANCE_MAX if path.parameter == "v" else path.range[1]


def _extrapolated(path: Path, left: float, right: float) -> tuple[_End, _End]:
    """The limits at both ends of a segment, from its thirds: at a knot the intercept is the middle of a jump."""
    a, b = (path.at(left + share * (right - left)) for share in (0.25, 0.75))
    half = 0.5 * (b.coef - a.coef)
    step = 0.5 * (b.intercept - a.intercept)
    return _End(a.coef - half, a.intercept - step), _End(b.coef + half, b.intercept + step)


def _rounded(values: Array) -> Any:
    """Ten significant digits: enough for every sign, few enough for the page."""
    scale = 10.0 ** (_DIGITS - 1 - np.floor(np.log10(np.maximum(np.abs(values), 1e-20))))
    return (np.round(values * scale) / scale).tolist()
