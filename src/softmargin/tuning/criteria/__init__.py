"""Formulas that judge a fit by the rows it was fitted to. One file is one criterion: a module ``name`` of this package
with a function ``name(fit: Fitted) -> float``, smaller is better, is found by itself and is then a ``criterion`` of
``TunedClassifier``."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

from softmargin.tuning.criteria._fitted import Fitted, alo_scores

__all__ = ["FORMULAS", "Fitted", "alo_scores", "find_formulas"]


def find_formulas() -> dict[str, Callable[[Fitted], float]]:
    """The function of every public module of this package, by name."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return {name: getattr(import_module(f"{__name__}.{name}"), name) for name in names}


FORMULAS = find_formulas()
