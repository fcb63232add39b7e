"""One look for every picture: colours that survive colour blindness, thin axes, no boxes.

Plots follow scikit-learn's conventions: a ``Display`` holds the numbers, ``from_estimator`` computes them, ``plot(ax)``
draws them and leaves ``ax_`` and ``figure_`` behind. Matplotlib is imported when something is drawn, not before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin._constraints import AXES, integer, real_numbers

__all__ = [
    "CLASS_COLOURS",
    "INK",
    "SOFT",
    "checked_trust",
    "class_colour",
    "clean",
    "direct_labels",
    "diverging",
    "new_axes",
    "pyplot",
]

INK = "#1f2933"
SOFT = "#7b8794"
_COLOURS = "#1b6ca8 #d55e00 #2a9d6f #b5489b #c9a227 #56b4e9 #7b4f2e #5f6b7a #8f1d3f #3a3a8c"
CLASS_COLOURS = tuple(_COLOURS.split())


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'softmargin[plot]'.") from error
    return plt


def new_axes(ax: Any = None, size: tuple[float, float] = (6.0, 4.2)) -> Any:
    """The axes given, or those of a new figure, cleaned."""
    if ax is None:
        _, ax = pyplot().subplots(figsize=size, layout="constrained")
    return clean(ax)


def clean(ax: Any) -> Any:
    """Two thin axes, quiet ticks, no box."""
    AXES.check("ax", ax)
    ax.spines[["top", "right"]].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(SOFT)
        ax.spines[side].set_linewidth(0.8)
    ax.tick_params(colors=INK, width=0.8, length=3, labelsize=9)
    return ax


def checked_trust(trust: Any, n: int) -> Any:
    """The trust in each of ``n`` labels, one where none is given or a row was left out of the fit (NaN)."""
    found = np.ones(n) if trust is None else real_numbers("trust", trust)
    if found.shape != (n,):
        raise ValueError(f"trust must hold one number per row; got shape {found.shape} for {n} rows.")
    return np.where(np.isnan(found), 1.0, found)


def class_colour(code: int) -> str:
    """The colour of class number ``code``, the same in every picture."""
    integer(0).check("code", code)
    return CLASS_COLOURS[code % len(CLASS_COLOURS)]


def diverging(low: str = CLASS_COLOURS[0], high: str = CLASS_COLOURS[1]) -> Any:
    """A colour map from one class to the other through white."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("softmargin", [low, "#f7f7f7", high])


def direct_labels(ax: Any, x: float, heights: Any, labels: Any, colours: Any, least_gap: float = 0.045) -> None:
    """Names at the ends of lines, moved apart so that none hides another; ``least_gap`` is a share of the y range."""
    heights = np.asarray(heights, dtype=float)
    low, high = ax.get_ylim()
    gap = least_gap * (high - low)
    order = np.argsort(heights)
    placed = heights[order].copy()
    for _ in range(200):
        overlap = gap - np.diff(placed)
        if (overlap <= 1e-9).all():
            break
        for i in np.flatnonzero(overlap > 0):
            placed[i] -= overlap[i] / 2
            placed[i + 1] += overlap[i] / 2
    for position, i in zip(placed, order, strict=True):
        ax.annotate(
            labels[i],
            (x, heights[i]),
            xytext=(x, position),
            textcoords="data",
            va="center",
            ha="left",
            fontsize=8.5,
            color=colours[i],
            annotation_clip=False,
        )
