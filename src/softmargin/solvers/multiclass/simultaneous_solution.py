"""What every simultaneous multicategory solver returns: k score functions that sum to zero, and their certificate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["INTERCEPTS", "SimultaneousSolution"]

INTERCEPTS = ("free", "penalized", "none")


@dataclass
class SimultaneousSolution:
    """A minimiser of ``C sum_i s_i L(f(x_i), y_i) + 1/2 sum_j |f_j|^2`` under ``sum_j f_j = 0``.

    ``coef`` is (n_coef, k): feature weights, or kernel coefficients of the training rows. ``intercept`` is (k,).
    ``gap`` is relative to the scale of the problem; ``certificate`` says what it measures.
    """

    coef: NDArray[np.floating[Any]]
    intercept: NDArray[np.floating[Any]]
    objective: float
    gap: float
    n_iter: int = 1
    converged: bool = True
    certificate: str = "KKT residual"
    dual: NDArray[np.floating[Any]] | None = None
    history: list[float] = field(default_factory=list)
