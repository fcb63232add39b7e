"""What every solver returns: the point, its value and a certificate of how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RobustSolution", "Solution"]


@dataclass
class Solution:
    """A minimiser of problem (P) with its certificate.

    ``gap`` is a certified optimality measure, relative to the scale of the objective: the duality gap where a dual
    point is at hand, the largest KKT violation otherwise (``certificate`` says which). ``history`` holds the
    objective after each outer step. ``intercept_interval`` is set when every intercept in it is optimal.
    """

    coef: NDArray[np.floating[Any]]
    intercept: float
    dual: NDArray[np.floating[Any]] | None
    objective: float
    gap: float
    n_iter: int
    converged: bool
    certificate: str = "duality gap"
    history: list[float] = field(default_factory=list)
    intercept_interval: tuple[float, float] | None = None
    status: str = "ok"


@dataclass
class RobustSolution(Solution):
    """A stationary point of a nonconvex problem: its margins, the best constant, the convex fit of all rows, if any."""

    margins: NDArray[np.floating[Any]] | None = None
    base: Solution | None = None
    constant_objective: float = np.inf
