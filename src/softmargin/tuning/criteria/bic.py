"""Schwarz's criterion: the deviance plus ``log n`` times the degrees of freedom."""

from __future__ import annotations

import numpy as np

from softmargin.tuning.criteria._deviance import deviance_and_charge
from softmargin.tuning.criteria._fitted import Fitted

__all__ = ["bic"]


def bic(fit: Fitted) -> float:
    """Schwarz's criterion with the influence trace as degrees of freedom."""
    deviance, charge = deviance_and_charge(fit)
    return deviance + float(np.log(fit.n)) * charge
