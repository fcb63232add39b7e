"""What the model makes of each column: how much it matters, where it leads, and a reading that adds up.

``importance`` is the rise of the log loss when a column is shuffled; ``dependence`` the mean probability when a column
is set to one value in all rows. ``reading`` is the additive model nearest to the classifier,

    log p_k(x) - mean_l log p_l(x)  ~  a_k + sum_j g_jk(x_j),

with ``g`` piecewise linear in numbers (knots at quantiles, flat beyond) and one constant per category, by least squares
on rows of the report. The page evaluates it at values typed in. Its ``fidelity`` is the share of the variance of the
left hand side it explains on other rows: 1 for a linear machine, less where columns interact, and it is shown.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.report._held_out import Column, HeldOut
from softmargin.report._scores import row_losses

__all__ = ["dependence", "importance", "reading"]

Array = NDArray[np.floating[Any]]
Rows = NDArray[np.intp]

_MOST_COLUMNS = 60
_WIDEST = 240  # columns beyond which shuffling each one takes longer than a reader waits
_SHUFFLED_ROWS, _DEPENDENCE_ROWS, _READING_ROWS = 1000, 100, 3000
_CURVES, _POINTS, _KNOTS = 6, 12, 8
_READ_COLUMNS, _EXAMPLES = 12, 30
_MOST_CLASSES = 12
_LEAST = 1e-6


def importance(held: HeldOut) -> list[dict[str, Any]]:
    """The rise of the log loss when one column is shuffled, largest first."""
    if not 0 < len(held.columns) <= _WIDEST:
        return []
    rows = held.sample(_SHUFFLED_ROWS, purpose=1)
    codes = held.codes[rows]
    whole = float(row_losses(held.P[rows], codes)["log_loss"].mean())
    order = np.random.default_rng(held.seed).permutation(rows)
    found: list[dict[str, Any]] = []
    for j, column in enumerate(held.columns):
        P = held.probability(held.with_column_from(rows, j, order))
        rise = float(row_losses(P, codes)["log_loss"].mean()) - whole
        found.append({"name": column.name, "column": j, "kind": column.kind, "rise": rise})
    return sorted(found, key=lambda item: -item["rise"])[:_MOST_COLUMNS]


def dependence(held: HeldOut, leading: list[int]) -> list[dict[str, Any]]:
    """Mean probabilities when a leading column takes each of some values in all rows."""
    rows = held.sample(_DEPENDENCE_ROWS, purpose=2)
    curves = []
    for j in [j for j in leading if held.columns[j].kind != "other"][:_CURVES]:
        column = held.columns[j]
        points = _typical_rows(column)
        X = held.with_column_from(np.tile(rows, len(points)), j, np.repeat(points, len(rows)))
        P = held.probability(X).reshape(len(points), len(rows), -1).mean(axis=1)
        at = column.values[points].tolist()
        curves.append({"name": column.name, "kind": column.kind, "at": at, "probability": P.tolist()})
    return curves


def _typical_rows(column: Column) -> Rows:
    """Rows at quantiles of a number, or one row of each frequent category."""
    if column.levels:
        return np.array([int(np.argmax(column.values == level)) for level in column.levels])
    present = np.flatnonzero(np.isfinite(column.values)) if column.kind == "number" else np.empty(0, dtype=np.intp)
    if not len(present):  # what is typical of a column without values is none
        return np.zeros(1, dtype=np.intp)
    order = present[np.argsort(column.values[present], kind="stable")]
    chosen = order[np.linspace(0, len(order) - 1, min(_POINTS, len(order))).astype(int)]
    return chosen[np.unique(column.values[chosen], return_index=True)[1]]


def reading(held: HeldOut, leading: list[int]) -> dict[str, Any] | None:
    """The additive model nearest to the classifier, in the leading columns, and rows to begin with."""
    chosen = [j for j in leading if held.columns[j].kind != "other"][:_READ_COLUMNS]
    if not chosen or len(held) < 20 or len(held.classes) > _MOST_CLASSES:
        return None
    rows = held.sample(_READING_ROWS, purpose=3)
    target = np.log(np.maximum(held.P[rows], _LEAST))
    target -= target.mean(axis=1, keepdims=True)
    bases = [_basis(held.columns[j]) for j in chosen]
    designs = [_design(held.columns[j].values[rows], basis) for j, basis in zip(chosen, bases, strict=True)]
    centres = [design.mean(axis=0) for design in designs]
    Z = np.hstack([design - centre for design, centre in zip(designs, centres, strict=True)])
    test = np.random.default_rng(held.seed).random(len(rows)) < 0.25
    if test.all() or not test.any():
        return None
    beta, base = _ridge(Z[~test], target[~test])
    excess = np.square(target[test] - base - Z[test] @ beta).sum()
    total = np.square(target[test] - target[~test].mean(axis=0)).sum()
    ends = np.cumsum([design.shape[1] for design in designs])[:-1]
    return {
        "base": base.tolist(),
        "columns": [
            basis | {"effects": (block - centre @ block).tolist()}
            for basis, block, centre in zip(bases, np.split(beta, ends), centres, strict=True)
        ],
        "fidelity": float(np.clip(1 - excess / total, 0, 1)) if total > 0 else 1.0,
        "examples": _examples(held, chosen),
    }


def _basis(column: Column) -> dict[str, Any]:
    if column.kind == "category":
        return {"name": column.name, "kind": "category", "levels": [*column.levels]}
    present = column.values[np.isfinite(column.values)]
    knots = np.unique(np.quantile(present, np.linspace(0, 1, _KNOTS))) if len(present) else np.zeros(1)
    return {"name": column.name, "kind": "number", "knots": knots.tolist()}


def _design(values: NDArray[Any], basis: dict[str, Any]) -> Array:
    """A column per knot or category, and a last one for missing values and rare categories."""
    if basis["kind"] == "category":
        D = (values[:, None] == np.array(basis["levels"], dtype=object)).astype(float)
    else:
        knots, x = np.array(basis["knots"]), np.nan_to_num(values, posinf=np.inf, neginf=-np.inf)
        eye = np.eye(len(knots))
        D = np.column_stack([np.interp(x, knots, row) for row in eye])
        D[~np.isfinite(values)] = 0.0
    return np.column_stack([D, D.sum(axis=1) < 0.5])


def _ridge(Z: Array, target: Array) -> tuple[Array, Array]:
    """Least squares with a ridge that only decides between equals."""
    centre, base = Z.mean(axis=0), target.mean(axis=0)
    gram = (Z - centre).T @ (Z - centre)
    gram[np.diag_indices_from(gram)] += 1e-6 * len(Z)
    beta = np.linalg.solve(gram, (Z - centre).T @ (target - base))
    return beta, base - centre @ beta


def _examples(held: HeldOut, chosen: list[int]) -> list[dict[str, Any]]:
    """Rows of the report with the model's own probabilities."""
    rows = held.sample(_EXAMPLES, purpose=4)
    values = [[_cell(held.columns[j], int(row)) for j in chosen] for row in rows]
    return [
        {"row": held.number(int(r)), "values": v, "probability": held.P[r].tolist()}
        for r, v in zip(rows, values, strict=True)
    ]


def _cell(column: Column, row: int) -> Any:
    value = column.values[row]
    if column.kind == "number":
        return float(value) if np.isfinite(value) else None
    return str(value)
