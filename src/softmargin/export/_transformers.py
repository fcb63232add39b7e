"""scikit-learn's usual transformers as formulas, in float64: scalers, projections, splines, and several together.

Each function says in formulas what ``transform`` computes; imputers and encoders have a file of their own. What is
not here goes through skl2onnx when the target is ONNX, and has no SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from softmargin.export._encoders import imputed, one_hot_columns, ordinal_codes
from softmargin.export._formula import Affine, Formula, NotExportable, Piecewise, concat, constant
from softmargin.export._functions import is_missing, larger, smaller, sqrt, total, where
from softmargin.export._rows import Rows, as_number

__all__ = ["column_places", "knows", "splines", "transformed"]

Array = Any
_TRANSFORMERS: dict[type, Callable[[Any, Rows], Rows]] = {
    SimpleImputer: imputed,
    OneHotEncoder: one_hot_columns,
    OrdinalEncoder: ordinal_codes,
}


def _of(*kinds: type) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        _TRANSFORMERS.update(dict.fromkeys(kinds, function))
        return function

    return keep


def knows(transformer: Any) -> bool:
    """Whether a transformer, with all its parts, has formulas."""
    if isinstance(transformer, str) or transformer is None:
        return True
    if isinstance(transformer, Pipeline):
        return all(knows(step) for _, step in transformer.steps)
    if isinstance(transformer, ColumnTransformer):
        return all(knows(step) for _, step, _ in transformer.transformers_)
    if isinstance(transformer, FeatureUnion):
        return all(knows(step) for _, step in transformer.transformer_list)
    if isinstance(transformer, FunctionTransformer):
        return transformer.func is None
    if isinstance(transformer, OneHotEncoder):
        return transformer.handle_unknown in ("error", "ignore", "infrequent_if_exist", "warn")
    return _function(transformer) is not None


def _function(transformer: Any) -> Callable[[Any, Rows], Rows] | None:
    return next((_TRANSFORMERS[kind] for kind in type(transformer).__mro__ if kind in _TRANSFORMERS), None)


def transformed(transformer: Any, rows: Rows) -> Rows:
    """The columns that a fitted transformer makes."""
    if isinstance(transformer, str) or transformer is None:
        return rows
    if not knows(transformer):
        raise NotExportable(
            f"{type(transformer).__name__} has no formula here; use scalers, SimpleImputer, OneHotEncoder, "
            "OrdinalEncoder, PCA, polynomials, splines and ColumnTransformer, or export to ONNX, which asks skl2onnx."
        )
    found = _function(transformer)
    assert found is not None
    return found(transformer, rows)


# -- numbers -------------------------------------------------------------------------------------------------------


@_of(StandardScaler)
def _standard(step: Any, rows: Rows) -> Rows:
    x = rows.matrix
    if step.with_mean:
        x = x - constant(step.mean_)
    return Rows.of(x / constant(step.scale_) if step.with_std else x)


@_of(RobustScaler)
def _robust(step: Any, rows: Rows) -> Rows:
    x = rows.matrix
    if step.with_centering:
        x = x - constant(step.center_)
    return Rows.of(x / constant(step.scale_) if step.with_scaling else x)


@_of(MinMaxScaler)
def _minmax(step: Any, rows: Rows) -> Rows:
    x = rows.matrix * constant(step.scale_) + constant(step.min_)
    if step.clip:
        x = smaller(larger(x, float(step.feature_range[0])), float(step.feature_range[1]))
    return Rows.of(x)


@_of(MaxAbsScaler)
def _maxabs(step: Any, rows: Rows) -> Rows:
    return Rows.of(rows.matrix / constant(step.scale_))


@_of(Normalizer)
def _normalizer(step: Any, rows: Rows) -> Rows:
    x = rows.matrix
    if step.norm == "max":
        raise NotExportable("Normalizer(norm='max') has no formula here; use norm='l2' or 'l1'.")
    size = total(abs(x)) if step.norm == "l1" else sqrt(total(x * x))
    return Rows.of(x / where(size > 0.0, size, 1.0))


@_of(Binarizer)
def _binarizer(step: Any, rows: Rows) -> Rows:
    x = rows.matrix
    return Rows.of(where(is_missing(x), np.nan, as_number(x > float(step.threshold))))


@_of(FunctionTransformer)
def _identity(step: Any, rows: Rows) -> Rows:
    return rows


@_of(PCA)
def _pca(step: Any, rows: Rows) -> Rows:
    x = Affine(rows.matrix - constant(step.mean_), step.components_.T)
    if step.whiten:
        return Rows.of(x / constant(np.sqrt(np.maximum(step.explained_variance_, np.finfo(float).eps))))
    return Rows.of(x)


@_of(TruncatedSVD)
def _svd(step: Any, rows: Rows) -> Rows:
    return Rows.of(Affine(rows.matrix, step.components_.T))


@_of(SelectorMixin)
def _selected(step: Any, rows: Rows) -> Rows:
    return rows.take([int(j) for j in step.get_support(indices=True)])


@_of(PolynomialFeatures)
def _polynomials(step: Any, rows: Rows) -> Rows:
    x, blocks = rows.matrix, []
    for powers in step.powers_:
        term: Formula | None = None
        for j, power in enumerate(powers):
            for _ in range(int(power)):
                term = x[[j]] if term is None else term * x[[j]]
        blocks.append(term if term is not None else x[[0]] * 0.0 + 1.0)
    return Rows.of(concat(blocks))


@_of(SplineTransformer)
def _splines(step: Any, rows: Rows) -> Rows:
    return Rows.of(splines(step, rows.matrix))


def splines(step: SplineTransformer, x: Formula) -> Formula:
    """B-splines of every column: a polynomial between knots, linear or constant beyond."""
    if step.extrapolation not in ("linear", "constant"):
        raise NotExportable(f"extrapolation={step.extrapolation!r} of splines has no formula; use 'linear'.")
    step = copy(step)
    vars(step).pop("feature_names_in_", None)  # it is asked about points that have no names
    per_column = step.n_features_out_ // step.n_features_in_
    return concat([_spline(step, j, x[[j]], per_column) for j in range(step.n_features_in_)])


def _spline(step: SplineTransformer, j: int, x: Formula, width: int) -> Formula:
    basis = step.bsplines_[j]
    inner = np.unique(basis.t[basis.k : len(basis.t) - basis.k])
    degree = basis.k

    def values(at: Array) -> Array:
        table = np.zeros((len(at), step.n_features_in_))
        table[:, j] = at
        dense = np.asarray(step.transform(table))
        return dense[:, j * width : (j + 1) * width]

    pieces, centres, radii = [], [], []
    outside = float(inner[-1] - inner[0]) or max(1.0, abs(float(inner[0])))  # knots of a constant column are one
    edges = np.concatenate([[inner[0] - outside], inner, [inner[-1] + outside]])
    for left, right in pairwise(edges):
        middle, radius = (left + right) / 2, (right - left) / 2
        nodes = np.cos(np.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
        pieces.append(np.linalg.solve(np.vander(nodes, increasing=True), values(middle + radius * nodes)))
        centres.append(middle)
        radii.append(radius)
    return Piecewise(x, inner, np.array(centres), np.array(radii), np.array(pieces))


# -- several together ----------------------------------------------------------------------------------------------


@_of(Pipeline)
def _pipeline(step: Any, rows: Rows) -> Rows:
    for _, one in step.steps:
        rows = transformed(one, rows)
    return rows


@_of(FeatureUnion)
def _union(step: Any, rows: Rows) -> Rows:
    made = [(name, transformed(one, rows).matrix) for name, one in step.transformer_list if one not in ("drop", None)]
    weights = step.transformer_weights or {}
    return Rows.of(concat([float(weights[name]) * x if name in weights else x for name, x in made]))


@_of(ColumnTransformer)
def _columns(step: Any, rows: Rows) -> Rows:
    blocks = []
    for name, one, columns in step.transformers_:
        places = column_places(columns, rows.names)
        if (isinstance(one, str) and one == "drop") or not places:
            continue
        made = transformed(one, rows.take(places))
        weight = (step.transformer_weights or {}).get(name)
        blocks.append(made.matrix if weight is None else float(weight) * made.matrix)
    return Rows.of(concat(blocks))


def column_places(columns: Any, names: Sequence[str]) -> list[int]:
    """The numbers of columns named by name, number, truth values or slice."""
    if isinstance(columns, str):
        return [list(names).index(columns)]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            order = list(names)
            first = 0 if columns.start is None else order.index(columns.start)
            last = len(order) if columns.stop is None else order.index(columns.stop) + 1
            return list(range(first, last))
        return list(range(len(names)))[columns]
    chosen = list(columns)
    if chosen and all(isinstance(one, bool | np.bool_) for one in chosen):
        return [int(j) for j in np.flatnonzero(chosen)]
    return [list(names).index(one) if isinstance(one, str) else int(one) % len(names) for one in chosen]
