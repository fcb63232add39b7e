"""Sollich's reading of the hinge as a log likelihood: log odds ``m ([1 + f]_+ - [1 - f]_+)`` with multiplier ``m``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sollich"]


@dataclass(frozen=True)
class Sollich:
    """``2 f`` inside the margin, ``f + sign(f)`` outside, times ``multiplier`` (1 in the papers, C for the MAP)."""

    multiplier: float = 1.0

    def log_odds(self, f: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """The log odds of the positive class at score ``f``."""
        f = np.asarray(f, dtype=float)
        return self.multiplier * (f + np.clip(f, -1, 1))
