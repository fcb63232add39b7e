"""The pass of a loss with rounded corners, which also adds up what rounding costs (:mod:`softmargin.losses`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Response
from softmargin.losses import Rounded
from softmargin.problem import RowTerm

__all__ = ["RoundedTerm"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class RoundedTerm(RowTerm):
    """A row term of a rounded loss that also adds up the slack."""

    def __call__(self, scores: Array, y: Array, weights: Array, tilt: Array | None, offset: Array | None) -> Response:
        response = super().__call__(scores, y, weights, tilt, offset)
        assert isinstance(self.loss, Rounded)
        slack = self.loss.slack(self.margins(scores, y, offset))
        return response._replace(slack=float(weights @ slack))
