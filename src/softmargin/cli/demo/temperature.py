"""Section: one temperature leads from logistic regression to the support vector machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from softmargin import CoherenceClassifier
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.losses import Coherence, Hinge
from softmargin.plots import INK, SOFT, clean, pyplot

__all__ = ["SECTION"]

TEMPERATURES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.001)


def fit_at(temperature: float) -> CoherenceClassifier:
    data = patients()
    return CoherenceClassifier(temperature=temperature, C=0.05).fit(data.X, data.y)


def show(stage: Stage) -> None:
    data = patients()
    rows = []
    for temperature in TEMPERATURES:
        model = fit_at(temperature)
        p = model.predict_proba(data.X_test)
        rows.append(
            [
                temperature,
                model.score(data.X_test, data.y_test),
                log_loss(data.y_test, p, labels=model.classes_),
                model.n_iter_,
                model.solution_.gap,
            ]
        )
    columns = ["temperature", "test accuracy", "test log loss", "Newton steps", "certified gap"]
    stage.table("breast cancer, 15% of training labels wrong, clean test labels", columns, rows)
    best = min(rows, key=lambda row: row[2])
    stage.note(
        f"The probabilities are best at temperature {best[0]:g} (log loss {best[2]:.3f}); towards zero the loss "
        "becomes the hinge, which says less and less about probabilities."
    )
    stage.picture("sweep", _picture(), "The coherence loss and its link as the temperature falls; dashed is the hinge.")
    stage.code(fit_at)


def _picture() -> Any:
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.0), layout="constrained")
    shades = plt.get_cmap("plasma")(np.linspace(0.05, 0.85, len(TEMPERATURES)))
    u, f = np.linspace(-2, 3, 400), np.linspace(-4, 4, 801)
    for temperature, shade in zip(TEMPERATURES, shades, strict=True):
        loss = Coherence(temperature=temperature)
        left.plot(u, loss.value(u), color=shade, lw=1.6)
        right.plot(f, loss.probability(f), color=shade, lw=1.6, label=f"{temperature:g}")
    left.plot(u, Hinge().value(u), color=INK, lw=1.2, ls="--")
    left.set(xlabel="margin $y f(x)$", ylabel="loss", title="loss")
    right.set(xlabel="score $f(x)$", ylabel="$P(y = +1)$", title="probability", yticks=[0, 1 / 3, 0.5, 2 / 3, 1])
    right.set_yticklabels(["0", "1/3", "1/2", "2/3", "1"])
    for level in (1 / 3, 2 / 3):
        right.axhline(level, color=SOFT, lw=0.6, zorder=0)
    legend = right.legend(title="temperature", frameon=False, fontsize=8.5, loc="upper left", handlelength=1.4)
    legend.get_title().set_fontsize(9)
    for ax in (left, right):
        clean(ax).title.set(fontsize=11, color=INK)
    return figure


SECTION = Section(
    "temperature",
    20,
    "From logistic regression to the SVM",
    "C-learning smooths the hinge by a temperature. Every temperature above zero gives class probabilities in closed "
    "form; at zero it is the support vector machine.",
    show,
)
