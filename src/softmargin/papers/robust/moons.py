"""Figures 1 to 5: two moons with 10% of the labels flipped, and the losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin import MarginClassifier, RobustSVC, losses
from softmargin.datasets import Sample, make_moons
from softmargin.papers._exhibit import Exhibit, Results
from softmargin.papers._figures import boundary, loss_curves, panels
from softmargin.papers.conventions import gamma_of_double_width

__all__ = ["EXHIBITS"]

_SHARED: dict[str, Any] = {"kernel": "rbf", "gamma": float(gamma_of_double_width(0.1)), "C": 5.0}
_ROUNDS = (0, 1, 2, 3, 5, 9)


def _moons() -> tuple[Sample, Sample]:
    """The same rows with clean and with flipped labels."""
    return make_moons(200, flip=0.0, random_state=3), make_moons(200, flip=0.1, random_state=3)


def _plain(sample: Sample) -> Any:
    return MarginClassifier(loss="squared_hinge", **_SHARED).fit(sample.X, sample.y)


def _figure_1(results: Results) -> Any:
    clean_rows, noisy = _moons()
    figure, (left, right) = panels(2)
    boundary(left, clean_rows, {"L2-SVM": _plain(clean_rows)}, "clean labels")
    boundary(right, noisy, {"L2-SVM": _plain(noisy)}, "10% flipped")
    return figure


def _figure_2(results: Results) -> Any:
    clean_rows, noisy = _moons()
    figure, (left, right) = panels(2)
    robust = RobustSVC(sigma=1.0, probability=False, **_SHARED).fit(noisy.X, noisy.y)
    boundary(left, clean_rows, {"L2-SVM": _plain(clean_rows)}, "clean labels")
    boundary(right, noisy, {"L2-SVM": _plain(noisy), "RSVC": robust}, "10% flipped")
    return figure


def _figure_3(results: Results) -> Any:
    figure, (left, right) = panels(2)
    loss_curves(left, {"hinge": losses.Hinge().value, "truncated hinge": losses.TruncatedHinge(0.0).value})
    logistic = losses.TruncatedLogistic(2 * np.log(2))
    loss_curves(right, {"logistic": losses.Logistic().value, "truncated logistic": logistic.value})
    return figure


def _figure_4(results: Results) -> Any:
    figure, axes = panels(2)
    for ax, kind in zip(axes, (losses.Cauchy, losses.Welsch), strict=True):
        loss_curves(ax, {f"sigma = {sigma}": kind(sigma).value for sigma in (0.4, 0.6, 1.0, 2.0)})
        ax.set_title(kind.__name__)
    return figure


def _figure_5(results: Results) -> Any:
    """The classifier after each reweighting: rows far on the wrong side lose their weight exp(-s^2)."""
    clean_rows, noisy = _moons()
    reference = _plain(clean_rows)
    figure, axes = panels(len(_ROUNDS), width=2.9, height=2.7)
    weights = np.ones(len(noisy.y))
    for number in range(max(_ROUNDS) + 1):
        model = MarginClassifier(loss="squared_hinge", **_SHARED).fit(noisy.X, noisy.y, sample_weight=weights)
        residual = np.maximum(0, 1 - noisy.y * model.decision_function(noisy.X))
        weights = np.exp(-(residual**2))
        if number in _ROUNDS:
            ax = axes[_ROUNDS.index(number)]
            boundary(ax, noisy, {"clean L2-SVM": reference, "round": model}, f"round {number}", legend=False)
    return figure


_DATA = "200 rows, kernel width .1, C = 10, sigma = 1 (the paper tunes on the test rows and names no generator)."
EXHIBITS = [
    Exhibit("robust-figure-1", "Figure 1: L2-SVM on two moons, clean and flipped", "", _DATA, draw=_figure_1),
    Exhibit("robust-figure-2", "Figure 2: RSVC beside L2-SVM", "", _DATA, draw=_figure_2),
    Exhibit("robust-figure-3", "Figure 3: truncated losses", "", "Closed forms.", draw=_figure_3),
    Exhibit("robust-figure-4", "Figure 4: smooth robust losses", "", "Closed forms.", draw=_figure_4),
    Exhibit(
        "robust-figure-5", "Figure 5: the classifier after each round", "", f"{_DATA} Dark: clean data.", draw=_figure_5
    ),
]
