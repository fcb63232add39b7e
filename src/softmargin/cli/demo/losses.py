"""Section: every loss of the library, and one of your own."""

from __future__ import annotations

import numpy as np

from softmargin import MarginClassifier, losses
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.plots import loss_gallery

__all__ = ["SECTION"]


FITTED = ("logistic", "coherence", "squared_hinge", "huberized_hinge")


def my_loss() -> losses.Loss:
    """A smooth hinge that costs nothing beyond a margin of one."""
    return losses.make_loss(
        value=lambda u: np.where(u < 0, 0.5 - u, 0.5 * np.maximum(1 - u, 0) ** 2),
        slope=lambda u: -np.clip(1 - u, 0, 1),
        curvature=lambda u: ((u >= 0) & (u < 1)).astype(float),
        name="mine",
        curvature_bound=1.0,
    )


def show(stage: Stage) -> None:
    stage.picture(
        "gallery",
        loss_gallery(),
        "What a margin costs (above) and how hard it pulls on the fit (below). Robust losses let go of points far on "
        "the wrong side.",
    )
    rows = []
    for name in losses.available():
        loss = losses.get(name)
        rows.append([name, repr(loss), loss.family, loss.convex, loss.smooth, _link(loss)])
    columns = ["name", "loss", "family", "convex", "smooth", "P(y = +1) at score 1"]
    stage.table("every loss at its defaults", columns, rows)
    data = patients()
    rows = []
    for name, loss in {**{name: losses.get(name) for name in FITTED}, "your own": my_loss()}.items():
        model = MarginClassifier(loss=loss, C=0.05).fit(data.X, data.y)
        accuracy = model.score(data.X_test, data.y_test)
        rows.append([name, accuracy, model.solution_.objective, model.solution_.gap, model.n_iter_])
    columns = ["loss", "accuracy on clean test labels", "objective", "certified gap", "steps"]
    stage.table(
        "breast cancer with 15% of the training labels wrong; your own loss is ten lines of NumPy", columns, rows
    )
    stage.code(my_loss)


def _link(loss: losses.Loss) -> str:
    try:
        return f"{loss.probability(1.0):.3f}"
    except losses.NoLink:
        return "no link"


SECTION = Section(
    "losses",
    10,
    "What a margin costs",
    "A loss is three functions of the margin: value, slope, curvature. Any of them, or your own, can be fitted.",
    show,
)
