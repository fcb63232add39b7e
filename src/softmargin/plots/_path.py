"""Coefficients as a parameter moves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import BOOLEAN, NONE, check_each, check_named, finite_numbers, having, integer, number
from softmargin.plots._style import SOFT, class_colour, direct_labels, new_axes

__all__ = ["PathDisplay"]

_PATH = having("a path of softmargin.paths", "coefs", "Cs") | having("one of its exact paths", "breakpoints", "at")
_LOOK = {
    "n_named": integer(0),
    "log": BOOLEAN,
    "mark": NONE | number("a finite number", lambda value: abs(value) < np.inf),
}
_PARAMETERS = {"C": "cost C", "pi": "class weight pi", "v": "balance v"}


def _values_of(ends: tuple[float, float], breakpoints: Any, count: int, log: bool) -> NDArray[np.floating[Any]]:
    """Breakpoints and evenly spaced values between the ends; an open end is drawn a little beyond the last change."""
    knots = np.asarray(breakpoints, dtype=float)
    low, high = ends[0], ends[1] if np.isfinite(ends[1]) else 1.2 * float(knots.max(initial=1.0))
    if log:
        positive = knots[knots > 0]
        low = max(low, 1e-4 * high, 0.5 * float(positive.min(initial=high)))
        even = np.geomspace(low, high, count)
    else:
        even = np.linspace(low, high, count)
    return np.unique(np.concatenate([even, knots[(knots >= low) & (knots <= high)]]).clip(low, high))


class PathDisplay:
    """One line per coefficient against the parameter of a path, the largest ones named.

    Parameters
    ----------
    parameter : ndarray of shape (m,)
        Values of the parameter, increasing or decreasing.
    coefs : ndarray of shape (m, p)
        Coefficients at each value.
    feature_names : sequence of str, optional
        Names of the p features.
    parameter_name : str, default="C"
        Label of the horizontal axis.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> import numpy as np
    >>> from softmargin.plots import PathDisplay
    >>> display = PathDisplay(np.array([0.1, 1, 10]), np.array([[0, 0], [0.5, 0], [1, 0.2]])).plot()
    >>> len(display.lines_)
    2
    """

    def __init__(self, parameter: Any, coefs: Any, feature_names: Any = None, parameter_name: str = "C") -> None:
        self.parameter = finite_numbers("parameter", parameter, None)
        self.coefs = finite_numbers("coefs", coefs, None, None)
        if len(self.coefs) != len(self.parameter):
            raise ValueError(
                f"coefs must have one row per value of parameter ({len(self.parameter)}); got shape {self.coefs.shape}."
            )
        p = self.coefs.shape[1]
        names = [f"x{j}" for j in range(p)] if feature_names is None else feature_names
        self.feature_names = check_named("feature_names", names, p, "features")
        self.parameter_name = parameter_name

    @classmethod
    def from_path(
        cls, path: Any, *, feature_names: Any = None, n_points: int = 200, ax: Any = None, **options: Any
    ) -> PathDisplay:
        """Draw a path of :mod:`softmargin.paths`, exact or on a grid.

        Parameters
        ----------
        path : Path or MarginPath
            A path over features shows a line per feature, a kernel path one per training row.
        feature_names : sequence of str, optional
            Names of the features (or rows).
        n_points : int, default=200
            Values at which an exact path is read, besides its breakpoints.
        ax : matplotlib axes, optional
        **options
            Passed to ``plot``; ``log`` is chosen by the parameter unless it is given.

        Examples
        --------
        >>> import matplotlib; matplotlib.use("Agg")
        >>> from softmargin.datasets import make_sine
        >>> from softmargin.paths import cost_path, weight_path
        >>> from softmargin.plots import PathDisplay
        >>> X, y, _ = make_sine(60, noise=0.8, random_state=0)
        >>> PathDisplay.from_path(weight_path(X, y)).parameter_name
        'class weight pi'
        >>> PathDisplay.from_path(cost_path(X, y, C_max=10), feature_names=["angle", "height"]).ax_.get_xscale()
        'log'
        """
        _PATH.check("path", path)
        integer(1, 10_000).check("n_points", n_points)
        if hasattr(path, "coefs"):
            display = cls(path.Cs, path.coefs, feature_names, _PARAMETERS["C"])
            return display.plot(ax, **({"log": True} | options))
        log = path.parameter == "C"
        values = _values_of(path.range, path.breakpoints, n_points, log)
        coefs = np.array([path.at(t).coef for t in values])
        display = cls(values, coefs, feature_names, _PARAMETERS.get(path.parameter, path.parameter))
        return display.plot(ax, **({"log": log} | options))

    def plot(self, ax: Any = None, *, n_named: int = 8, log: bool = True, mark: float | None = None) -> PathDisplay:
        """Draw the path; ``n_named`` largest coefficients are coloured and named, ``mark`` draws a chosen value."""
        check_each(_LOOK, n_named=n_named, log=log, mark=mark)
        self.ax_ = ax = new_axes(ax, (7.0, 4.4))
        self.figure_ = ax.figure
        if log:
            ax.set_xscale("log")
        named = self._largest(n_named)
        self.lines_: list[Any] = []
        for j in range(self.coefs.shape[1]):
            front = j in named
            colour = class_colour(named.index(j)) if front else "#cbd2d9"
            self.lines_ += ax.plot(
                self.parameter, self.coefs[:, j], color=colour, lw=1.7 if front else 0.8, zorder=3 if front else 2
            )
        ax.axhline(0, color=SOFT, lw=0.8, zorder=1)
        if mark is not None:
            ax.axvline(mark, color=SOFT, lw=0.9, ls="--")
        ax.set_xlabel(self.parameter_name)
        ax.set_ylabel("coefficient")
        ax.margins(x=0.01)
        end = int(np.argmax(self.parameter))
        direct_labels(
            ax,
            self.parameter[end] * 1.06 if log else self.parameter[end] + 0.01 * np.ptp(self.parameter),
            self.coefs[end, named],
            [self.feature_names[j] for j in named],
            [class_colour(i) for i in range(len(named))],
        )
        return self

    def _largest(self, count: int) -> list[int]:
        size: NDArray[Any] = np.abs(self.coefs).max(axis=0)
        return [int(j) for j in np.argsort(-size, kind="stable")[:count] if size[j] > 0]
