"""What every solver returns: the point, its value and a certificate of how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Solution"]


@dataclass
class Solution:
    """A minimiser of problem (P) with its certificate.

    ``coef`` is (p,) and ``intercept`` a number; (p, k) and (k,) for k score functions fitted together.

    ``gap`` is a certified optimality measure, relative to the scale of the objective: the duality gap where a dual
    point is at hand, the largest KKT violation otherwise (``certificate`` says which). ``history`` holds the
    objective after each outer step. ``intercept_interval`` is set when every intercept in it is optimal.

    ``status`` is "ok" or says what a user should know of the minimiser: "constant" (the score does not depend on the
    row), "degenerate" (a nonconvex loss gave up a whole class; the constant classifier is returned), "unbounded" (the
    objective falls for ever as coefficients grow). ``margins`` are those of the training rows where the solver has them
    at hand, ``base`` is the convex fit of all rows from which a nonconvex fit started, ``kept`` says which rows counted
    in the fit of a loss of k scores that is capped.
    """

    coef: NDArray[np.floating[Any]]
    intercept: Any
    dual: NDArray[np.floating[Any]] | None
    objective: float
    gap: float
    n_iter: int
    converged: bool
    certificate: str = "duality gap"
    history: list[float] = field(default_factory=list)
    intercept_interval: tuple[float, float] | None = None
    status: str = "ok"
    margins: NDArray[np.floating[Any]] | None = None
    base: Solution | None = None
    kept: NDArray[np.bool_] | None = None
