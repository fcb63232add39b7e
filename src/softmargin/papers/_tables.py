"""Real data sets as a matrix of numbers and labels in {-1, +1}."""

from __future__ import annotations

import numpy as np

from softmargin.datasets import load
from softmargin.papers._scores import Array

__all__ = ["numeric_table"]


def numeric_table(name: str) -> tuple[Array, Array]:
    """Numbers as they are, names by their place in the alphabet, as a numeric routine reads them; class one is -1.

    Only sets that are at hand: a missing one raises ``DataNotFound``, which says how to get it.
    """
    data = load(name, download=False)
    columns = [
        column if column.dtype.kind in "iufb" else column.astype("category").cat.codes for _, column in data.X.items()
    ]
    y = np.asarray(data.y)
    return np.column_stack([np.asarray(column, dtype=float) for column in columns]), np.where(
        y == np.unique(y)[1], 1.0, -1.0
    )
