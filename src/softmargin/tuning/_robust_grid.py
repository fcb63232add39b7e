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

__all__ = ["SIGMAS", "auto_sigma", "robust_grid"]

SIGMAS = (np.inf, 2.5, 1.5)
# Of 1.5, 2 and 3 the factor with the best mean accuracy on clean test labels (heart_statlog, pima_diabetes, sonar,
# ionosphere, australian, banana, breast_w; 0, 10 and 20 per cent of the training labels flipped; linear and rbf).
_FACTOR = 3.0


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


def auto_sigma(margins: Any, weight: Any = None) -> float:
    """A residual scale from the margins of the machine that trusts every row; inf where it gets none wrong.

    It is ``_FACTOR`` times the weighted median residual ``1 - u`` of the rows with ``u < 0``: what is usual among
    mistakes keeps its say, what is far beyond loses it.

    Examples
    --------
    >>> from softmargin.tuning import auto_sigma
    >>> auto_sigma([2.0, 0.5, -1.0, -1.0]), auto_sigma([1.0, 1.0])
    (6.0, inf)
    """
    margins = np.asarray(margins, dtype=float)
    weight = np.ones(len(margins)) if weight is None else np.asarray(weight, dtype=float)
    wrong = margins < 0
    if not wrong.any():
        return np.inf
    order = np.argsort(-margins[wrong])
    residual, share = 1 - margins[wrong][order], np.cumsum(weight[wrong][order])
    return _FACTOR * float(residual[np.searchsorted(share, share[-1] / 2)])
