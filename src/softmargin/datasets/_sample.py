"""A drawn sample with its true class probabilities, and labels that lie at a known rate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from softmargin._constraints import BOOLEAN, RANDOM_STATE, Constraint, class_codes, integer, number
from softmargin.expansions import require_memory

__all__ = ["Sample", "flip_labels", "random_numbers", "require_rate", "require_size", "require_spread"]

_COPIES = 4  # of the columns of a row that are alive at once: what is drawn, placed, its densities and what is returned
_NARROWEST = 1e-100  # squares of distances in units of such a spread, or of its inverse, are still doubles


class Sample(NamedTuple):
    """Rows, labels and the truth about them.

    ``probability`` is ``P(y = +1 | x)`` with shape ``(n,)`` for two classes and one column per class otherwise,
    label noise included: the entropy of ``probability`` is the least log loss any rule can reach on new labels.
    """

    X: NDArray[np.floating[Any]]
    y: NDArray[np.integer[Any]]
    probability: NDArray[np.floating[Any]]


def require_size(n: int, least: int = 1, n_columns: int = 2) -> None:
    """Raise unless ``n`` is a whole number of at least ``least`` rows, which memory has room for."""
    Constraint(f"a whole number of at least {least} rows", integer(least).allows).check("n", n)
    require_memory(int(n) * n_columns * 8 * _COPIES, f"A sample of n={n} rows", "Use fewer rows (n).")


def random_numbers(random_state: Any) -> np.random.RandomState:
    """The source of the random numbers that ``random_state`` stands for."""
    RANDOM_STATE.check("random_state", random_state)
    return check_random_state(random_state)


def require_rate(rate: float, name: str = "flip") -> None:
    """Raise unless ``rate`` is a share of the rows."""
    number("between 0 and 1", lambda value: 0 <= value <= 1).check(name, rate)


def require_spread(value: float, name: str, *, zero: bool = False) -> None:
    """Raise unless densities of this spread are within doubles, or it is zero where that is meant to be possible."""
    allowed = f"{'0 or ' if zero else ''}a positive number from {_NARROWEST:g} to {1 / _NARROWEST:g}"
    number(allowed, lambda given: _NARROWEST <= given <= 1 / _NARROWEST or (zero and given == 0)).check(name, value)


def flip_labels(
    y: ArrayLike, rate: float, random_state: Any = None, *, exact: bool = True
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Give some rows a wrong label.

    Parameters
    ----------
    y : array-like of shape (n,)
        True labels of any kind, two or more classes.
    rate : float
        Share of rows to flip, in [0, 1].
    random_state : int, RandomState or None
        Which rows are flipped, and to which class when there are more than two.
    exact : bool, default=True
        Flip exactly ``round(rate * n)`` rows; otherwise each row independently with probability ``rate``.

    Returns
    -------
    flipped : ndarray
        The labels with errors, a new array.
    mask : ndarray of bool
        True where the label is now wrong.

    Examples
    --------
    >>> from softmargin.datasets import flip_labels
    >>> noisy, wrong = flip_labels([0, 0, 0, 1, 1], 0.4, random_state=0)
    >>> int(wrong.sum())
    2
    """
    require_rate(rate, "rate")
    BOOLEAN.check("exact", exact)
    classes, codes = class_codes("y", y)
    rng = random_numbers(random_state)
    mask = np.zeros(len(codes), dtype=bool)
    if exact:
        mask[rng.permutation(len(codes))[: round(rate * len(codes))]] = True
    else:
        mask = rng.uniform(size=len(codes)) < rate
    if mask.any() and len(classes) < 2:
        raise ValueError(f"y has one class only ({classes[0]!r}); there is no other label to flip to.")
    if len(classes) > 1:
        step = rng.randint(1, len(classes), size=len(codes))
        codes = np.where(mask, (codes + step) % len(classes), codes)
    return classes[codes], mask
