"""Figures 1 and 3: the losses, and how fast the objective falls."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin import CoherenceClassifier, losses
from softmargin.datasets import DataNotFound
from softmargin.losses import Coherence
from softmargin.papers._exhibit import Exhibit, Results
from softmargin.papers._figures import loss_curves, panels
from softmargin.papers.coherence.benchmarks import usps_rows
from softmargin.plots import class_colour

__all__ = ["EXHIBITS"]


def _figure_1(results: Results) -> Any:
    figure, axes = panels(3)
    temperatures = (0.01, 0.1, 1.0, 2.0)
    hinge = {"hinge": losses.Hinge().value}
    for ax, scale in zip(axes, ("V", "C"), strict=False):
        curves = {f"temperature {t:g}": Coherence(t, 1.0, scale).value for t in temperatures}
        loss_curves(ax, curves | hinge, (-1.5, 3))
        ax.set_title({"V": "coherence functions V", "C": "C-losses"}[scale])
    others = {"squared hinge": losses.SquaredHinge().value, "C-loss, 1": Coherence(1.0, 1.0, "C").value}
    logistic = {"logistic / log 2": lambda u: losses.Logistic().value(u) / np.log(2)}
    loss_curves(axes[2], others | hinge | logistic, (-1.5, 3))
    axes[2].set_title("beside other losses")
    return figure


def _figure_3(results: Results) -> Any:
    figure, axes = panels(2)
    try:
        X, y = usps_rows("1v7")
    except DataNotFound:
        axes[0].set_title("usps is not in the data directory")
        return figure
    rows = np.random.default_rng(0).permutation(len(y))[:100]
    for ax, kernel in zip(axes, (None, "rbf"), strict=True):
        model = CoherenceClassifier(C=1.0, l1_ratio=0.5, kernel=kernel, gamma="mean").fit(X[rows], y[rows])
        ax.plot(model.solution_.history, "o-", color=class_colour(0), ms=3)
        ax.set(xlabel="step", ylabel="objective", title="features" if kernel is None else "RBF kernel")
    return figure


EXHIBITS = [
    Exhibit("coherence-figure-1", "Figure 1: coherence functions and C-losses", "", "Closed forms.", draw=_figure_1),
    Exhibit(
        "coherence-figure-3",
        "Figure 3: the objective on USPS (1 vs. 7)",
        "",
        "Proximal Newton steps in place of the paper's coordinate descent without step control, which diverges for "
        "small "
        "temperatures (errata).",
        draw=_figure_3,
    ),
]
