"""From the penalties and widths of the papers to ``C`` and ``gamma``, in one place.

softmargin minimises ``C sum_i s_i phi(y_i f_i) + 1/2 |f|^2``. Class weights (1 - pi, pi) of the papers are
``2 (1 - pi), 2 pi`` here, so that pi = 1/2 is the unweighted problem.

=============================  ==============================================  =========================
paper                          objective                                       C
=============================  ==============================================  =========================
Zhang, Dai & Jordan            mean phi + gamma/2 |f|^2                        1 / (n gamma)
Wang, Shen & Liu               mean S_pi phi + lambda/2 |f|^2                  1 / (2 n lambda)
Feng et al.                    mean phi + lambda |f|^2; their C = 1/(m lambda) 1 / (2 m lambda) = C / 2
Park, chapters 1 to 3          sum phi + lambda/2 |f|^2                        1 / lambda
Park, chapter 4                sum phi + lambda sum_j |f_j|^2                  1 / (2 lambda)
=============================  ==============================================  =========================
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = [
    "gamma_of_double_width",
    "gamma_of_width",
    "mean_loss",
    "mean_loss_whole_penalty",
    "summed_loss",
    "summed_loss_whole_penalty",
    "weighted_mean_loss",
]


def mean_loss(penalty: ArrayLike, n_rows: int) -> np.ndarray:
    """``C`` of ``mean phi + penalty/2 |f|^2`` (coherence losses)."""
    return 1 / (n_rows * _positive(penalty))


def weighted_mean_loss(penalty: ArrayLike, n_rows: int) -> np.ndarray:
    """``C`` of ``mean S_pi phi + penalty/2 |f|^2`` with class weights (1 - pi, pi) (bracketing)."""
    return 1 / (2 * n_rows * _positive(penalty))


def mean_loss_whole_penalty(penalty: ArrayLike, n_rows: int) -> np.ndarray:
    """``C`` of ``mean phi + penalty |f|^2`` (robust support vector classification)."""
    return 1 / (2 * n_rows * _positive(penalty))


def summed_loss(penalty: ArrayLike) -> np.ndarray:
    """``C`` of ``sum phi + penalty/2 |f|^2`` (thesis, chapters 1 to 3)."""
    return 1 / _positive(penalty)


def summed_loss_whole_penalty(penalty: ArrayLike) -> np.ndarray:
    """``C`` of ``sum phi + penalty sum_j |f_j|^2`` (thesis, chapter 4)."""
    return 1 / (2 * _positive(penalty))


def gamma_of_width(width: ArrayLike) -> np.ndarray:
    """``gamma`` of the kernel ``exp(-d^2 / width^2)``."""
    return 1 / _positive(width, "width") ** 2


def gamma_of_double_width(width: ArrayLike) -> np.ndarray:
    """``gamma`` of the kernel ``exp(-d^2 / (2 width^2))``."""
    return 1 / (2 * _positive(width, "width") ** 2)


def _positive(value: ArrayLike, name: str = "penalty") -> np.ndarray:
    values = np.asarray(value, dtype=np.float64)
    if not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"{name} must be positive and finite; got {value!r}.")
    return values
