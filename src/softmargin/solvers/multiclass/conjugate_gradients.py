"""Preconditioned conjugate gradients for the Newton equations of k functions that sum to zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST", "conjugate_gradients"]

Array = NDArray[np.floating[Any]]

MOST = 200  # products


def conjugate_gradients(
    gradient: Array,
    precondition: Callable[[Array], tuple[Array, Array]],
    product: Callable[[Array, Array], Array],
    accuracy: float,
    most: int = MOST,
) -> tuple[Array, Array, bool]:
    """The Newton step to a share ``accuracy`` of the gradient in the preconditioner's norm, and the residual it leaves.

    Whether that share was reached is the third answer.

    ``precondition`` returns the scaled residual and its image under the inner product of the space (itself for
    features, ``K`` times it for kernel coefficients); images of directions follow from those without further products.
    ``product`` multiplies with the Hessian.

    What all functions share has no part in the scores, and where nothing penalises it (free intercepts) no curvature
    either: the rounding that lies there is taken out of every residual, or a step along it would have no end.
    """
    step, residual = np.zeros_like(gradient), _centred(-gradient)
    direction = image = np.zeros_like(gradient)
    rho = first = 0.0
    for i in range(most):
        scaled, scaled_image = precondition(residual)
        previous, rho = rho, float(np.sum(residual * scaled_image))
        first = first if i else rho
        if not rho > (accuracy**2 * first if i else 0.0):
            return step, residual, True
        share = rho / previous if i else 0.0
        direction, image = scaled + share * direction, scaled_image + share * image
        bent = product(direction, image)
        bend = float(np.sum(bent * image))
        if not bend > 0:
            break
        step += (rho / bend) * direction
        residual = _centred(residual - (rho / bend) * bent)
    return step, residual, False


def _centred(values: Array) -> Array:
    return np.asarray(values - values.mean(axis=1, keepdims=True))
