"""Section: many classes at once, with probabilities in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from softmargin import CompositeLeastSquaresClassifier, MulticategorySVC
from softmargin.cli._stage import Section, Stage
from softmargin.datasets import DataNotFound, Sample, load, make_gaussians
from softmargin.plots import INK, BoundaryDisplay, class_colour, clean, pyplot

__all__ = ["SECTION"]

MIXES = (0.0, 0.5, 1.0)


def fit(sample: Sample, mix: float) -> CompositeLeastSquaresClassifier:
    return CompositeLeastSquaresClassifier(mix=mix, C="auto", kernel="rbf", gamma=0.1).fit(sample.X, sample.y)


def simultaneous(sample: Sample, method: str) -> MulticategorySVC:
    return MulticategorySVC(method, C=1.0, kernel="rbf", gamma=0.1).fit(sample.X, sample.y)


def show(stage: Stage) -> None:
    sample, test = make_gaussians(150, random_state=0), make_gaussians(20000, random_state=1)
    models = [fit(sample, mix) for mix in MIXES]
    rows = []
    for mix, model in zip(MIXES, models, strict=True):
        p = model.predict_proba(test.X)
        error, distance = 1 - model.score(test.X, test.y), np.abs(p - test.probability).mean()
        rows.append([f"{mix:g}", model.C_, error, log_loss(test.y, p), distance])
    p = test.probability
    rows.append(["truth", "", (p.argmax(axis=1) != test.y).mean(), log_loss(test.y, p), 0.0])
    columns = ["mix", "C by leave-one-out", "test error", "test log loss", "mean |P - truth|"]
    stage.table("three Gaussian classes, 150 training rows", columns, rows)
    stage.picture(
        "maps",
        _maps(sample, models),
        "Class probabilities as a blend of class colours, for three mixes of own-class and other-class errors.",
    )
    rows = []
    for method in ("reinforced", "lee_lin_wahba", "weston_watkins", "crammer_singer"):
        machine = simultaneous(sample, method)
        finds = f"{machine.fisher_consistent_region(test.probability).mean():.1%}"
        rows.append([method, 1 - machine.score(test.X, test.y), finds, machine.solution_.gap])
    columns = ["machine", "test error", "points where its target is the best class", "certified gap"]
    stage.table("simultaneous support vector machines on the same rows (rbf kernel)", columns, rows)
    name, names, bars = _real()
    stage.note(name)
    stage.picture("bars", _bars(names, *bars), "Predicted class probabilities of each test sample, by true class.")
    stage.code(fit, simultaneous, leukaemia)


def leukaemia() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Classes, test probabilities and test labels of the official split, on the 40 genes that separate best.

    Intensities are limited to [100, 16000] and taken as logarithms, as is usual for these chips.
    """
    data = load("leukemia_golub", encode=True, download=False)
    (X, y), (X_test, y_test) = data.part("train"), data.part("test")
    X, X_test = (np.log10(np.clip(part, 100, 16000)) for part in (X, X_test))
    genes = np.argsort(-_separation(X, y))[:40]
    centre, spread = X[:, genes].mean(axis=0), X[:, genes].std(axis=0)
    model = CompositeLeastSquaresClassifier(mix=0.5, C="auto").fit((X[:, genes] - centre) / spread, y)
    return list(model.classes_), model.predict_proba((X_test[:, genes] - centre) / spread), y_test


def wine() -> tuple[list[str], np.ndarray, np.ndarray]:
    """The same for wine, every third row held out."""
    data = load("wine", standardize=True)
    test, y = np.arange(len(data.X)) % 3 == 0, np.asarray(data.y)
    model = CompositeLeastSquaresClassifier(mix=0.5, C="auto").fit(data.X[~test], y[~test])
    return list(model.classes_), model.predict_proba(data.X[test]), y[test]


def _real() -> tuple[str, list[str], tuple[np.ndarray, np.ndarray]]:
    try:
        what, (names, p, y) = "leukaemia, official split, 40 of 7129 genes", leukaemia()
    except DataNotFound:
        what, (names, p, y) = "wine (leukemia_golub is not in the data directory)", wine()
    wrong = (np.array(names)[p.argmax(axis=1)] != y).sum()
    return f"{what}: {wrong} of {len(y)} test samples misclassified.", names, (p, y)


def _separation(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Between-class over within-class sum of squares of every column."""
    means = {name: X[y == name].mean(axis=0) for name in np.unique(y)}
    between = sum((y == name).sum() * (mean - X.mean(axis=0)) ** 2 for name, mean in means.items())
    within = sum(((X[y == name] - mean) ** 2).sum(axis=0) for name, mean in means.items())
    return np.where(within > 0, between / np.where(within > 0, within, 1), 0)


def _maps(sample: Sample, models: list[CompositeLeastSquaresClassifier]) -> Any:
    figure, axes = pyplot().subplots(1, 3, figsize=(13, 4.4), layout="constrained", sharex=True, sharey=True)
    for ax, mix, model in zip(axes, MIXES, models, strict=True):
        BoundaryDisplay.from_estimator(model, sample.X, sample.y, ax=ax, resolution=160, size=14)
        ax.set_title(f"mix = {mix:g}", fontsize=11, color=INK)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, [f"class {name}" for name in names], frameon=False, ncols=3, fontsize=9.5, loc="outside lower center"
    )
    return figure


def _bars(names: list[str], p: np.ndarray, y: np.ndarray) -> Any:
    figure, ax = pyplot().subplots(figsize=(13, 3.0), layout="constrained")
    codes = np.searchsorted(names, y)
    order = np.lexsort((-p[np.arange(len(y)), codes], codes))
    place = np.arange(len(y)) + 1.5 * codes[order]
    base = np.zeros(len(y))
    for code, name in enumerate(names):
        ax.bar(place, p[order, code], bottom=base, width=0.86, color=class_colour(code), label=name)
        base += p[order, code]
    for code, name in enumerate(names):
        here = place[codes[order] == code]
        ax.text(here.mean(), 1.04, f"truly {name}", ha="center", fontsize=10, color=class_colour(code))
    clean(ax).set(xticks=[], ylim=(0, 1.12), ylabel="probability", yticks=[0, 0.5, 1])
    ax.spines["bottom"].set_visible(False)
    ax.margins(x=0.01)
    ax.legend(frameon=False, ncols=len(names), fontsize=9, loc="upper center", bbox_to_anchor=(0.5, -0.02))
    return figure


SECTION = Section(
    "multicategory",
    50,
    "Many classes at once",
    "Composite least squares fits all classes together in closed form, gives class probabilities for every mix of "
    "own-class and other-class errors, and chooses C by exact leave-one-out without refitting.",
    show,
)
