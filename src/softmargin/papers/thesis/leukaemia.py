"""Figures 2.6, 2.7, 4.6 and 4.7: leukaemia with 40 genes screened by between over within variation."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from softmargin import CompositeLeastSquaresClassifier, MarginClassifier, TruncatedLogisticRegression
from softmargin.datasets import DataNotFound, load
from softmargin.papers._exhibit import Exhibit, Results
from softmargin.papers._figures import panels
from softmargin.papers._protocol import between_within_ratio
from softmargin.papers._scores import Array
from softmargin.plots import class_colour, diverging, pyplot

__all__ = ["EXHIBITS", "screened"]

_GENES = 40


def screened(target: str | None) -> tuple[Array, NDArray[Any], NDArray[np.bool_]]:
    """The 40 genes of largest BSS/WSS among the training rows, standardised by them; labels; training rows."""
    data = load("leukemia_golub", target=target, download=False)
    X, y, train = data.X.to_numpy(dtype=float), np.asarray(data.y), np.asarray(data.split == "train")
    kept = np.argsort(between_within_ratio(X[train], y[train]))[::-1][:_GENES]
    X = X[:, kept]
    return (X - X[train].mean(axis=0)) / X[train].std(axis=0), y, train


def _missing(error: DataNotFound) -> Any:
    figure, (ax,) = panels(1)
    ax.set_title("leukemia_golub is not in the data directory")
    return figure


def _heat_maps(target: str | None) -> Any:
    try:
        X, y, train = screened(target)
    except DataNotFound as error:
        return _missing(error)
    figure, axes = pyplot().subplots(1, 2, figsize=(9, 4.5), layout="constrained")
    for ax, rows, title in zip(axes, (train, ~train), ("training rows", "test rows"), strict=True):
        order = np.argsort(y[rows], kind="stable")
        ax.imshow(X[rows][order].T, cmap=diverging(), vmin=-2.5, vmax=2.5, aspect="auto")
        edges = np.flatnonzero(np.diff(np.unique(y[rows][order], return_inverse=True)[1])) + 0.5
        for edge in edges:
            ax.axvline(edge, color="black", lw=0.8)
        ax.set(title=f"{title}: {', '.join(np.unique(y))}", yticks=[], xticks=[])
    return figure


def _figure_6(results: Results) -> Any:
    return _heat_maps("target_binary")


def _figure_7(results: Results) -> Any:
    """Probabilities against scores of PLR and of RPLR at t = 2 log 2 (scheme 3)."""
    try:
        X, y, train = screened("target_binary")
    except DataNotFound as error:
        return _missing(error)
    figure, axes = panels(2)
    models = {"PLR": MarginClassifier(C=0.1), "RPLR, t = 2 log 2": TruncatedLogisticRegression(C=0.1, scheme=3)}
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        model.fit(X[train], y[train])
        scores = model.decision_function(X)
        p = expit(scores) if name == "PLR" else model.predict_proba(X)[:, 1]
        for code, label in enumerate(np.unique(y)):
            for rows, marker in ((train, "o"), (~train, "s")):
                chosen = rows & (y == label)
                ax.plot(scores[chosen], p[chosen], marker, color=class_colour(code), ms=5, alpha=0.6)
        wrong = int((model.predict(X[~train]) != y[~train]).sum())
        ax.set(title=f"{name}: {wrong} test errors", xlabel="score", ylabel="P(AML)")
    return figure


def _figure_46(results: Results) -> Any:
    """Probabilities of three classes for every test row, for three mixes."""
    try:
        X, y, train = screened(None)
    except DataNotFound as error:
        return _missing(error)
    figure, axes = panels(3, width=4.2, height=2.8)
    for ax, mix in zip(axes, (0.0, 0.5, 1.0), strict=True):
        model = CompositeLeastSquaresClassifier(mix, C="auto", penalize_intercept=True).fit(X[train], y[train])
        order = np.argsort(y[~train], kind="stable")
        p = model.predict_proba(X[~train])[order]
        bottom = np.zeros(len(p))
        for k, label in enumerate(model.classes_):
            ax.bar(range(len(p)), p[:, k], bottom=bottom, color=class_colour(k), width=1.0, label=str(label))
            bottom += p[:, k]
        wrong = int((model.predict(X[~train]) != y[~train]).sum())
        ax.set(title=f"mix {mix:g}: {wrong} test errors", xlabel="test row", ylim=(0, 1))
    axes[0].legend(frameon=False, fontsize=7)
    return figure


def _figure_47(results: Results) -> Any:
    return _heat_maps(None)


_DATA = "38 rows to train, 34 to test; 40 genes by BSS/WSS of the training rows, standardised."
EXHIBITS = [
    Exhibit("thesis-figure-2.6", "Figure 2.6: heat maps of two classes", "", _DATA, draw=_figure_6),
    Exhibit(
        "thesis-figure-2.7",
        "Figure 2.7: probabilities against scores (published: two test errors of both)",
        "",
        f"{_DATA} lambda = 10 for both; circles train, squares test.",
        draw=_figure_7,
    ),
    Exhibit(
        "thesis-figure-4.6",
        "Figure 4.6: class probabilities of the test rows (published: at most one error)",
        "",
        f"{_DATA} lambda by leave-one-out in place of five folds.",
        draw=_figure_46,
    ),
    Exhibit("thesis-figure-4.7", "Figure 4.7: heat maps of three classes", "", _DATA, draw=_figure_47),
]
