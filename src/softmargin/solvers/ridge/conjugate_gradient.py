"""Newton steps without a Hessian: conjugate gradients for features that are many or sparse.

The bordered system ``[Phi'W Phi + ridge I, Phi'W 1; 1'W Phi, 1'W 1] (dbeta, db) = -(ridge beta + Phi'g, 1'g)`` is only
ever multiplied with, one product with ``Phi`` and one with its transpose each time, scaled by its diagonal. Far from
the optimum a rough solution is as good as an exact one, and at the end more digits than the tolerance asks for are
nobody's, so every step says how accurate it has to be.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.solvers import linalg
from softmargin.solvers.ridge.newton_systems import Factor, FeatureFactor, FeatureSystem, Residual, Step

__all__ = ["ConjugateSystem", "conjugate_gradients"]

Array = NDArray[np.floating[Any]]

_MOST_PRODUCTS = 500


class ConjugateSystem(FeatureSystem):
    """Memory of a few vectors beyond the data, whatever its shape."""

    def factor(self, W: Array) -> Factor:
        return ConjugateFactor(self, W, self.expansion.squared_norms(W) + self.ridge, float(W.sum()))

    def adopt(self, factor: Factor) -> FeatureFactor | None:
        return None


class ConjugateFactor(NamedTuple):
    """The curvatures and the diagonal of their Hessian: all that conjugate gradients prepare."""

    system: ConjugateSystem
    W: Array
    diagonal: Array
    mass: float

    @property
    def patience(self) -> float:
        return 0.0  # there is no factor to keep

    def step(self, residual: Residual, coef: Array, g: Array, reduction: float) -> Step:
        step = conjugate_gradients(self.system, self.W, self.diagonal, (residual.vector, float(g.sum())), reduction)
        assert step is not None, "curvatures of a convex loss are not negative"
        return step


def conjugate_gradients(
    system: FeatureSystem, W: Array, diagonal: Array, gradient: tuple[Array, float], reduction: float
) -> Step | None:
    """The Newton step for curvatures ``W``, from the gradients in coefficients and intercept, scaled by a diagonal.

    It ends where the square of the residual is ``reduction`` times that at zero, measured by the inverse diagonal. None
    where a direction of negative curvature is met: the quadratic model has no minimum.
    """
    mass, p = float(W.sum()), system.size
    bordered = system.fit_intercept and mass > 0
    inverse, right = np.empty(p + 1), np.empty(p + 1)
    np.divide(1.0, diagonal, out=inverse[:p])
    np.negative(gradient[0], out=right[:p])
    inverse[p], right[p] = (1 / mass, -gradient[1]) if bordered else (1.0, 0.0)
    target = reduction * float(right @ (inverse * right))

    def product(direction: Array) -> tuple[Array, Array]:
        scores, pulled, flow = system.expansion.bent(W, direction[:p], float(direction[p]))
        image = system.ridge * direction
        image[:p] += pulled
        image[p] = flow if bordered else 0.0
        return image, scores

    found = linalg.conjugate_gradients(
        product, lambda residual: inverse * residual, right, lambda _, rho: rho <= target, _MOST_PRODUCTS
    )
    if found is None:
        return None
    solution, scores = found
    return Step(solution[:p], float(solution[p]), np.zeros(len(W)) if scores is None else scores)
