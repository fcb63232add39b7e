"""Estimates with their intervals, one line each."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin._constraints import BOOLEAN, check_named, having, real_numbers
from softmargin.plots._style import INK, SOFT, class_colour, new_axes

__all__ = ["IntervalDisplay"]

_INFERENCE = having("a softmargin.inference.Inference", "estimator", "theta_", "coef_interval")


class IntervalDisplay:
    """Coefficients and their confidence intervals; those that exclude zero are coloured by sign.

    Parameters
    ----------
    estimates : array-like of shape (p,)
    intervals : array-like of shape (p, 2)
    names : sequence of str, optional

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from softmargin.plots import IntervalDisplay
    >>> display = IntervalDisplay([1.0, -0.2], [[0.5, 1.5], [-0.6, 0.2]], ["dose", "age"]).plot()
    >>> display.excludes_zero.tolist()
    [True, False]
    """

    def __init__(self, estimates: Any, intervals: Any, names: Any = None) -> None:
        self.estimates, self.intervals = real_numbers("estimates", estimates), real_numbers("intervals", intervals)
        if self.estimates.ndim != 1:
            raise ValueError(f"estimates must be a list of numbers; got shape {self.estimates.shape}.")
        n = len(self.estimates)
        if self.intervals.shape != (n, 2):
            raise ValueError(f"intervals must have shape {(n, 2)}; got {self.intervals.shape}.")
        self.names = check_named("names", [f"x{j}" for j in range(n)] if names is None else names, n, "estimates")

    @classmethod
    def from_inference(cls, inference: Any, *, level: float = 0.95, **options: Any) -> IntervalDisplay:
        """Draw the coefficient intervals of a ``softmargin.inference.Inference``; ``options`` go to ``plot``."""
        _INFERENCE.check("inference", inference)
        names = getattr(inference.estimator, "feature_names_in_", None)
        return cls(inference.theta_[1:], inference.coef_interval(level), names).plot(**options)

    @property
    def excludes_zero(self) -> np.ndarray:
        """Which intervals lie on one side of zero."""
        return np.asarray((self.intervals > 0).all(axis=1) | (self.intervals < 0).all(axis=1))

    def plot(self, ax: Any = None, *, sort: bool = True) -> IntervalDisplay:
        """Draw one line per coefficient, largest at the top if ``sort``."""
        BOOLEAN.check("sort", sort)
        self.ax_ = ax = new_axes(ax, (6.0, 0.6 + 0.28 * len(self.estimates)))
        self.figure_ = ax.figure
        order = np.argsort(self.estimates) if sort else np.arange(len(self.estimates))[::-1]
        for place, j in enumerate(order):
            colour = class_colour(int(self.estimates[j] > 0)) if self.excludes_zero[j] else SOFT
            ax.plot(self.intervals[j], [place, place], color=colour, lw=2.2, solid_capstyle="butt", alpha=0.85)
            ax.plot(self.estimates[j], place, "o", color=colour, ms=5, mec="white", mew=0.8, zorder=3)
        ax.axvline(0, color=INK, lw=0.8, zorder=1)
        ax.set_yticks(np.arange(len(order)), [str(self.names[j]) for j in order], fontsize=8.5)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.set_xlabel("coefficient")
        return self
