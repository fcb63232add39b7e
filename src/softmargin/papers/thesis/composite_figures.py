"""Figures 4.1 and 4.2: the composite squared loss of three classes, and typical data of the three examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin.datasets import make_gaussians
from softmargin.papers._exhibit import Exhibit, Results
from softmargin.papers._figures import panels
from softmargin.plots import class_colour

__all__ = ["EXHIBITS", "composite_loss"]


def composite_loss(u1: Any, u2: Any, mix: float) -> Any:
    """The loss of three classes as a function of ``u_l = f_y - f_l``: ``f_y = (u1 + u2)/3`` and ``f_l = f_y - u_l``."""
    own = (u1 + u2) / 3
    return mix * (2 - own) ** 2 + (1 - mix) * ((1 + own - u1) ** 2 + (1 + own - u2) ** 2)


def _figure_1(results: Results) -> Any:
    axis = np.linspace(-3, 5, 120)
    u1, u2 = np.meshgrid(axis, axis)
    figure, axes = panels(4, width=3.4, height=3.2)
    axes[0].contourf(u1, u2, (np.minimum(u1, u2) <= 0).astype(float), cmap="Greys")
    axes[0].set_title("0-1 loss")
    for ax, mix in zip(axes[1:], (0.0, 0.5, 1.0), strict=True):
        ax.contourf(u1, u2, composite_loss(u1, u2, mix), levels=15, cmap="viridis")
        ax.set_title(f"mix {mix:g}")
    return figure


def _figure_2(results: Results) -> Any:
    figure, axes = panels(3, width=3.6, height=3.4)
    for ax, (n, k, title) in zip(axes, ((50, 3, "4.5.1.1"), (100, 6, "4.5.1.2"), (100, 4, "4.5.1.3")), strict=True):
        sample = make_gaussians(n, n_classes=k, random_state=0)
        for code in range(k):
            ax.plot(*sample.X[sample.y == code].T, "o", ms=4, color=class_colour(code), alpha=0.8)
        ax.set_title(f"example {title}")
    return figure


EXHIBITS = [
    Exhibit("thesis-figure-4.1", "Figure 4.1: composite squared losses", "", "Closed forms.", draw=_figure_1),
    Exhibit("thesis-figure-4.2", "Figure 4.2: typical data", "", "Standard deviations 1.5, .5 and .5.", draw=_figure_2),
]
