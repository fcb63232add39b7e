"""Newton steps without a Hessian: conjugate gradients for features that are many or sparse.

The bordered system ``[Phi'W Phi + ridge I, Phi'W 1; 1'W Phi, 1'W 1] (dbeta, db) = -(ridge beta + Phi'g, 1'g)`` is only
ever multiplied with, one product with ``Phi`` and one with its transpose each time, scaled by its diagonal. Far from
the optimum a rough solution is as good as an exact one, and at the end more digits than the tolerance asks for are
nobody's, so every step says how accurate it has to be.

How many products that takes only trying tells: a few for columns that differ, hundreds where some hardly do and costs
are large. ``TrialSystem`` therefore begins without a Hessian where one costs many products, and makes it once a step
has cost as much.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from softmargin.expansions import Expansion
from softmargin.problem import Problem
from softmargin.solvers import linalg
from softmargin.solvers.ridge.newton_systems import Factor, FeatureFactor, FeatureSystem, Residual, Step
from softmargin.solvers.thresholds import prefers_factor, products_per_factor

__all__ = ["ConjugateSystem", "TrialSystem", "conjugate_gradients"]

Array = NDArray[np.floating[Any]]

_MOST_PRODUCTS = 500
# Dense columns from which steps are tried by products (``python -m benchmarks thresholds`` times both ways), and how
# many products a Hessian is worth, for each of its columns: of rows in a cache of so many bytes, and of others
# (measured on 200 to 6000 rows of 150 to 3000 columns: 0.14 to 0.17, and 0.035 to 0.047).
MANY_COLUMNS, _CACHE_BYTES, _IN_CACHE, _IN_MEMORY = 200, 1 << 23, 0.15, 0.04
# More rows for each column are read by products as long as a factor takes (10000 x 300: half as long again); costs of a
# row times its squared norm, in units of the ridge, beyond which rough steps far out go astray (digits with products of
# their columns: two thirds of the time up to here, twice the time at 50000).
_ROWS_PER_COLUMN, _EASY = 10, 2500.0
_MOST_COLUMNS = 6000  # of sparse features that may get a Hessian: beyond, it takes hundreds of megabytes


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


class TrialSystem(FeatureSystem):
    """Steps by products while each takes fewer than a Hessian is worth, by factors from the first that does not."""

    def __init__(self, expansion: Expansion, ridge: float, fit_intercept: bool) -> None:
        super().__init__(expansion, ridge, fit_intercept)
        n, p = expansion.shape
        share = _IN_CACHE if n * p * expansion.dtype.itemsize <= _CACHE_BYTES else _IN_MEMORY
        worth = products_per_factor(expansion) if expansion.is_sparse else share * p
        self.most = int(worth)  # zero once a step has taken more

    @classmethod
    def suits(cls, problem: Problem) -> bool:
        """Whether a Hessian costs many products, rows are no more than its cost bears, and few products will do.

        Of sparse features that is known: they have no factor by themselves where one costs many products.
        """
        (n, p), expansion = problem.expansion.shape, problem.expansion
        if expansion.is_sparse:
            return p <= min(n, _MOST_COLUMNS) and not prefers_factor(expansion)
        if not p >= MANY_COLUMNS or not p <= n <= _ROWS_PER_COLUMN * p:
            return False
        square = float(expansion.squared_norms().sum()) / n
        return float(problem.weights.max()) * square <= _EASY * problem.penalty.ridge

    def factor(self, W: Array) -> Factor:
        if self.most == 0:
            return super().factor(W)
        return TrialFactor(self, W, self.expansion.squared_norms(W) + self.ridge, float(W.sum()))


class TrialFactor(NamedTuple):
    """The curvatures of a step that is tried without a Hessian."""

    system: TrialSystem
    W: Array
    diagonal: Array
    mass: float

    @property
    def patience(self) -> float:
        return 0.0

    def step(self, residual: Residual, coef: Array, g: Array, reduction: float) -> Step:
        gradient, system = (residual.vector, float(g.sum())), self.system
        step, count = _counted(system, self.W, self.diagonal, gradient, reduction, system.most)
        if step is not None and count < system.most:
            return step
        system.most = 0
        return system.factor(self.W).step(residual, coef, g, reduction)


def conjugate_gradients(
    system: FeatureSystem, W: Array, diagonal: Array, gradient: tuple[Array, float], reduction: float
) -> Step | None:
    """The Newton step for curvatures ``W``, from the gradients in coefficients and intercept, scaled by a diagonal.

    It ends where the square of the residual is ``reduction`` times that at zero, measured by the inverse diagonal. None
    where a direction of negative curvature is met: the quadratic model has no minimum.
    """
    return _counted(system, W, diagonal, gradient, reduction, _MOST_PRODUCTS)[0]


def _counted(
    system: FeatureSystem, W: Array, diagonal: Array, gradient: tuple[Array, float], reduction: float, most: int
) -> tuple[Step | None, int]:
    """The same after ``most`` products at the latest, with their number."""
    mass, p = float(W.sum()), system.size
    bordered = system.fit_intercept and mass > 0
    inverse, right = np.empty(p + 1), np.empty(p + 1)
    np.divide(1.0, diagonal, out=inverse[:p])
    np.negative(gradient[0], out=right[:p])
    inverse[p], right[p] = (1 / mass, -gradient[1]) if bordered else (1.0, 0.0)
    target, count = reduction * float(right @ (inverse * right)), 0

    def product(direction: Array) -> tuple[Array, Array]:
        nonlocal count
        count += 1
        scores, pulled, flow = system.expansion.bent(W, direction[:p], float(direction[p]))
        image = system.ridge * direction
        image[:p] += pulled
        image[p] = flow if bordered else 0.0
        return image, scores

    found = linalg.conjugate_gradients(
        product, lambda residual: inverse * residual, right, lambda _, rho: rho <= target, most
    )
    if found is None:
        return None, count
    solution, scores = found
    return Step(solution[:p], float(solution[p]), np.zeros(len(W)) if scores is None else scores), count
