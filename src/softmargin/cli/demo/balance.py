"""Section: from the support vector machine to the bounded constraint machine by one balance."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from softmargin.cli._stage import Section, Stage
from softmargin.datasets import Sample, make_square
from softmargin.paths import Path, balance_path
from softmargin.plots import INK, SOFT, class_colour, clean, pyplot

__all__ = ["SECTION"]

BALANCES = (0.0, 0.1, 0.5, 1.0, 5.0, 50.0)


def trace(sample: Sample) -> Path:
    return balance_path(sample.X, sample.y, C=2.0)


def show(stage: Stage) -> None:
    sample, test = make_square(100, flip=0.05, random_state=3), make_square(20000, flip=0.05, random_state=4)
    start = time.perf_counter()
    path = trace(sample)
    seconds = time.perf_counter() - start
    rows = []
    for v in BALANCES:
        solution = path.at(v)
        margins = sample.y * path.decision_function(sample.X, v)
        error = (np.sign(path.decision_function(test.X, v)) != test.y).mean()
        rows.append([v, error, solution.coef[0], solution.coef[1], solution.intercept, int((margins > 1).sum())])
    columns = ["balance", "test error", "coefficient 1", "coefficient 2", "intercept", "rows with margin above 1"]
    stage.table("square example, 5% of labels wrong (Bayes error 0.05); balance 0 is the SVM", columns, rows)
    stage.note(
        f"{len(path.breakpoints)} breakpoints hold the exact machine for every balance from 0 to infinity "
        f"({seconds * 1000:.0f} ms). As the balance grows rows far on the right side count too, so the boundary "
        "depends on all the data instead of a few rows next to it."
    )
    stage.picture(
        "path",
        _picture(sample, test, path),
        "Left: boundaries as the balance grows (dashed: the best one). Right: coefficients and test error along the "
        "exact path; ticks at the top are breakpoints.",
    )
    stage.code(trace)


def _picture(sample: Sample, test: Sample, path: Path) -> Any:
    plt = pyplot()
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13.5, 4.1), layout="constrained")
    shades = plt.get_cmap("viridis")(np.linspace(0, 0.92, len(BALANCES)))
    for code, label in enumerate((-1, 1)):
        left.scatter(*sample.X[sample.y == label].T, s=16, color=class_colour(code), alpha=0.6, linewidths=0)
    reach = np.array([-1.5, 1.5])
    left.plot(reach, -reach, color=INK, lw=1, ls="--")
    for v, shade in zip(BALANCES, shades, strict=True):
        solution = path.at(v)
        line = -(solution.intercept + solution.coef[0] * reach) / solution.coef[1]
        left.plot(reach, line, color=shade, lw=1.8, label=f"{v:g}")
    left.set(xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), xlabel="$x_1$", ylabel="$x_2$", aspect="equal", title="boundaries")
    left.legend(title="balance", frameon=False, fontsize=8, title_fontsize=8.5, loc="upper right", handlelength=1.3)
    inside = path.breakpoints[(path.breakpoints > 0) & (path.breakpoints < 200)]
    values = np.unique(np.concatenate([np.geomspace(0.01, 200, 150), inside]))
    solutions = [path.at(v) for v in values]
    curves = {"coefficient 1": [s.coef[0] for s in solutions], "coefficient 2": [s.coef[1] for s in solutions]}
    curves["intercept"] = [s.intercept for s in solutions]
    for number, (name, curve) in enumerate(curves.items()):
        middle.plot(values, curve, color=class_colour(number), lw=1.7, label=name)
    errors = (np.sign(path.decision_function(test.X, values)) != test.y[:, None]).mean(axis=0)
    right.plot(values, errors, color=INK, lw=1.6)
    right.axhline(0.05, color=SOFT, lw=0.9, ls="--")
    right.annotate("Bayes error", (0.012, 0.0503), color=SOFT, fontsize=8.5)
    middle.legend(frameon=False, fontsize=8.5)
    for ax, title in ((middle, "the exact path"), (right, "test error along it")):
        ax.set(xscale="log", xlabel="balance")
        ax.set_title(title, pad=10)
        ticks = {"color": SOFT, "markersize": 6, "transform": ax.get_xaxis_transform(), "clip_on": False}
        ax.plot(inside, np.full(len(inside), 1.0), "|", **ticks)
    for ax in (left, middle, right):
        clean(ax).title.set(fontsize=11, color=INK)
    return figure


SECTION = Section(
    "balance",
    45,
    "From the SVM to the bounded constraint machine",
    "The balancing SVM also listens to rows beyond the margin. Its path over the balance is exact.",
    show,
)
