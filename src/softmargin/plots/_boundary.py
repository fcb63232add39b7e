"""Where a classifier changes its mind, and how sure it is, over two features."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import (
    BOOLEAN,
    NONE,
    check_each,
    check_fitted,
    check_labels,
    check_named,
    finite_numbers,
    integer,
    mapping,
    one_of,
    real_numbers,
)
from softmargin._parameters import NONNEGATIVE
from softmargin.plots._style import INK, checked_trust, class_colour, diverging, new_axes

__all__ = ["BoundaryDisplay"]

_LOOK = {
    "levels": BOOLEAN,
    "size": NONNEGATIVE,
    "boundary": NONE | mapping("a dict of options of matplotlib's contour"),
    "key": NONE | BOOLEAN,
}
_PALEST = 0.35  # share of its class colour that a point without any trust keeps


class BoundaryDisplay:
    """Map of class probabilities (or scores) over two features, with the training points.

    Two classes are shown on a diverging scale with the boundary drawn; more classes as a blend of class colours. Points
    pale as trust in their labels falls; below one half they get a dark ring, so that suspected labels stand out.

    Parameters
    ----------
    grid : tuple of two ndarray
        Coordinates along the two features.
    response : ndarray of shape (len(grid[1]), len(grid[0])) or (..., k)
        Probability of ``classes[1]`` or score; one layer per class for more than two.
    classes : ndarray
        Class names.
    kind : {"probability", "score"}
        What ``response`` is.
    feature_names : tuple of two str
        Labels of the axes.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.linear_model import LogisticRegression
    >>> from softmargin.datasets import make_moons
    >>> from softmargin.plots import BoundaryDisplay
    >>> X, y, _ = make_moons(random_state=0)
    >>> display = BoundaryDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> display.kind
    'probability'
    """

    def __init__(
        self,
        grid: tuple[NDArray[Any], NDArray[Any]],
        response: NDArray[Any],
        classes: NDArray[Any],
        kind: str,
        feature_names: tuple[str, str] = ("feature 0", "feature 1"),
    ) -> None:
        one_of("probability", "score").check("kind", kind)
        self.feature_names = tuple(check_named("feature_names", feature_names, 2, "features"))
        across, up = check_named("grid", grid, 2, "features")
        self.grid = finite_numbers("grid", across, None), finite_numbers("grid", up, None)
        self.response = real_numbers("response", response)
        self.classes = np.asarray(check_named("classes", classes, max(len(np.atleast_1d(classes)), 2), "classes"))
        layers = () if len(self.classes) == 2 else (len(self.classes),)
        shape = (len(self.grid[1]), len(self.grid[0]), *layers)
        if self.response.shape != shape:
            raise ValueError(f"response must have shape {shape}; got {self.response.shape}.")
        self.kind = kind

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        response: str = "auto",
        trust: Any = None,
        resolution: int = 200,
        margin: float = 0.06,
        ax: Any = None,
        **options: Any,
    ) -> BoundaryDisplay:
        """Evaluate a fitted classifier over the rectangle around ``X`` and draw it.

        Parameters
        ----------
        estimator : fitted classifier of two features
        X : array-like of shape (n, 2)
            Points that span the picture; drawn if ``y`` is given. The columns of a data frame name the axes.
        y : array-like of shape (n,), optional
            Labels of the points.
        response : {"auto", "probability", "score"}
            "auto" prefers probabilities.
        trust : array-like of shape (n,), optional
            Trust in each label in [0, 1], for instance ``sample_trust_``.
        resolution : int, default=200
            Grid points per side.
        margin : float, default=0.06
            Room around the points, as a share of their range.
        ax : matplotlib axes, optional
        **options
            Passed to ``plot``.
        """
        names = tuple(str(name) for name in getattr(X, "columns", ("feature 0", "feature 1")))
        X = real_numbers("X", X)
        if X.ndim != 2 or X.shape[1] != 2 or not len(X):
            raise ValueError(f"X must have two features to be drawn; got shape {X.shape}.")
        finite_numbers("X", X, None, 2)
        NONNEGATIVE.check("margin", margin)
        kinds = {"probability": "predict_proba", "score": "decision_function"}
        one_of("auto", *kinds).check("response", response)
        integer(2, 5000).check("resolution", resolution)
        check_fitted("estimator", estimator)
        kind = response if response != "auto" else "probability" if hasattr(estimator, "predict_proba") else "score"
        low, high = X.min(axis=0), X.max(axis=0)
        room = margin * np.where(high > low, high - low, 1.0)
        corner, far = low - room, high + room
        grid = np.linspace(corner[0], far[0], resolution), np.linspace(corner[1], far[1], resolution)
        points = np.column_stack([axis.ravel() for axis in np.meshgrid(*grid)])
        values = np.asarray(getattr(estimator, kinds[kind])(points))
        if kind == "probability" and values.shape[1] == 2:
            values = values[:, 1]
        values = values.reshape(resolution, resolution, *values.shape[1:])
        display = cls(grid, values, estimator.classes_, kind, (names[0], names[1]))
        return display.plot(ax, X=X, y=y, trust=trust, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        X: Any = None,
        y: Any = None,
        trust: Any = None,
        levels: bool = True,
        size: float = 20.0,
        boundary: dict[str, Any] | None = None,
        key: bool | None = None,
    ) -> BoundaryDisplay:
        """Draw the map.

        ``levels`` adds the 10% and 90% lines (scores: the margins), ``boundary`` styles the line between classes,
        ``key`` adds the names of the classes and a colour bar (None: where the figure is the display's own).
        """
        check_each(_LOOK, levels=levels, size=size, boundary=boundary, key=key)
        points = None if X is None or y is None else self._points(X, y, trust)
        key = ax is None if key is None else key
        self.ax_ = new_axes(ax, (5.6, 4.6))
        self.figure_ = self.ax_.figure
        style = {"colors": INK, "linewidths": 1.8} | (boundary or {})
        draw = partial(self._draw_two, levels) if self.response.ndim == 2 else self._draw_many
        try:
            draw(style)
        except (AttributeError, TypeError, ValueError) as error:
            if not boundary:
                raise
            raise ValueError(f"boundary={boundary!r} holds what matplotlib's contour does not take: {error}") from error
        if points is not None:
            self._draw_points(*points, size)
        self.ax_.set_xlim(self.grid[0][[0, -1]])
        self.ax_.set_ylim(self.grid[1][[0, -1]])
        self.ax_.set_xlabel(self.feature_names[0])
        self.ax_.set_ylabel(self.feature_names[1])
        if key:
            self._draw_key()
        return self

    def _draw_key(self) -> None:
        """A colour bar for two classes, and the names of the points beside the map, never on it."""
        if self.response.ndim == 2:
            what = f"probability of {self.classes[1]}" if self.kind == "probability" else f"score of {self.classes[1]}"
            self.colorbar_ = self.figure_.colorbar(self.image_, ax=self.ax_, shrink=0.85, pad=0.02)
            self.colorbar_.set_label(what, color=INK, fontsize=9)
            self.colorbar_.outline.set_visible(False)
        handles, labels = self.ax_.get_legend_handles_labels()
        if handles:
            self.ax_.legend(
                handles, labels, frameon=False, fontsize=8.5, ncols=min(len(labels), 4),
                loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.2,
            )  # fmt: skip

    def _draw_two(self, levels: bool, style: dict[str, Any]) -> None:
        z = self.response
        middle, reach = 0.5, 0.5
        if self.kind == "score":
            middle, reach = 0.0, max(1.0, float(np.quantile(np.abs(z), 0.9)))
        self.image_ = self.ax_.imshow(
            z,
            extent=(*self.grid[0][[0, -1]], *self.grid[1][[0, -1]]),
            origin="lower",
            aspect="auto",
            cmap=diverging(),
            vmin=middle - reach,
            vmax=middle + reach,
            alpha=0.6,
            interpolation="bilinear",
        )
        if levels:
            outer = [0.1, 0.9] if self.kind == "probability" else [-1.0, 1.0]
            inside = [level for level in outer if z.min() < level < z.max()]
            if inside:
                quiet = {"colors": INK, "linewidths": 0.8, "linestyles": "dashed", "alpha": 0.7}
                self.ax_.contour(*self.grid, z, levels=inside, **quiet)
        if z.min() < middle < z.max():
            self.ax_.contour(*self.grid, z, levels=[middle], **style)

    def _draw_many(self, style: dict[str, Any]) -> None:
        from matplotlib.colors import to_rgb

        z = self.response
        colours = np.array([to_rgb(class_colour(code)) for code in range(z.shape[-1])])
        k = z.shape[-1]
        share = np.clip(z, 0, 1) if self.kind == "probability" else np.eye(k)[z.argmax(axis=-1)]
        # The hue is that of the leading classes, the strength how far the leader is ahead of a guess.
        hue = share**2 / (share**2).sum(axis=-1, keepdims=True) @ colours
        strength = 0.65 * (share.max(axis=-1, keepdims=True) - 1 / k) / (1 - 1 / k)
        blend = 1 - strength * (1 - hue)
        self.image_ = self.ax_.imshow(
            blend, extent=(*self.grid[0][[0, -1]], *self.grid[1][[0, -1]]), origin="lower", aspect="auto"
        )
        for code in range(z.shape[-1]):
            lead = z[..., code] - np.delete(z, code, axis=-1).max(axis=-1)
            if lead.min() < 0 < lead.max():
                self.ax_.contour(*self.grid, lead, levels=[0.0], **(style | {"linewidths": 1.2}))

    def _points(self, X: Any, y: Any, trust: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Points, their labels and the trust in them, checked; rows left out of a fit have no trust (NaN)."""
        X = finite_numbers("X", X, None, 2)
        return X, check_labels(y, self.classes, len(X)), checked_trust(trust, len(X))

    def _draw_points(self, X: NDArray[Any], y: NDArray[Any], trust: NDArray[Any], size: float) -> None:
        from matplotlib.colors import to_rgb

        strength = _PALEST + (1 - _PALEST) * np.clip(trust, 0, 1)[:, None]
        for code, name in enumerate(self.classes):
            for suspect in (False, True):
                rows = (y == name) & ((trust < 0.5) == suspect)
                if not rows.any():
                    continue
                self.ax_.scatter(
                    *X[rows].T,
                    s=size * (2.2 if suspect else 1.0),
                    c=1 - strength[rows] * (1 - np.array(to_rgb(class_colour(code)))),
                    edgecolors=INK if suspect else "white",
                    linewidths=1.3 if suspect else 0.6,
                    label=f"{name}, not trusted" if suspect else str(name),
                    zorder=4 if suspect else 3,
                )
