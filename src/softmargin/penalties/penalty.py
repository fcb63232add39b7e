"""What a penalty is, and the elastic net, the one penalty solvers minimise directly.

A penalty is a ridge part and a cost of each coefficient's size,

    Omega(b) = (1 - l1_ratio)/2 |b|^2 + l1_ratio sum_j f_j p(|b_j|),

with factors ``f_j`` (1 unless given) and a curve ``p`` of slope 1 at zero that rises and never bends upwards. So it is
stated by two elementwise functions, ``relative_costs`` (``p``) and ``relative_slopes`` (``p'``). A concave curve lies
below its tangents: a weighted elastic net (``linearize``) touches the penalty from above, and solvers know no other
penalty. One file defines and registers a penalty; estimators then take its name::

    @register("log")
    @dataclass(frozen=True)
    class LogPenalty(Penalty):
        def relative_slopes(self, size):
            return 1 / (1 + size)

        def relative_costs(self, size):
            return np.log1p(size)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import BOOLEAN, number, real_numbers, settle_numbers

__all__ = ["ElasticNet", "Penalty"]

Array = NDArray[np.floating[Any]]

_LEAST_RATIO = 1e-30  # of a concave cost: what less is selects nothing
_RATIO = number("between 0 and 1", lambda value: 0 <= value <= 1)


def _are_factors(values: Any) -> bool:
    try:
        numbers = real_numbers("factors", values)
    except ValueError:
        return False
    return numbers.ndim == 1 and bool(np.all((numbers >= 0) & (numbers < np.inf)))


@dataclass(frozen=True)
class Penalty:
    """A ridge part and a cost of sizes; ``factors`` scale the costs, ``positive`` forbids negative signs.

    ``rounds`` is how many elastic nets may be solved one after the other, the first from the solution of ``pilot``.
    """

    l1_ratio: float = 1.0
    factors: Array | None = None
    positive: bool = False

    convex: ClassVar[bool] = False
    rounds: ClassVar[int] = 100

    def __post_init__(self) -> None:
        _RATIO.check("l1_ratio", self.l1_ratio)
        settle_numbers(self)
        if not self.convex and self.l1_ratio < _LEAST_RATIO:
            raise ValueError(
                f"l1_ratio of {type(self).__name__} must be at least {_LEAST_RATIO:g}; got {self.l1_ratio!r}. "
                "For a pure ridge use ElasticNet(0.0)."
            )
        BOOLEAN.check("positive", self.positive)
        if self.factors is not None and not _are_factors(self.factors):
            raise ValueError(f"factors must be finite, nonnegative numbers, one per column; got {self.factors!r}.")

    def require_columns(self, n_coef: int) -> None:
        """Refuse factors that are not one for each of the columns."""
        if self.factors is not None and len(self.factors) != n_coef:
            raise ValueError(
                f"factors must be one number for each of the {n_coef} columns; got {len(self.factors)} of them."
            )

    def relative_slopes(self, size: Array) -> Array:
        """``p'(t)`` at ``t = size``."""
        raise NotImplementedError

    def relative_costs(self, size: Array) -> Array:
        """``p(t)`` at ``t = size``."""
        raise NotImplementedError

    @property
    def ridge(self) -> float:
        """The factor of ``|b|^2 / 2`` (``b'Kb / 2`` in a kernel expansion)."""
        return 1.0 - self.l1_ratio

    @property
    def pilot(self) -> ElasticNet:
        """The convex penalty to start from."""
        return ElasticNet(self.l1_ratio, self.factors, self.positive)

    def value(self, coef: Array, quadratic: float) -> float:
        """The penalty of ``coef``, given ``quadratic = |coef|^2`` (or ``coef'K coef``)."""
        cost = 0.5 * self.ridge * float(quadratic)
        if self.l1_ratio > 0:
            costs = self.relative_costs(np.abs(coef))
            cost += self.l1_ratio * float((costs if self.factors is None else costs * self.factors).sum())
        return cost

    def thresholds(self, n_coef: int) -> Array:
        """The slope of each coefficient's cost at zero: what a gradient must exceed to move it."""
        factors = np.ones(n_coef) if self.factors is None else np.asarray(self.factors, dtype=float)
        return self.l1_ratio * factors

    def linearize(self, coef: Array) -> ElasticNet:
        """The elastic net that touches this penalty from above at ``coef``."""
        slopes = self.relative_slopes(np.abs(coef))
        return ElasticNet(self.l1_ratio, slopes if self.factors is None else slopes * self.factors, self.positive)


@dataclass(frozen=True)
class ElasticNet(Penalty):
    """Ridge at ``l1_ratio`` 0, lasso at 1; ``factors`` scale the l1 part, ``positive`` forbids negative signs."""

    l1_ratio: float = 0.0
    convex: ClassVar[bool] = True
    rounds: ClassVar[int] = 1

    def relative_slopes(self, size: Array) -> Array:
        return np.ones_like(size)

    def relative_costs(self, size: Array) -> Array:
        return size

    def linearize(self, coef: Array) -> ElasticNet:
        return self
