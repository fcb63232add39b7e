"""The adaptive lasso: one elastic net with factors ``|pilot|^(-power)``, the pilot a ridge fit (Zou 2006).

It is one round of local linear approximation of the curve with slope ``t^(-power)`` (a logarithm for ``power=1``), kept
finite below 1e-8, the size at which a pilot's coefficient counts as zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import number
from softmargin.penalties.penalty import ElasticNet, Penalty
from softmargin.penalties.registry import register

__all__ = ["AdaptiveL1"]

Array = NDArray[np.floating[Any]]

_ZERO = 1e-8
_STEEPEST = 16.0  # beyond it squares of the factors of zero coefficients overflow
_POWER = number(f"a positive number of at most {_STEEPEST:g}", lambda value: 0 < value <= _STEEPEST)


@register("adaptive_l1")
@dataclass(frozen=True)
class AdaptiveL1(Penalty):
    """l1 costs divided by ``|pilot|^power``, the pilot a ridge fit at the same C.

    A fitted solution reports the value of the elastic net its pilot defines.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.penalties import AdaptiveL1
    >>> AdaptiveL1().linearize(np.array([0.5, -2.0])).factors
    array([2. , 0.5])
    """

    power: float = 1.0
    rounds: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _POWER.check("power of AdaptiveL1", self.power)
        super().__post_init__()

    @property
    def pilot(self) -> ElasticNet:
        return ElasticNet(0.0)

    def relative_slopes(self, size: Array) -> Array:
        return np.maximum(size, _ZERO) ** -self.power

    def relative_costs(self, size: Array) -> Array:
        beyond = np.maximum(size, _ZERO)
        if self.power == 1:
            rest = np.log(beyond / _ZERO)
        else:
            rest = (beyond ** (1 - self.power) - _ZERO ** (1 - self.power)) / (1 - self.power)
        return np.minimum(size, _ZERO) * _ZERO**-self.power + rest
