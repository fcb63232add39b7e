"""Section: the boundary moves with the class weight, and where it passes a point is that point's probability."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.special import expit

from softmargin import ProbabilisticSVC
from softmargin.cli._stage import Section, Stage
from softmargin.datasets import Sample, make_sine
from softmargin.paths import Path, weight_path
from softmargin.plots import INK, class_colour, clean, diverging, pyplot
from softmargin.probability import comparative_gkl

__all__ = ["SECTION"]

NOISE = 0.8
WEIGHTS = np.linspace(0.1, 0.9, 9)


def trace(sample: Sample) -> Path:
    return weight_path(sample.X, sample.y, C=1.0, kernel="rbf", gamma=0.4)


def fit(sample: Sample, engine: str) -> ProbabilisticSVC:
    model = ProbabilisticSVC(C=1.0, kernel="rbf", gamma=0.4, engine=engine, n_weights=50)
    return model.fit(sample.X, sample.y)


def show(stage: Stage) -> None:
    sample = make_sine(300, noise=NOISE, random_state=1)
    start = time.perf_counter()
    path = trace(sample)
    seconds = time.perf_counter() - start
    rows = []
    for weight in WEIGHTS:
        solution = path.at(weight)
        says_yes = (path.decision_function(sample.X, weight) > 0).mean()
        support = np.count_nonzero(np.asarray(solution.dual))
        rows.append([f"{weight:.1f}", says_yes, support, solution.gap])
    columns = ["weight of class -1", "share called +1", "support vectors", "duality gap"]
    stage.table("the exact machine at nine of all possible class weights", columns, rows)
    stage.note(
        f"{len(path.breakpoints)} breakpoints describe the machine at every class weight between 0 and 1; tracing "
        f"them took {seconds:.2f} s for {len(sample.y)} rows."
    )
    test = make_sine(2000, noise=NOISE, random_state=2)
    rows = []
    for engine in ("grid", "path"):
        start = time.perf_counter()
        model = fit(sample, engine)
        p = model.predict_proba(test.X)[:, 1]
        seconds = time.perf_counter() - start
        error = 1 - model.score(test.X, test.y)
        distance = np.abs(p - test.probability).mean()
        rows.append([engine, error, comparative_gkl(test.probability, p), distance, f"{seconds:.2f}s"])
    best = test.probability
    rows.append(["the truth", np.minimum(best, 1 - best).mean(), comparative_gkl(best, best), 0.0, ""])
    columns = ["engine", "test error", "log loss against the truth", "mean |P - truth|", "fit and predict"]
    stage.table("ProbabilisticSVC on 2000 new points", columns, rows)
    stage.picture(
        "boundaries",
        _picture(sample, path, fit(sample, "grid")),
        "Left: the boundary for class weights 0.1 to 0.9. Middle: a point's probability is the weight at which the "
        "boundary passes it. Right: the truth.",
    )
    stage.code(trace, fit)


def _picture(sample: Sample, path: Path, model: ProbabilisticSVC) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import BoundaryNorm, ListedColormap

    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.2), layout="constrained", sharex=True, sharey=True)
    across, up = np.linspace(0, 2 * np.pi, 120), np.linspace(-3.3, 3.3, 120)
    points = np.column_stack([axis.ravel() for axis in np.meshgrid(across, up)])
    scores = path.decision_function(points, WEIGHTS).reshape(len(up), len(across), -1)
    stated = model.predict_proba(points)[:, 1].reshape(len(up), len(across))
    truth = expit(2 * points[:, 1] * (np.sin(points[:, 0]) + 1) / NOISE**2).reshape(len(up), len(across))
    shades = plt.get_cmap("viridis")(np.linspace(0, 0.92, len(WEIGHTS)))
    for code, label in enumerate((-1, 1)):
        axes[0].scatter(*sample.X[sample.y == label].T, s=14, color=class_colour(code), alpha=0.5, linewidths=0)
    for number, shade in enumerate(shades):
        axes[0].contour(across, up, scores[..., number], levels=[0], colors=[shade], linewidths=1.8)
    scale = ListedColormap(shades)
    levels = ScalarMappable(BoundaryNorm(np.linspace(0.05, 0.95, len(WEIGHTS) + 1), scale.N), scale)
    figure.colorbar(levels, ax=axes[0], ticks=WEIGHTS, label="class weight", fraction=0.05)
    _map(axes[1], across, up, stated)
    image = _map(axes[2], across, up, truth)
    figure.colorbar(image, ax=axes[2], label="$P(y = +1)$", fraction=0.05)
    axes[0].set_ylim(up[[0, -1]])
    titles = ("boundaries by class weight", "ProbabilisticSVC", "true probability")
    for ax, title in zip(axes, titles, strict=True):
        clean(ax).set_title(title, fontsize=11, color=INK)
        ax.set_xlabel("$x_1$")
    axes[0].set_ylabel("$x_2$")
    return figure


def _map(ax: Any, across: np.ndarray, up: np.ndarray, probability: np.ndarray) -> Any:
    extent = (across[0], across[-1], up[0], up[-1])
    look = {"cmap": diverging(), "vmin": 0, "vmax": 1, "alpha": 0.75, "interpolation": "bilinear"}
    image = ax.imshow(probability, extent=extent, origin="lower", aspect="auto", **look)
    ax.contour(across, up, probability, levels=[0.1, 0.9], colors=INK, linewidths=0.8, linestyles="dashed")
    ax.contour(across, up, probability, levels=[0.5], colors=INK, linewidths=1.6)
    return image


SECTION = Section(
    "weights",
    40,
    "An SVM with probabilities",
    "Weight one class more and the boundary moves. The exact machine for every class weight comes out of one fit, and "
    "the weight at which the boundary passes a point is the point's class probability: no sigmoid is assumed.",
    show,
)
