"""Parts of experimental protocols that the papers share and users need too.

Train, tune and test rows without a refit, the choice among tied candidates, screening of genes by between over within
variation, and paired tests of two methods over data sets or splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["PairedTest", "between_within_ratio", "paired_test", "pick", "split_rows", "variation_ratio"]

TIES = ("first", "middle", "last")


def split_rows(
    n_rows: int, sizes: Sequence[float], *, random_state: Any = None, labels: ArrayLike | None = None
) -> tuple[NDArray[np.intp], ...]:
    """Disjoint random sets of row numbers: train, tune, test or any other number of parts.

    Parameters
    ----------
    n_rows : int
        How many rows there are.
    sizes : sequence of int or float
        Whole numbers are numbers of rows; numbers below 1 are shares, and must not exceed 1 in sum. One may be -1: it
        takes the rows that are left.
    random_state : int, Generator or None
        Seed.
    labels : array-like of shape (n_rows,), optional
        Redraw until every part holds every class, as the papers must have done where they fitted at all.

    Examples
    --------
    >>> from softmargin.papers import split_rows
    >>> train, tune, test = split_rows(10, (0.6, 0.2, -1), random_state=0)
    >>> len(train), len(tune), len(test)
    (6, 2, 2)
    """
    counts = _counts(n_rows, sizes)
    rng = np.random.default_rng(random_state)
    codes = None if labels is None else np.unique(np.asarray(labels), return_inverse=True)[1]
    for _ in range(1000):
        order = rng.permutation(n_rows)
        parts = tuple(np.split(order, np.cumsum(counts))[: len(counts)])
        if codes is None or all(len(np.unique(codes[part])) == codes.max() + 1 for part in parts):
            return parts
    raise ValueError(f"labels: no split into {counts} rows holds every class in every part; make the parts larger.")


def _counts(n_rows: int, sizes: Sequence[float]) -> list[int]:
    if not sizes or sum(size == -1 for size in sizes) > 1:
        raise ValueError(f"sizes must name at least one part and at most one rest (-1); got {sizes!r}.")
    counts = [-1 if size == -1 else round(size * n_rows) if 0 < size < 1 else int(size) for size in sizes]
    given = sum(count for count in counts if count >= 0)
    if min(counts) < -1 or 0 in counts or given > n_rows or (given == n_rows and -1 in counts):
        raise ValueError(f"sizes must fit into {n_rows} rows with none empty; got {sizes!r}.")
    return [n_rows - given if count == -1 else count for count in counts]


def pick(errors: ArrayLike, *, tie: str = "first", tolerance: float = 1e-12) -> int:
    """The number of the least error; among equals the first, the middle or the last.

    Error rates on small tuning sets tie often, and which of the tied candidates is taken can move a published number
    by more than its standard error, so the rule is part of a protocol. NaN is never picked.

    Examples
    --------
    >>> from softmargin.papers import pick
    >>> pick([0.2, 0.1, 0.1, 0.1]), pick([0.2, 0.1, 0.1, 0.1], tie="middle"), pick([0.2, 0.1, 0.1, 0.1], tie="last")
    (1, 2, 3)
    """
    values = np.asarray(errors, dtype=np.float64).ravel()
    if tie not in TIES:
        raise ValueError(f"tie must be one of {TIES}; got {tie!r}.")
    if len(values) == 0 or np.all(np.isnan(values)):
        raise ValueError("errors holds no number to choose from.")
    tied = np.flatnonzero(values <= np.nanmin(values) + tolerance)
    return int(tied[{"first": 0, "middle": (len(tied) - 1) // 2, "last": -1}[tie]])


def between_within_ratio(X: ArrayLike, y: ArrayLike) -> NDArray[np.floating[Any]]:
    """Between-class over within-class sum of squares of every column (BSS/WSS; Dudoit, Fridlyand and Speed 2002).

    A column that is constant within every class but not between them has ratio inf, one that is constant 0.

    Examples
    --------
    >>> from softmargin.papers import between_within_ratio
    >>> between_within_ratio([[0.0, 5.0], [2.0, 5.0], [4.0, 5.0], [6.0, 5.0]], [0, 0, 1, 1])
    array([4., 0.])
    """
    values, labels = np.asarray(X, dtype=np.float64), np.asarray(y)
    if values.ndim != 2 or len(labels) != len(values):
        raise ValueError(f"X must be a table with one row per label; got shapes {values.shape} and {labels.shape}.")
    centre = values.mean(axis=0)
    between, within = np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for label in np.unique(labels):
        rows = values[labels == label]
        mean = rows.mean(axis=0)
        between += len(rows) * (mean - centre) ** 2
        within += ((rows - mean) ** 2).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(between > 0, between / within, 0.0)


def variation_ratio(X: ArrayLike) -> NDArray[np.floating[Any]]:
    """Standard deviation over absolute mean of every column, a filter that does not look at the classes."""
    values = np.asarray(X, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(values.std(axis=0, ddof=1) / np.abs(values.mean(axis=0)), nan=0.0, posinf=np.inf)


@dataclass(frozen=True)
class PairedTest:
    """Mean difference of two methods on the same data sets or splits, its standard error, and a two-sided p-value."""

    difference: float
    error: float
    p_value: float
    wins: int
    losses: int


def paired_test(first: ArrayLike, second: ArrayLike, *, test_share: float | None = None) -> PairedTest:
    """Student's paired test of ``first - second``.

    Parameters
    ----------
    first, second : array-like of shape (n,)
        A number per data set or split for each method; smaller is better for ``wins``.
    test_share : float, optional
        Share of the rows tested in each of several random splits of ONE data set: training sets then overlap, and the
        variance is enlarged from ``1/n`` to ``1/n + test/train`` (Nadeau and Bengio 2003). None for independent pairs.

    Examples
    --------
    >>> from softmargin.papers import paired_test
    >>> result = paired_test([0.10, 0.12, 0.11, 0.13], [0.12, 0.13, 0.13, 0.14])
    >>> result.wins, round(result.p_value, 3)
    (4, 0.014)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise ValueError(f"paired_test needs two vectors of one length of at least 2; got {a.shape} and {b.shape}.")
    if test_share is not None and not 0 < test_share < 1:
        raise ValueError(f"test_share must lie strictly between 0 and 1; got {test_share!r}.")
    gap = a - b
    factor = 1 / len(gap) + (0.0 if test_share is None else test_share / (1 - test_share))
    mean, error = float(gap.mean()), float(np.sqrt(factor * gap.var(ddof=1)))
    if error > 0:
        p_value = float(2 * stats.t.sf(abs(mean) / error, len(gap) - 1))
    else:
        p_value = 1.0 if mean == 0 else 0.0
    return PairedTest(mean, error, p_value, int((gap < 0).sum()), int((gap > 0).sum()))
