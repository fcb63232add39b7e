"""Which bounds, linear terms and link make each machine of the common dual of ``_compiled/multicategory.pyx``."""

from __future__ import annotations

import math
from typing import NamedTuple

from softmargin._compiled import multicategory as kernel  # type: ignore[attr-defined]
from softmargin.losses.multiclass import MulticategoryHinge

__all__ = ["DualForm"]


class DualForm(NamedTuple):
    """The dual of one method: link, bounds (own and other, per unit of cost) and linear terms (own and other)."""

    link: int
    bounds: tuple[float, float, float, float]
    linear: tuple[float, float]

    @classmethod
    def of(cls, loss: MulticategoryHinge, k: int) -> DualForm:
        inf = math.inf
        if loss.method == "naive":
            return cls(kernel.CENTER, (0, 1, 0, 0), (1, 0))
        if loss.method == "weston_watkins":
            return cls(kernel.OWN, (0, 0, -1, 0), (0, -1))
        if loss.method == "crammer_singer":
            return cls(kernel.ZERO, (-inf, 1, -inf, 0), (1, 0))
        if loss.method == "bounded":
            return cls(kernel.CENTER, (1, inf, 0, inf), (-1, -1))
        own = 0.0 if loss.method == "lee_lin_wahba" else loss.mix
        return cls(kernel.CENTER, (0, own, own - 1, 0), (k - 1, -1))
