"""Candidates for robust losses: scales from very robust to not at all, costs that follow the scale.

A redescending loss at the decision boundary costs about ``min(1, sigma^2)``, so the same balance of loss and penalty
needs ``C`` proportional to ``1 / min(1, sigma^2)``. ``sigma = inf`` is the plain machine: with it among the candidates,
clean data lose nothing to robustness. It comes first, so that equals are decided against robustness. The scales offered
stay above the square root of two: below it Welsch's loss is concave at the boundary already, a row in doubt is given up
before it is understood, and each further candidate is a further chance for the wrong one to win by luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["SIGMAS", "robust_grid"]

SIGMAS = (np.inf, 2.5, 1.5)


def robust_grid(
    sigmas: Sequence[float] = SIGMAS, Cs: Sequence[float] = (0.01, 0.1, 1.0, 10.0, 100.0)
) -> list[dict[str, Any]]:
    """Candidates of ``sigma`` and ``C`` for ``GridSearchCV(RobustSVC(), ...)`` or ``TunedClassifier``.

    ``TunedClassifier(RobustSVC(), grid={"sigma": SIGMAS})`` needs no such list: its automatic costs follow the scale.

    Examples
    --------
    >>> from softmargin.tuning import robust_grid
    >>> [(grid["sigma"][0], float(grid["C"][0])) for grid in robust_grid([0.5, float("inf")], [1.0])]
    [(0.5, 4.0), (inf, 1.0)]
    """
    if not all(sigma > 0 for sigma in sigmas):
        raise ValueError(f"sigmas must be positive; got {list(sigmas)!r}.")
    return [{"sigma": [float(sigma)], "C": np.asarray(Cs, dtype=float) / min(1.0, sigma**2)} for sigma in sigmas]
