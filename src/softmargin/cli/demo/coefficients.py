"""Section: coefficients as C grows, for several losses."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.paths import MarginPath, margin_path
from softmargin.plots import INK, PathDisplay, class_colour, clean, pyplot

__all__ = ["SECTION"]

LOSSES = ("logistic", "coherence", "huberized_hinge", "squared_hinge")


def trace(loss: str) -> MarginPath:
    data = patients()
    return margin_path(data.X, data.y, loss=loss, Cs=100, l1_ratio=0.9, eps=1e-2)


def show(stage: Stage) -> None:
    data, rows, paths = patients(), [], {}
    for loss in LOSSES:
        start = time.perf_counter()
        paths[loss] = path = trace(loss)
        seconds = time.perf_counter() - start
        accuracy = _accuracy(path)
        best = int(np.argmax(accuracy))
        used = np.count_nonzero(path.coefs[best])
        rows.append([loss, accuracy[best], used, f"{seconds * 1000:.0f} ms", path.gaps.max()])
    columns = ["loss", "best test accuracy", "coefficients used there", "100 values of C", "worst certified gap"]
    stage.table(f"elastic net (l1_ratio 0.9) on {len(data.names)} measurements, 15% of labels wrong", columns, rows)
    stage.picture(
        "path",
        _picture(paths),
        "Left: the path of the logistic loss, largest coefficients named. Right: accuracy on clean test labels.",
    )
    stage.code(trace)


def _accuracy(path: MarginPath) -> np.ndarray:
    data = patients()
    labels = path.classes[(path.decision_function(data.X_test) > 0).astype(int)]
    return (labels == data.y_test[:, None]).mean(axis=0)


def _picture(paths: dict[str, MarginPath]) -> Any:
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(13, 4.6), layout="constrained", width_ratios=[1.35, 1])
    path = paths["logistic"]
    PathDisplay(path.Cs, path.coefs, patients().names).plot(left, n_named=8)
    for number, (loss, path) in enumerate(paths.items()):
        right.plot(path.Cs, _accuracy(path), color=class_colour(number), lw=1.6, label=loss.replace("_", " "))
    clean(right).set(xscale="log", xlabel="C", ylabel="accuracy on clean test labels")
    right.legend(frameon=False, fontsize=8.5, loc="lower right")
    left.set_title("logistic loss", fontsize=11, color=INK)
    return figure


SECTION = Section(
    "coefficients",
    15,
    "The whole path of coefficients",
    "From the first C at which a coefficient moves, every smooth loss is followed along the same engine; each point of "
    "the path carries a certified gap.",
    show,
)
