"""What a feature costs that has a coefficient for each of k classes.

    Omega(theta) = sum_j [ (1 - l1_ratio)/2 |theta_j|^2 + l1_ratio sum_m p(|theta_jm|) ]        one by one, or
                   sum_j [ (1 - l1_ratio)/2 |theta_j|^2 + l1_ratio p(|theta_j|_2) ]             as a group,

``theta_j`` the k coefficients of feature ``j``, which sum to zero, and ``p`` the curve of any :class:`Penalty`: a group
selects features for all classes at once, single costs select coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import BOOLEAN, instance
from softmargin.penalties.penalty import ElasticNet, Penalty

__all__ = ["ClassPenalty"]

Array = NDArray[np.floating[Any]]

_PENALTY = instance("a penalty object such as ElasticNet(1.0)", Penalty)


@dataclass(frozen=True)
class ClassPenalty:
    """A penalty of coefficients (p, k), feature by feature (``group``) or one by one; ``factors`` scale its l1 part.

    Examples
    --------
    >>> import numpy as np
    >>> from softmargin.penalties import ClassPenalty, ElasticNet
    >>> theta = np.array([[3.0, -4.0]])
    >>> ClassPenalty(ElasticNet(1.0), group=True).value(theta), ClassPenalty(ElasticNet(1.0), group=False).value(theta)
    (5.0, 7.0)
    """

    penalty: Penalty
    group: bool = True
    factors: Array | None = None

    def __post_init__(self) -> None:
        _PENALTY.check("penalty", self.penalty)
        BOOLEAN.check("group", self.group)

    @property
    def ridge(self) -> float:
        """The factor of ``|theta|^2 / 2``."""
        return self.penalty.ridge

    @property
    def convex(self) -> bool:
        return self.penalty.convex

    def sizes(self, coef: Array) -> Array:
        """What the curve is applied to: (p, 1) for groups, (p, k) otherwise."""
        return np.linalg.norm(coef, axis=1, keepdims=True) if self.group else np.abs(coef)

    def thresholds(self, coef: Array) -> Array:
        """The slope of the l1 part at zero of each size, of a convex penalty."""
        sizes = self.sizes(coef)
        return self.penalty.l1_ratio * (np.ones_like(sizes) if self.factors is None else self.factors)

    def value(self, coef: Array) -> float:
        """The penalty of coefficients (p, k)."""
        costs = self.penalty.relative_costs(self.sizes(coef))
        costs = costs if self.factors is None else costs * self.factors
        return 0.5 * self.ridge * float(np.sum(np.square(coef))) + self.penalty.l1_ratio * float(costs.sum())

    def linearize(self, coef: Array) -> ClassPenalty:
        """The weighted elastic net that touches this penalty from above at ``coef``."""
        slopes = self.penalty.relative_slopes(self.sizes(coef))
        return replace(self, penalty=ElasticNet(self.penalty.l1_ratio), factors=slopes)

    @property
    def pilot(self) -> ClassPenalty:
        """The convex penalty to start from."""
        return replace(self, penalty=ElasticNet(self.penalty.l1_ratio), factors=None)
