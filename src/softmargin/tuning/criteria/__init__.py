"""Formulas that judge a fit by the rows it was fitted to. One file is one criterion: a module ``name`` of this package
with a function ``name(fit: Fitted) -> float``, smaller is better, is found by itself and is then a ``criterion`` of
``TunedClassifier``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from softmargin.tuning.criteria._fitted import Fitted, alo_scores

__all__ = ["FORMULAS", "Fitted", "alo_scores"]

FORMULAS: dict[str, Callable[[Fitted], float]] = {
    module.name: getattr(import_module(f"{__name__}.{module.name}"), module.name)
    for module in iter_modules(__path__)
    if not module.name.startswith("_")
}
