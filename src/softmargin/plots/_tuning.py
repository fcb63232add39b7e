"""How the criterion moved with C, and what was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from softmargin._constraints import (
    NONE,
    Constraint,
    check_fitted,
    check_named,
    finite_numbers,
    having,
    is_number,
    real_numbers,
    several,
)
from softmargin.plots._style import INK, class_colour, new_axes

__all__ = ["TuningDisplay"]

_CURVES = Constraint(
    "a dict from names to arrays (C, criterion, standard error)",
    lambda value: isinstance(value, Mapping) and all(np.iterable(curve) for curve in value.values()),
)
_TUNED = having("a TunedClassifier", "results_", "criterion_", "best_params_")


def _curve(name: str, curve: Any) -> tuple[Any, ...]:
    C, value, error = check_named(f"curves[{name!r}]", curve, 3, "of C, criterion and standard error")
    C = finite_numbers(f"C of curves[{name!r}]", C, None)
    parts = [real_numbers(f"curves[{name!r}]", part) for part in (value, error)]
    if any(part.shape != C.shape for part in parts):
        raise ValueError(f"curves[{name!r}] must hold three arrays of the length of C, {len(C)}.")
    return (C, *parts)


class TuningDisplay:
    """The criterion of a ``TunedClassifier`` against C, one line for each setting of its other parameters.

    Bands are one standard error where the criterion has one; the dot is the choice.

    Parameters
    ----------
    curves : dict
        For each name, the arrays ``(C, criterion, standard error)``.
    criterion : str
        What to call the criterion.
    chosen : tuple of float
        ``(C, criterion)`` of the choice.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from softmargin import MarginClassifier, TunedClassifier
    >>> from softmargin.datasets import make_sine
    >>> from softmargin.plots import TuningDisplay
    >>> X, y, _ = make_sine(200, noise=0.8, random_state=0)
    >>> tuned = TunedClassifier(MarginClassifier(), grid={"C": 8, "kernel": [None, "rbf"]}).fit(X, y)
    >>> display = TuningDisplay.from_estimator(tuned)
    >>> sorted(display.curves)
    ['kernel=None', 'kernel=rbf']
    """

    def __init__(
        self, curves: dict[str, tuple[Any, Any, Any]], criterion: str = "criterion", chosen: Any = None
    ) -> None:
        _CURVES.check("curves", curves)
        (NONE | several("a pair (C, criterion)", is_number, least=2)).check("chosen", chosen)
        self.curves = {name: _curve(name, curve) for name, curve in curves.items()}
        self.criterion = criterion
        self.chosen = chosen

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> TuningDisplay:
        """Draw a fitted ``TunedClassifier``; ``options`` go to ``plot``."""
        check_fitted("estimator", estimator)
        _TUNED.check("estimator", estimator)
        table = estimator.results_
        others = [name for name in table.columns if name not in ("C", estimator.criterion_, "std_error")]
        label = table[others].astype(object).apply(lambda row: ", ".join(f"{n}={row[n]}" for n in others), axis=1)
        curves = {}
        for name in dict.fromkeys(label if others else [""]):
            part = (table[label == name] if others else table).sort_values("C")
            curves[name] = tuple(part[key].to_numpy(float) for key in ("C", estimator.criterion_, "std_error"))
        chosen = (estimator.best_params_["C"], estimator.best_score_)
        return cls(curves, estimator.criterion_, chosen).plot(**options)

    def plot(self, ax: Any = None) -> TuningDisplay:
        """Draw the curves, their errors and the choice."""
        self.ax_ = ax = new_axes(ax)
        self.figure_ = ax.figure
        for number, (name, (C, value, error)) in enumerate(self.curves.items()):
            colour = class_colour(number)
            ax.plot(C, value, color=colour, lw=1.7, label=name)
            if np.isfinite(error).all():
                ax.fill_between(C, value - error, value + error, color=colour, alpha=0.12, lw=0)
        if self.chosen is not None:
            ax.plot(*self.chosen, "o", color=INK, ms=6, mec="white", zorder=4)
        ax.set(xscale="log", xlabel="C", ylabel=self.criterion)
        if len(self.curves) > 1:
            ax.legend(frameon=False, fontsize=8.5)
        return self
