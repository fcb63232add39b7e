"""A nonconvex loss seen by one pass: its own cost and slopes, with its own curvature or that of its convex bound.

A Newton step with the curvature of the bound that touches here is one step of majorise-minimise, and a whole round
where the bound is quadratic (reweighted least squares). Near a minimum the loss's own curvature, some of it negative,
makes a definite Hessian and steps that converge quadratically. The bound has the slopes of the loss where it touches,
so its duality gap, which certifies the point, is read off the same pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Response
from softmargin.problem import RowTerm

__all__ = ["BoundTerm"]

Array = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class BoundTerm(RowTerm):
    """A row term with the curvatures of the majoriser, or ``exact`` ones."""

    exact: bool = False

    def __call__(self, scores: Array, y: Array, weights: Array, tilt: Array | None, offset: Array | None) -> Response:
        margins = self.margins(scores, y, offset)
        cost = float(weights @ self.loss.value(margins))
        if self.exact:
            curvature = weights * self.loss.curvature(margins)
        else:
            bound = self.loss.majorize(margins)
            curvature = weights * bound.weights * bound.loss.curvature(margins)
        return Response(y * self.slopes(margins, weights, tilt), cost, curvature)
