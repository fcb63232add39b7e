"""Columns that give the answer away: names of rows, and copies of the label.

``unique`` is the share of distinct values in a column. ``alone`` is how much of the way from guessing to knowing the
label the column goes by itself: with half of the rows cut into bins of equal size (or by category), each bin votes with
its most frequent label on the other half, and ``alone = (accuracy - base) / (1 - base)``, ``base`` the accuracy of the
most frequent label. A column of whole numbers or text that differs in every row names rows; one that tells almost every
label by itself was probably written down after it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["find_leaks"]

_BINS = 32
_MOST_ROWS = 20_000
_KNOWS = 0.95
_FEW = 20  # rows below which every column may look unique


def find_leaks(X: Any, codes: NDArray[np.intp], random_state: Any = 0) -> Any:
    """A frame of the columns, most telling first; empty where rows are no table of columns."""
    import pandas as pd

    head = ["column", "unique", "alone", "reason"]
    if sparse.issparse(X) or getattr(X, "ndim", 0) != 2 or len(codes) < _FEW:
        return pd.DataFrame(columns=head)
    rows = np.random.default_rng(random_state).permutation(len(codes))[:_MOST_ROWS]
    table = pd.DataFrame(X).iloc[rows]
    found = [[name, *_judge(table.iloc[:, j], codes[rows])] for j, name in enumerate(table.columns)]
    return pd.DataFrame(found, columns=head).sort_values("alone", ascending=False, kind="stable", ignore_index=True)


def _judge(column: Any, labels: NDArray[np.intp]) -> tuple[float, float, str]:
    import pandas as pd

    values = pd.factorize(column)[0]
    unique = len(np.unique(values)) / len(values)
    is_number = getattr(column.dtype, "kind", "O") in "iufb"
    named = unique == 1 and (not is_number or column.dtype.kind in "iu" or bool((column == column.round()).all()))
    alone = _alone(_bins(column) if is_number else values, labels)
    reason = "names rows" if named else "tells the label by itself" if alone >= _KNOWS else ""
    return unique, alone, reason


def _bins(column: Any) -> NDArray[np.intp]:
    values = column.to_numpy(dtype=float, na_value=np.nan)
    finite = np.isfinite(values)
    if not finite.any():
        return np.full(len(values), -1)
    edges = np.unique(np.quantile(values[finite], np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.where(finite, np.searchsorted(edges, values), -1)


def _alone(bins: NDArray[np.intp], labels: NDArray[np.intp]) -> float:
    half = len(labels) // 2
    k = int(labels.max()) + 1
    counts = np.zeros((int(bins.max()) + 2, k))
    np.add.at(counts, (bins[:half], labels[:half]), 1)
    common = int(np.bincount(labels[:half], minlength=k).argmax())
    vote = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), common)
    base = float(np.mean(labels[half:] == common))
    accuracy = float(np.mean(vote[bins[half:]] == labels[half:]))
    return (accuracy - base) / (1 - base) if base < 1 else 0.0
