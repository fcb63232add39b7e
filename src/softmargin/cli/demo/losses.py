"""Section: every loss of the library."""

from __future__ import annotations

from softmargin import losses
from softmargin.cli._stage import Section, Stage

__all__ = ["SECTION"]


def show(stage: Stage) -> None:
    rows = []
    for name in losses.available():
        loss = losses.get(name)
        rows.append([name, repr(loss), loss.convex, loss.smooth, _link(loss)])
    stage.table("every loss at its defaults", ["name", "loss", "convex", "smooth", "P(y = +1) at a score of 1"], rows)


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
