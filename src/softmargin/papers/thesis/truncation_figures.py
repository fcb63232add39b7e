"""Figures 2.1 to 2.3, 2.5 and 2.8: truncated losses, an outlier, what a truncated score can tell, boundaries."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin import MarginClassifier, TruncatedLogisticRegression, losses
from softmargin.datasets import Sample, make_disk
from softmargin.papers._exhibit import Exhibit, Results
from softmargin.papers._figures import boundary, loss_curves, panels
from softmargin.plots import class_colour

__all__ = ["EXHIBITS"]

_LEVEL = 2 * np.log(2)


def _figure_1(results: Results) -> Any:
    """Hinge and logistic loss as their truncated forms plus what is cut off, and other robust losses."""
    figure, (left, middle, right) = panels(3)
    hinge, cut = losses.Hinge(), losses.TruncatedHinge(0.0)
    rest = {"hinge": hinge.value, "cut off": lambda u: hinge.value(u) - cut.value(u), "truncated": cut.value}
    loss_curves(left, rest)
    logistic, capped = losses.Logistic(), losses.TruncatedLogistic(_LEVEL)
    rest = {"logistic": logistic.value, "cut off": lambda u: logistic.value(u) - capped.value(u)}
    loss_curves(middle, rest | {"truncated": capped.value})
    others = {
        "truncated": capped.value,
        "Pregibon": losses.Pregibon(1.345**2).value,
        "Bianco-Yohai": losses.BiancoYohai(0.5).value,
        "Croux-Haesbroeck": losses.CrouxHaesbroeck(0.5).value,
        "Copas": losses.Copas(0.02).value,
    }
    loss_curves(right, others, (-6, 3))
    return figure


def _figure_2(results: Results) -> Any:
    """One far row of the wrong class turns logistic regression and not its truncated form."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal((-1.5, 0), 0.5, (30, 2)), rng.normal((1.5, 0), 0.5, (30, 2)), [[-9.0, 6.0]]])
    y = np.repeat([-1, 1, 1], [30, 30, 1])
    figure, (ax,) = panels(1, width=6)
    models = {
        "PLR": MarginClassifier(C=10.0).fit(X, y),
        "RPLR": TruncatedLogisticRegression(C=10.0, level=_LEVEL, scheme=None).fit(X, y),
    }
    boundary(ax, Sample(X, y, y), models, "an outlier far from its class")
    return figure


def _figure_3(results: Results) -> Any:
    """The two least levels of theorem 2 at pi = 1/2; between their crossings with t scores determine probabilities."""
    p = np.linspace(0.005, 0.995, 400)
    entropy = -p * np.log(p) - (1 - p) * np.log1p(-p)
    figure, (ax,) = panels(1)
    for number, (name, share) in enumerate((("H1", p), ("H2", 1 - p))):
        ax.plot(p, entropy / (1 - share), color=class_colour(number), label=name)
    reach = losses.TruncatedLogistic(3 * np.log(2)).estimable
    ax.axhline(3 * np.log(2), color="grey", lw=1, ls="--")
    for side in (-1, 1):
        ax.axvline(1 / (1 + np.exp(side * reach)), color="grey", lw=1, ls=":")
    ax.set(xlabel="p", ylim=(0, 5), title="t = 3 log 2: p1 = .289, p2 = .711")
    ax.legend(frameon=False)
    return figure


def _figure_5(results: Results) -> Any:
    """Boundaries on a typical training set of both examples, 10% flipped."""
    figure, axes = panels(2)
    options: tuple[dict[str, Any], ...] = ({}, {"kernel": "rbf", "gamma": "median"})
    for ax, rule, kernel in zip(axes, ("diagonal", "cross"), options, strict=True):
        sample = make_disk(100, rule=rule, flip=0.1, random_state=2)
        shared: dict[str, Any] = {"C": 10.0, **kernel}
        models = {
            "PLR": MarginClassifier(**shared).fit(sample.X, sample.y),
            "RPLR": TruncatedLogisticRegression(level=_LEVEL, scheme=None, **shared).fit(sample.X, sample.y),
        }
        boundary(ax, sample, models, {"diagonal": "example 2.7.1.1", "cross": "example 2.7.1.2"}[rule])
    return figure


_FORMS = "Closed forms."
EXHIBITS = [
    Exhibit("thesis-figure-2.1", "Figure 2.1: truncated and other robust losses", "", _FORMS, draw=_figure_1),
    Exhibit(
        "thesis-figure-2.2", "Figure 2.2: the effect of an outlier", "", "A toy like the thesis's.", draw=_figure_2
    ),
    Exhibit(
        "thesis-figure-2.3",
        "Figure 2.3: where a truncated score determines a probability",
        "",
        "Closed forms. The regions printed for t = 3 log 2 are those of t close to 2 (erratum).",
        draw=_figure_3,
    ),
    Exhibit(
        "thesis-figure-2.5", "Figure 2.5: boundaries of PLR and RPLR", "", "lambda = .1, t = 2 log 2.", draw=_figure_5
    ),
    Exhibit(
        "thesis-figure-2.8",
        "Figure 2.8: principal components of the lung cancers",
        "",
        "Cannot be drawn: the 188 lung cancers of Bhattacharjee et al. (2001) with 12625 genes were not obtainable.",
    ),
]
