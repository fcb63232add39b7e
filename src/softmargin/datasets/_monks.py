"""The three Monk's problems, built from their definitions: 432 robots of six attributes and one rule each.

Attributes have (3, 3, 2, 3, 4, 2) levels, numbered from 1. The rules are

    1: a1 = a2 or a5 = 1      2: exactly two attributes equal 1      3: (a5 = 3 and a4 = 1) or (a5 != 4 and a2 != 3)

The original training parts hold 124, 169 and 122 of the 432 rows, with 6 wrong labels in the third. Which rows they
were is data, not definition (``load("monks1")`` has it); here they are drawn at random with the same counts.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import one_of
from softmargin.datasets._sample import Sample, random_numbers

__all__ = ["make_monks"]

_LEVELS = (3, 3, 2, 3, 4, 2)
_TRAINING_ROWS = {1: 124, 2: 169, 3: 122}
_WRONG_LABELS = {1: 0, 2: 0, 3: 6}


def make_monks(problem: int = 1, *, part: str = "grid", random_state: Any = None) -> Sample:
    """One of the three Monk's problems; labels are -1/+1, ``probability`` is the rule itself.

    Parameters
    ----------
    problem : {1, 2, 3}
        Which rule.
    part : {"grid", "train", "merged"}
        All 432 robots; a random training part of the original size (with 6 wrong labels for problem 3); or the
        training part followed by the grid, as merged by Feng et al. (556, 601 and 554 rows).
    random_state : int, RandomState or None
        Seed of the training part.

    Examples
    --------
    >>> from softmargin.datasets import make_monks
    >>> len(make_monks(3, part="merged", random_state=0).y)
    554
    """
    one_of(*_TRAINING_ROWS).check("problem", problem)
    one_of("grid", "train", "merged").check("part", part)
    rng = random_numbers(random_state)
    X = np.array(list(product(*(range(1, levels + 1) for levels in _LEVELS))), dtype=float)
    truth = _rule(X, problem)
    if part == "grid":
        return Sample(X, np.where(truth, 1, -1), truth.astype(float))
    rows = rng.permutation(len(X))[: _TRAINING_ROWS[problem]]
    y = np.where(truth, 1, -1)
    labels = y[rows]
    labels[rng.permutation(len(rows))[: _WRONG_LABELS[problem]]] *= -1
    if part == "merged":
        rows, labels = np.concatenate([rows, np.arange(len(X))]), np.concatenate([labels, y])
    return Sample(X[rows], labels, truth[rows].astype(float))


def _rule(X: NDArray[Any], problem: int) -> NDArray[np.bool_]:
    a1, a2, _, a4, a5, _ = X.T
    if problem == 1:
        return (a1 == a2) | (a5 == 1)
    if problem == 2:
        return (X == 1).sum(axis=1) == 2
    return ((a5 == 3) & (a4 == 1)) | ((a5 != 4) & (a2 != 3))
