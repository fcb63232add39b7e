"""Akaike's criterion: the deviance plus twice the degrees of freedom."""

from __future__ import annotations

from softmargin.tuning.criteria._deviance import deviance_and_charge
from softmargin.tuning.criteria._fitted import Fitted

__all__ = ["aic"]


def aic(fit: Fitted) -> float:
    """Akaike's criterion with the influence trace as degrees of freedom."""
    deviance, charge = deviance_and_charge(fit)
    return deviance + 2 * charge
