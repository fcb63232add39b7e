"""Rows of real tables in place of made ones: skewed, collinear, one-hot, unbalanced and unscaled as they come.

The tables are those of the data directory (:func:`softmargin.datasets.data_directory`), and scikit-learn's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from softmargin import datasets
from softmargin.datasets._encode import encode_table, standardized

from .data import Data, Rng

__all__ = ["read_tables", "table_rows"]

_MOST_ROWS, _MOST_COLUMNS = 4000, 400
_WIDE_RANGE = 1e4  # a column's largest number beside which its fit may be refused


@dataclass(frozen=True)
class _Table:
    X: np.ndarray
    codes: np.ndarray  # in order of their numbers of rows: 0 is the largest class


@cache
def _read(name: str, directory: str) -> _Table | None:
    """Some rows and columns of a table as numbers; None for texts and for tables without classes."""
    data = datasets.load(name, download=False)
    if data.y is None or data.X.ndim < 2:
        return None
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(len(data.y))[:_MOST_ROWS])
    if hasattr(data.X, "iloc"):
        wide = data.X.iloc[rows, np.sort(rng.permutation(data.X.shape[1])[:_MOST_COLUMNS])]
        X = encode_table(wide)[0]
    else:
        X = data.X[rows].toarray()
    X = X[:, np.sort(rng.permutation(X.shape[1])[:_MOST_COLUMNS])]
    _, codes, counts = np.unique(data.y[rows], return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), dtype=int)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return _Table(np.asarray(X, dtype=np.float64), rank[codes])


def read_tables() -> dict[str, _Table]:
    """Every table that can be used; what was read stays for processes forked later."""
    directory = str(datasets.data_directory())
    found = [(name, _read(name, directory)) for name in datasets.available()]
    return {name: table for name, table in found if table is not None}


def table_rows(rng: Rng, n: int, p: int, k: int) -> Data:
    """About ``n`` rows of the ``k`` largest classes of a table, at least one each; ``p`` of its columns or all."""
    tables = read_tables()
    name = list(tables)[rng.integers(len(tables))]
    found = tables[name]
    k = min(k, int(found.codes.max()) + 1)
    rows = rng.permutation(np.flatnonzero(found.codes < k))
    first = [int(np.flatnonzero(found.codes[rows] == code)[0]) for code in range(k)]
    rows = rows[np.unique(np.concatenate([first, np.arange(min(n, len(rows)))]).astype(int))]
    X = found.X[rows]
    if rng.random() < 0.5:
        X = X[:, np.sort(rng.permutation(X.shape[1])[:p])]
    data = Data(X, rng.permutation(k)[found.codes[rows]])
    if rng.random() < 0.5:
        data.dense = standardized(X)
        data.note(f"{name} standardised")
    else:
        wide = np.abs(X).max(initial=0.0) > _WIDE_RANGE
        data.note(name, "extreme" if wide else "awkward")
    return data
