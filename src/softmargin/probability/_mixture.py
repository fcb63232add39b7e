"""The mixture of classifiers that makes held-out labels most likely.

With ``P_k`` the probabilities that judge ``k`` gives to labels it has not seen, the likelihood of the mixture
``sum_k w_k P_k`` is concave in the weights, and expectation-maximisation climbs it. A judge that knows nothing of the
data gets no weight, and judges that err on different rows correct each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["mixture_weights"]

Array = NDArray[np.floating[Any]]

_MAX_ROUNDS, _SETTLED = 1000, 1e-6


def mixture_weights(likelihood: Array, weight: Array | None = None) -> Array:
    """The weights of the judges (rows of ``likelihood``), given what each says of the label of each row."""
    weights = np.full(len(likelihood), 1 / len(likelihood))
    likelihood = np.maximum(likelihood, np.finfo(float).tiny)
    share = np.full(likelihood.shape[1], 1 / likelihood.shape[1]) if weight is None else weight / weight.sum()
    for _ in range(_MAX_ROUNDS):
        last = weights
        weights = weights * (likelihood / (weights @ likelihood) @ share)
        if np.abs(weights - last).max() <= _SETTLED:
            break
    return weights / weights.sum()
