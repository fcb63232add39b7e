"""Multicategory losses of a score vector that sums to zero: what class y costs at scores ``F`` (n, k).

===================  =======================================================  =====================================
name                 loss                                                     Fisher consistent (P1 > P2 >= ... >= Pk)
===================  =======================================================  =====================================
``naive``            ``[1 - f_y]_+``                                          never for k > 2
``weston_watkins``   ``sum_{j != y} [1 - (f_y - f_j)]_+``                     k = 3: where P1 > 1/2 or P2 < 1/3
``crammer_singer``   ``[1 - min_{j != y} (f_y - f_j)]_+``                     where P1 > 1/2
``lee_lin_wahba``    ``sum_{j != y} [1 + f_j]_+``                             always
``reinforced``       ``mix [k-1-f_y]_+ + (1-mix) sum_{j != y} [1 + f_j]_+``   where P2 - mix Pk <= 1 - mix
``bounded``          ``-f_y`` subject to ``f_j >= -1`` for every j            always
===================  =======================================================  =====================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses._base import Array

__all__ = ["HINGES", "MulticategoryHinge", "fisher_consistent", "multicategory_hinge"]

HINGES = ("naive", "weston_watkins", "crammer_singer", "lee_lin_wahba", "reinforced", "bounded")


@dataclass(frozen=True)
class MulticategoryHinge:
    """One of the losses above; ``mix`` is read by "reinforced" alone."""

    method: str = "reinforced"
    mix: float = 0.5

    def value(self, F: Array, codes: NDArray[np.integer[Any]]) -> Array:
        """The loss of each row."""
        return multicategory_hinge(self.method, F, codes, self.mix)


def multicategory_hinge(name: str, F: Array, codes: NDArray[np.integer[Any]], mix: float = 0.5) -> Array:
    """The loss of each row; the constraints of ``bounded`` are the caller's to check."""
    rows = np.arange(len(F))
    own = F[rows, codes]
    if name == "bounded":
        return -own
    if name == "naive":
        return np.maximum(1 - own, 0)
    if name in ("weston_watkins", "crammer_singer"):
        shortfall = 1 - (own[:, None] - F)
        shortfall[rows, codes] = 0
        cost = np.maximum(shortfall, 0)
        return cost.sum(axis=1) if name == "weston_watkins" else cost.max(axis=1)
    others = np.maximum(1 + F, 0)
    others[rows, codes] = 0
    if name == "lee_lin_wahba":
        return others.sum(axis=1)
    return mix * np.maximum(F.shape[1] - 1 - own, 0) + (1 - mix) * others.sum(axis=1)


def fisher_consistent(name: str, P: Array, mix: float = 0.5) -> NDArray[np.bool_]:
    """Where, among class probabilities ``P`` (n, k), the most probable class has the largest population score.

    Exact for every method except Weston-Watkins with k > 3, where the sufficient condition P1 > 1/2 or P2 < 1/k is
    given. Two classes are always fine.
    """
    ordered = -np.sort(-np.asarray(P, dtype=np.float64), axis=1)
    k = ordered.shape[1]
    first, second, last = ordered[:, 0], ordered[:, 1], ordered[:, -1]
    unique = first > second
    if k == 2 or name in ("lee_lin_wahba", "bounded"):
        return unique
    if name == "naive":
        return np.zeros(len(ordered), dtype=bool)
    if name == "crammer_singer":
        return unique & (first > 0.5)
    if name == "weston_watkins":
        return unique & ((first > 0.5) | (second < 1 / k))
    return unique & (second - mix * last <= 1 - mix)
