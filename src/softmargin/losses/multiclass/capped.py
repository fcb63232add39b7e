"""A loss of k scores that no row can raise above a level: ``min(L, level)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.losses._base import TIE, Array
from softmargin.losses.multiclass.smooth import Codes, SmoothMulticlassLoss

__all__ = ["Capped"]


@dataclass(frozen=True)
class Capped:
    """``min(base, level)``. A class none of whose rows is below the level keeps them all."""

    base: SmoothMulticlassLoss
    level: float

    def value(self, F: Array, codes: Codes) -> Array:
        """The capped loss of each row."""
        return np.minimum(self.base.value(F, codes), self.level)

    def kept(self, values: Array, codes: Codes, protected: NDArray[np.bool_] | None = None) -> NDArray[Any]:
        """The rows that count, given their uncapped losses; ``protected`` classes keep all, and grow in place."""
        inside = values <= self.level * (1 + TIE)
        k = int(codes.max()) + 1 if protected is None else len(protected)
        empty = np.bincount(codes, inside, minlength=k) == 0
        if protected is not None:
            protected |= empty
            empty = protected
        return inside | empty[codes]
