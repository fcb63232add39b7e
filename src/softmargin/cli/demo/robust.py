"""Section: a boundary that wrong labels do not bend."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression
from softmargin.cli._stage import Section, Stage
from softmargin.datasets import flip_labels, make_moons
from softmargin.plots import INK, BoundaryDisplay, pyplot

__all__ = ["SECTION"]

DRAWS = 3
RATES = (0.0, 0.1, 0.2)


def classifiers() -> dict[str, Any]:
    flexible: dict[str, Any] = {"C": 30.0, "kernel": "rbf", "gamma": 12.0}
    return {
        "squared hinge": MarginClassifier(loss="squared_hinge", **flexible),
        "RobustSVC, Welsch": RobustSVC(loss="welsch", sigma=0.8, **flexible),
        "RobustSVC, truncated hinge": RobustSVC(loss="truncated_hinge", sigma=1.5, **flexible),
        "truncated logistic": TruncatedLogisticRegression(level=2 * np.log(2), **flexible),
        "scikit-learn SVC": SVC(**flexible),
    }


def show(stage: Stage) -> None:
    rows, shown = [], {}
    for name, model in classifiers().items():
        accuracy, found = np.empty((DRAWS, len(RATES))), np.full((DRAWS, 2), np.nan)
        for draw, column in np.ndindex(accuracy.shape):
            (X, y), test = _moons(draw)
            noisy, wrong = flip_labels(y, RATES[column], random_state=draw)
            accuracy[draw, column] = model.fit(X, noisy).score(*test)
            trust = getattr(model, "sample_trust_", None)
            if column == len(RATES) - 1 and trust is not None:
                found[draw] = wrong[trust < 0.5].mean(), (trust < 0.5)[wrong].mean()
            if (draw, column) == (0, len(RATES) - 1):
                shown[name] = (clone(model).fit(X, noisy), X, noisy, trust)
        precision, recall = found.mean(axis=0)
        rows.append([name, *accuracy.mean(axis=0), "" if np.isnan(recall) else f"{precision:.0%} / {recall:.0%}"])
    columns = ["classifier", *(f"{rate:.0%} flipped" for rate in RATES), "precision / recall of trust < 1/2"]
    stage.table(f"two moons: accuracy on clean test labels, mean of {DRAWS} draws of 200 training rows", columns, rows)
    stage.picture(
        "moons",
        _picture(shown),
        "The same flexible kernel with 20% of the labels flipped. Points pale as the robust machines stop trusting "
        "their labels (ringed below one half), and the boundary does not wrap around them.",
    )
    stage.code(classifiers)


def _moons(draw: int) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    X, y, _ = make_moons(1200, noise=0.15, flip=0.0, random_state=draw)
    return (X[:200], y[:200]), (X[200:], y[200:])


def _picture(shown: dict[str, Any]) -> Any:
    chosen = ("squared hinge", "RobustSVC, Welsch", "truncated logistic")
    figure, axes = pyplot().subplots(1, 3, figsize=(14, 4.5), layout="constrained", sharex=True, sharey=True)
    images = []
    for ax, name in zip(axes, chosen, strict=True):
        model, X, noisy, trust = shown[name]
        look = {"response": "score", "trust": trust, "resolution": 160, "size": 18}
        images.append(BoundaryDisplay.from_estimator(model, X, noisy, ax=ax, **look).image_)
        ax.set_title(name, fontsize=11, color=INK)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    handles, names = axes[1].get_legend_handles_labels()
    figure.legend(
        handles, [f"label {name}" for name in names], frameon=False, fontsize=9, ncols=4, loc="outside lower center"
    )
    reach = float(np.median([image.get_clim()[1] for image in images]))
    for image in images:
        image.set_clim(-reach, reach)
    bar = figure.colorbar(images[0], ax=axes, shrink=0.8, pad=0.01)
    bar.set_label("score, dashed at -1 and 1", color=INK, fontsize=9)
    bar.outline.set_visible(False)
    return figure


SECTION = Section(
    "robust",
    35,
    "A boundary that wrong labels do not bend",
    "Losses that flatten out give up on hopeless points. Each fit is a short sequence of convex ones, and its weights "
    "say which labels it stopped trusting.",
    show,
)
