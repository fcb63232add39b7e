"""Tables of several classes at a glance: a biplot of rows and features, and a heat map of the features that count.

A biplot draws rows by their first two principal components and features as arrows: the loadings that the components
give them, longest where a feature separates what is drawn. A heat map draws standardised values, rows sorted by class
and by the probability of their class, columns by how they differ between classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import COUNT, check_fitted, check_labels, check_named, finite_numbers, real_numbers
from softmargin.plots._style import INK, SOFT, checked_trust, class_colour, diverging, new_axes

__all__ = ["ClassBiplotDisplay", "HeatMapDisplay"]

Array = NDArray[np.floating[Any]]

_ROOM = 0.85  # of the plot that the longest arrow takes


def _table(X: Any) -> tuple[Array, list[str]]:
    values = real_numbers("X", X)
    if values.ndim != 2 or len(values) < 2 or not np.all(np.isfinite(values)):
        raise ValueError(f"X must be a finite table of at least two rows; got shape {values.shape}.")
    names = [str(name) for name in getattr(X, "columns", [f"x{j}" for j in range(values.shape[1])])]
    largest = np.abs(values).max(axis=0)
    values = values / np.where(largest > 0, largest, 1.0)  # squares of columns of any size stay within doubles
    spread = values.std(axis=0)
    return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0), names


def _one_each(name: str, values: Any, n: int) -> NDArray[Any]:
    found = np.asarray(values)
    if found.shape != (n,):
        raise ValueError(f"{name} must hold one value per row; got shape {found.shape} for {n} rows.")
    return found


def _weights(estimator: Any, X: Array, y: NDArray[Any]) -> Array:
    """How much each feature counts: the length of its coefficients, else its between-class sum of squares."""
    coef = getattr(estimator, "coef_", None)
    if coef is not None and np.shape(coef)[-1] == X.shape[1]:
        return np.linalg.norm(np.atleast_2d(coef), axis=0) * np.where(X.any(axis=0), 1.0, 0.0)
    means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    return means.std(axis=0)


class ClassBiplotDisplay:
    """Rows of several classes and the features that tell them apart, on two principal components.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Rows on the components.
    arrows : ndarray of shape (m, 2)
        Loadings of the features drawn.
    names : sequence of str
        Their names.
    y : ndarray of shape (n,)
        Classes of the rows.
    share : tuple of float
        Share of the variance each component explains.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import CompositeLeastSquaresClassifier
    >>> from softmargin.plots import ClassBiplotDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = ClassBiplotDisplay.from_estimator(CompositeLeastSquaresClassifier().fit(X, y), X, y)
    >>> display.points.shape, len(display.names)
    ((150, 2), 4)
    """

    def __init__(self, points: Array, arrows: Array, names: Any, y: Any, share: tuple[float, float]) -> None:
        self.points = finite_numbers("points", points, None, 2)
        self.arrows = finite_numbers("arrows", arrows, None, 2)
        self.names = check_named("names", names, len(self.arrows), "arrows")
        self.y, self.share = _one_each("y", y, len(self.points)), tuple(finite_numbers("share", share, 2))

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, most: int = 8, trust: Any = None, ax: Any = None
    ) -> ClassBiplotDisplay:
        """Draw the rows and the ``most`` weighty features of a fitted classifier; ``trust`` rings rows below 1/2."""
        COUNT.check("most", most)
        check_fitted("estimator", estimator)
        values, names = _table(X)
        y = check_labels(y, estimator.classes_, len(values))
        U, size, V = np.linalg.svd(values, full_matrices=False)
        two = min(2, len(size))
        points, loadings = np.zeros((len(values), 2)), np.zeros((values.shape[1], 2))
        points[:, :two], loadings[:, :two] = U[:, :two] * size[:two], V[:two].T
        chosen = np.argsort(-_weights(estimator, values, y), kind="stable")[:most]
        shares = np.zeros(2)
        shares[:two] = np.square(size[:two]) / max(float(np.square(size).sum()), 1e-300)
        display = cls(points, loadings[chosen], [names[j] for j in chosen], y, (float(shares[0]), float(shares[1])))
        return display.plot(ax, trust=trust)

    def plot(self, ax: Any = None, *, trust: Any = None) -> ClassBiplotDisplay:
        """Draw rows in the colours of their classes, arrows for features."""
        self.ax_ = ax = new_axes(ax, (6.4, 5.2))
        self.figure_ = ax.figure
        for code, label in enumerate(np.unique(self.y)):
            rows = self.y == label
            ax.scatter(*self.points[rows].T, s=18, color=class_colour(code), linewidths=0, alpha=0.8, label=str(label))
        if trust is not None:
            doubted = checked_trust(trust, len(self.points)) < 0.5
            ax.scatter(*self.points[doubted].T, s=60, facecolors="none", edgecolors=INK, label="not trusted")
        reach = float(np.abs(self.points).max()) or 1.0
        scale = _ROOM * reach / (float(np.linalg.norm(self.arrows, axis=1).max(initial=0.0)) or 1.0)
        for (x, z), name in zip(self.arrows * scale, self.names, strict=True):
            ax.annotate("", (x, z), (0, 0), arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.1})
            ax.annotate(name, (x, z), fontsize=8.5, color=INK, ha="left" if x >= 0 else "right")
        ax.axhline(0, color=SOFT, lw=0.5)
        ax.axvline(0, color=SOFT, lw=0.5)
        ax.set_xlabel(f"first component ({self.share[0]:.0%} of the variance)")
        ax.set_ylabel(f"second component ({self.share[1]:.0%})")
        ax.legend(frameon=False, fontsize=8.5, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
        return self


class HeatMapDisplay:
    """Standardised values of the features that count, rows sorted by class.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        Standardised values, sorted.
    names : sequence of str
        The features.
    y : ndarray of shape (n,)
        Classes in the order of the rows.
    rows : ndarray of shape (n,)
        Their numbers in the table given.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from softmargin import CompositeLeastSquaresClassifier
    >>> from softmargin.plots import HeatMapDisplay
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> HeatMapDisplay.from_estimator(CompositeLeastSquaresClassifier().fit(X, y), X, y, most=3).values.shape
    (150, 3)
    """

    def __init__(self, values: Array, names: Any, y: Any, rows: NDArray[np.intp]) -> None:
        self.values = finite_numbers("values", values, None, None)
        self.names = check_named("names", names, self.values.shape[1], "columns of values")
        self.y, self.rows = (_one_each(name, part, len(self.values)) for name, part in (("y", y), ("rows", rows)))

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, most: int = 40, ax: Any = None) -> HeatMapDisplay:
        """Draw the ``most`` weighty features, rows by class and, within it, by the probability of their class."""
        COUNT.check("most", most)
        check_fitted("estimator", estimator)
        values, names = _table(X)
        y = check_labels(y, estimator.classes_, len(values))
        chosen = np.argsort(-_weights(estimator, values, y), kind="stable")[:most]
        codes = np.searchsorted(estimator.classes_, y)
        sure = np.zeros(len(y))
        if hasattr(estimator, "predict_proba"):
            sure = np.asarray(estimator.predict_proba(X))[np.arange(len(y)), codes]
        rows = np.lexsort((-sure, codes))
        return cls(values[np.ix_(rows, chosen)], [names[j] for j in chosen], y[rows], rows).plot(ax)

    def plot(self, ax: Any = None) -> HeatMapDisplay:
        """Draw the values, low and high in two colours, with a line between classes."""
        self.ax_ = ax = new_axes(ax, (0.8 + 0.22 * len(self.names), 5.2))
        self.figure_ = ax.figure
        self.image_ = ax.imshow(self.values, aspect="auto", cmap=diverging(), vmin=-2.5, vmax=2.5)
        ax.set_xticks(np.arange(len(self.names)), self.names, rotation=90, fontsize=7.5)
        changes = np.flatnonzero(self.y[1:] != self.y[:-1]) + 0.5
        for at in changes:
            ax.axhline(at, color=INK, lw=1.2)
        ends = np.r_[-0.5, changes, len(self.y) - 0.5]
        middles = (ends[:-1] + ends[1:]) / 2
        ax.set_yticks(middles, [str(self.y[int(np.ceil(at))]) for at in middles])
        return self
