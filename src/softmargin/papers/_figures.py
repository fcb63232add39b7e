"""Pictures that several exhibits share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from softmargin.papers._exhibit import Cell, Results
from softmargin.plots import INK, class_colour, clean, pyplot

__all__ = ["boundary", "curves_by_mix", "loss_curves", "panels"]


def panels(count: int, *, width: float = 4.6, height: float = 3.8) -> tuple[Any, list[Any]]:
    """A figure with a row of clean axes."""
    figure, axes = pyplot().subplots(1, count, figsize=(width * count, height), layout="constrained", squeeze=False)
    return figure, [clean(ax) for ax in axes[0]]


def curves_by_mix(results: Results, published: Mapping[str, Mapping[str, Cell]], mixes: ArrayLike) -> Any:
    """Error against mix for every part, published numbers as points; errors of probabilities beside it."""
    figure, (left, right) = panels(2)
    for number, part in enumerate(results):
        colour = class_colour(number)
        for ax, beginning in ((left, "mix"), (right, "probability")):
            values = [results[part].get(f"{beginning} {mix:.1f}") for mix in np.asarray(mixes)]
            if all(values):
                ax.plot(mixes, [float(np.mean(value)) for value in values if value], color=colour, lw=1.8, label=part)
        cells = [published[part].get(f"mix {mix:.1f}") for mix in np.asarray(mixes)]
        left.plot(mixes, [np.nan if cell is None else cell.value for cell in cells], "o", color=colour, ms=4, alpha=0.6)
    left.set(xlabel="mix", ylabel="test error", title="lines ours, points published")
    right.set(xlabel="mix", ylabel="mean |P - estimate|", title="class probabilities")
    left.legend(frameon=False, fontsize=8)
    return figure


def loss_curves(ax: Any, losses: Mapping[str, Any], span: tuple[float, float] = (-3, 3)) -> None:
    """Values of losses (functions of the margin) over a range, one colour each."""
    u = np.linspace(*span, 601)
    for number, (name, value) in enumerate(losses.items()):
        ax.plot(u, value(u), color=class_colour(number), lw=1.7, label=name)
    ax.set(xlabel="margin u", ylabel="loss")
    ax.legend(frameon=False, fontsize=8)


def boundary(ax: Any, sample: Any, models: Mapping[str, Any], title: str, *, legend: bool = True) -> None:
    """Rows of two classes in the plane and where each model changes its mind."""
    for code, label in enumerate((-1, 1)):
        ax.scatter(*sample.X[sample.y == label].T, s=9, color=class_colour(code), alpha=0.55, linewidths=0)
    low, high = sample.X.min(axis=0) - 0.05, sample.X.max(axis=0) + 0.05
    first, second = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 120))
    points = np.column_stack([first.ravel(), second.ravel()])
    for number, (name, model) in enumerate(models.items()):
        colour = (INK, class_colour(2), class_colour(3), class_colour(4))[number]
        score = model.decision_function(points).reshape(first.shape)
        ax.contour(first, second, score, levels=[0], colors=[colour], linewidths=1.5)
        ax.plot([], [], color=colour, label=name)
    ax.set(title=title, xticks=[], yticks=[])
    if legend:
        ax.legend(frameon=False, fontsize=8, loc="upper right")
