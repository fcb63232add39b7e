"""The mixture of classifiers that makes held-out labels most likely.

With ``P_k`` the probabilities that judge ``k`` gives to labels it has not seen, the likelihood of the mixture
``sum_k w_k P_k`` is concave in the weights, and expectation-maximisation climbs it. A judge that knows nothing of the
data gets no weight, and judges that err on different rows correct each other. A mean of judges is less sure than it
should be where they agree for different reasons, and so are one-vs-rest scores divided by their sum: ``sharpness`` is
the exponent ``s`` under which ``P^s``, divided by its sum, makes the same labels most likely. It changes no decision.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from softmargin._constraints import POSITIVE, finite_numbers
from softmargin.probability._weights import row_weights

__all__ = ["mixture_weights", "sharpened", "sharpness"]

Array = NDArray[np.floating[Any]]

_MAX_ROUNDS, _SETTLED = 1000, 1e-6
_STRONGEST = float(np.log(3.0))


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


def sharpness(P: Array, codes: NDArray[np.intp], weight: Array) -> float:
    """The exponent of probabilities ``P`` that makes the labels most likely, between a third and three."""
    P = finite_numbers("P", P, None, None)
    codes, weight = np.asarray(codes), row_weights(weight, len(P), "weight")
    if codes.shape != P.shape[:1] or codes.dtype.kind not in "iu" or not np.isin(codes, np.arange(P.shape[1])).all():
        raise ValueError(f"codes must be the number of a column of P, from 0 to {P.shape[1] - 1}, for each row.")
    log = np.log(np.maximum(P, np.finfo(float).tiny))
    row, share = np.arange(len(codes)), weight / weight.sum()

    def loss(power: float) -> float:
        return -float(share @ log_softmax(np.exp(power) * log, axis=1)[row, codes])

    found = minimize_scalar(loss, bounds=(-_STRONGEST, _STRONGEST), method="bounded", options={"xatol": 1e-6})
    return float(np.exp(found.x)) if loss(found.x) < loss(0.0) else 1.0


def sharpened(P: Array, power: float) -> Array:
    """``P^power`` divided by its sum."""
    POSITIVE.check("power", power)
    P = finite_numbers("P", P, None, None)
    return softmax(power * np.log(np.maximum(P, np.finfo(float).tiny)), axis=1)
