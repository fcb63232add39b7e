"""Do events stated with probability p happen with frequency p?"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from softmargin._constraints import AXES, LEVEL, NONE, Constraint, check_fitted, check_labels, having, instance
from softmargin.plots._style import INK, SOFT, class_colour, clean, new_axes
from softmargin.probability import CalibrationError, calibration_error

__all__ = ["ReliabilityDisplay"]


def _is_colour(value: Any) -> bool:
    from matplotlib.colors import is_color_like

    return bool(is_color_like(value))


_COLOUR = NONE | Constraint("a colour of matplotlib's", _is_colour)
_CALIBRATION = instance("a result of softmargin.probability.calibration_error", CalibrationError)
_PROBABILITIES = having("a classifier with predict_proba (ScoreCalibrator gives it one)", "predict_proba")


class ReliabilityDisplay:
    """Observed frequency against stated probability, with an interval for every bin of equal count.

    Bars are Clopper-Pearson intervals of the observed frequency; a reliable classifier's cross the diagonal at the
    stated level. The legend gives the calibration error.

    Parameters
    ----------
    calibration : CalibrationError
        The bins, from ``softmargin.probability.calibration_error``.
    name : str
        What to call the classifier.
    level : float
        Level of the intervals.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.linear_model import LogisticRegression
    >>> from softmargin.datasets import make_sine
    >>> from softmargin.plots import ReliabilityDisplay
    >>> X, y, _ = make_sine(500, noise=0.8, random_state=0)
    >>> display = ReliabilityDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> bool(display.calibration.value < 0.1)
    True
    """

    def __init__(self, calibration: CalibrationError, name: str = "", level: float = 0.95) -> None:
        _CALIBRATION.check("calibration", calibration)
        LEVEL.check("level", level)
        self.calibration = calibration
        self.name = name
        self.level = level

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, name: str | None = None, n_bins: int = 10, **options: Any
    ) -> ReliabilityDisplay:
        """Draw a fitted classifier of two classes judged on the rows of ``X``; ``options`` go to ``plot``."""
        check_fitted("estimator", estimator)
        _PROBABILITIES.check("estimator", estimator)
        classes = estimator.classes_
        if len(classes) != 2:
            raise ValueError(f"a reliability diagram is for two classes; the estimator has {len(classes)}.")
        p = estimator.predict_proba(X)[:, 1]
        name = type(estimator).__name__ if name is None else name
        y = check_labels(y, classes, len(p))
        return cls.from_predictions(y == classes[1], p, name=name, n_bins=n_bins, **options)

    @classmethod
    def from_predictions(
        cls, y: Any, p: Any, *, name: str = "", n_bins: int = 10, level: float = 0.95, **options: Any
    ) -> ReliabilityDisplay:
        """Draw probabilities ``p`` of the positive class for labels ``y`` in {0, 1}; ``options`` go to ``plot``."""
        calibration = calibration_error(y, p, n_bins=n_bins, level=level)
        return cls(calibration, name, level).plot(**options)

    def plot(self, ax: Any = None, *, colour: Any = None) -> ReliabilityDisplay:
        """Draw the bins, their intervals and the diagonal."""
        AXES.check("ax", ax)
        _COLOUR.check("colour", colour)
        first = ax is None or not ax.lines
        self.ax_ = ax = new_axes(ax, (4.6, 4.4)) if ax is None else clean(ax)
        self.figure_ = ax.figure
        colour = class_colour(len(ax.containers)) if colour is None else colour
        if first:
            ax.plot([0, 1], [0, 1], color=SOFT, lw=0.9, ls="--", zorder=1)
        bins = self.calibration
        low, high = self._interval()
        label = f"{self.name}  {bins.value:.3f}".strip()
        reach = np.abs(np.vstack([bins.observed - low, high - bins.observed]))
        look = {"color": colour, "lw": 1.4, "ms": 4.5, "elinewidth": 0.9, "capsize": 0}
        self.points_ = ax.errorbar(bins.stated, bins.observed, reach, fmt="o-", label=label, zorder=3, **look)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
        ax.set_xlabel("stated probability", color=INK)
        ax.set_ylabel("observed frequency", color=INK)
        ax.legend(frameon=False, fontsize=8.5, loc="upper left", title="calibration error", title_fontsize=8.5)
        return self

    def _interval(self) -> tuple[Any, Any]:
        count, tail = self.calibration.count, (1 - self.level) / 2
        hits = self.calibration.observed * count
        low = np.where(hits > 0, betaincinv(np.maximum(hits, 1e-9), count - hits + 1, tail), 0.0)
        high = np.where(hits < count, betaincinv(hits + 1, np.maximum(count - hits, 1e-9), 1 - tail), 1.0)
        return low, high
