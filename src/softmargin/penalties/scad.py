"""SCAD, the smoothly clipped absolute deviation: large coefficients are not shrunk at all (Fan and Li 2001).

With knee ``k`` and shape ``a`` its slope is 1 up to ``k`` and ``(a k - t)_+ / ((a - 1) k)`` beyond. The textbook's
penalty of the mean loss with parameter lambda has ``k = lambda`` and ``C = 1 / (n lambda)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import POSITIVE, number
from softmargin.penalties.penalty import Penalty
from softmargin.penalties.registry import register

__all__ = ["SCAD", "check_curve"]

Array = NDArray[np.floating[Any]]


def check_curve(name: str, shape: float, least: float, knee: float) -> None:
    """Refuse curves that bend upwards or have no knee."""
    number(f"a finite number above {least:g}", lambda value: least < value < np.inf).check(f"shape of {name}", shape)
    POSITIVE.check(f"knee of {name}", knee)


@register("scad")
@dataclass(frozen=True)
class SCAD(Penalty):
    """l1 up to ``knee``, constant beyond ``shape * knee``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.penalties import SCAD
    >>> SCAD(shape=3.0).linearize(np.array([0.5, 2.0, 4.0])).factors
    array([1. , 0.5, 0. ])
    """

    shape: float = 3.7
    knee: float = 1.0

    def __post_init__(self) -> None:
        check_curve("SCAD", self.shape, 1.0, self.knee)
        super().__post_init__()

    def relative_slopes(self, size: Array) -> Array:
        return np.clip((self.shape * self.knee - size) / ((self.shape - 1) * self.knee), 0.0, 1.0)

    def relative_costs(self, size: Array) -> Array:
        bent = np.clip(size, self.knee, self.shape * self.knee) - self.knee
        flat = np.minimum(size, self.knee)
        return flat + bent - 0.5 * bent**2 / ((self.shape - 1) * self.knee)
