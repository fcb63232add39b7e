"""Newton steps without a Hessian: conjugate gradients for features that are many or sparse.

The bordered system ``[Phi'W Phi + ridge I, Phi'W 1; 1'W Phi, 1'W 1] (dbeta, db) = -(ridge beta + Phi'g, 1'g)`` is only
ever multiplied with, one product with ``Phi`` and one with its transpose each time, scaled by its diagonal. Far from
the optimum a rough solution is as good as an exact one, so the accuracy asked for grows as the gap falls.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion
from softmargin.solvers.ridge.newton_systems import FeatureGeometry, Step

__all__ = ["ConjugateGeometry"]

Array = NDArray[np.floating[Any]]

_MOST_PRODUCTS = 500


class ConjugateGeometry(FeatureGeometry):
    """Memory of a few vectors beyond the data, whatever its shape."""

    def __init__(self, expansion: Expansion, ridge: float, fit_intercept: bool) -> None:
        super().__init__(expansion, ridge, fit_intercept)
        self.patience = 0.0  # there is no factor to keep

    def factor(self, W: Array) -> None:
        self.W, self.total = W, float(W.sum())
        self.diagonal = self.expansion.squared_norms(W) + self.ridge

    def step(self, coef: Array, g: Array, gap: float) -> Step:
        step = self.solve_system(self.W, self.diagonal, g, gap)
        assert step is not None, "curvatures of a convex loss are not negative"
        return step

    def signed_step(self, W: Array, g: Array, gap: float) -> Step | None:
        """The step for curvatures of any sign; None once a direction of negative curvature is met."""
        return self.solve_system(W, self.expansion.squared_norms(np.abs(W)) + self.ridge, g, gap)

    def solve_system(self, W: Array, diagonal: Array, g: Array, gap: float) -> Step | None:
        """Conjugate gradients, scaled by a positive diagonal; None where the quadratic model has no minimum."""
        total = float(W.sum())
        border = total if self.fit_intercept and total > 0 else 0.0
        diagonal = np.append(diagonal, border if border > 0 else 1.0)
        residual = np.append(-self.residual, -float(g.sum()) if border > 0 else 0.0)
        solution, rho = np.zeros_like(residual), 0.0
        direction: Array = np.zeros_like(residual)
        target = min(0.1, max(gap, 1e-8) ** 0.5) ** 2 * float(residual @ (residual / diagonal))
        scores = np.zeros(len(g))
        for _ in range(_MOST_PRODUCTS):
            scaled = residual / diagonal
            rho, before = float(residual @ scaled), rho
            if rho <= target:
                break
            direction = scaled + (rho / before if before > 0 else 0.0) * direction
            dscores = self.expansion.apply(direction[:-1])
            flow = W * (dscores + direction[-1])
            image = np.append(self.expansion.transpose(flow) + self.ridge * direction[:-1], flow.sum())
            if border == 0:
                image[-1] = 0.0
            bend = float(direction @ image)
            if not bend > 0:
                return None
            length = rho / bend
            solution += length * direction
            scores += length * dscores
            residual -= length * image
        return Step(solution[:-1], float(solution[-1]), scores)

    def adopt(self, part: FeatureGeometry) -> None:
        """There is no factor to use."""
