"""MCP, the minimax concave penalty: the least concave curve that leaves large coefficients alone (Zhang 2010).

With knee ``k`` and shape ``a`` its slope is ``(1 - t / (a k))_+``; ``k = lambda`` and ``C = 1 / (n lambda)`` are the
textbook's penalty of the mean loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.penalties.penalty import Penalty
from softmargin.penalties.registry import register
from softmargin.penalties.scad import check_curve

__all__ = ["MCP"]

Array = NDArray[np.floating[Any]]


@register("mcp")
@dataclass(frozen=True)
class MCP(Penalty):
    """The slope falls linearly from zero on and vanishes at ``shape * knee``.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.penalties import MCP
    >>> MCP(shape=4.0).linearize(np.array([0.0, 2.0, 5.0])).factors
    array([1. , 0.5, 0. ])
    """

    shape: float = 3.0
    knee: float = 1.0

    def __post_init__(self) -> None:
        check_curve("MCP", self.shape, 0.0, self.knee)
        super().__post_init__()

    def relative_slopes(self, size: Array) -> Array:
        return np.maximum(1.0 - size / (self.shape * self.knee), 0.0)

    def relative_costs(self, size: Array) -> Array:
        bent = np.minimum(size, self.shape * self.knee)
        return bent - 0.5 * bent**2 / (self.shape * self.knee)
