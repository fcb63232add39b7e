"""Table 1 and figures 1 and 2: permissible functions, their losses and links."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from softmargin import losses
from softmargin.papers._exhibit import Exhibit, Experiment, Note, Part, Results, published_numbers
from softmargin.papers._figures import loss_curves, panels
from softmargin.plots import class_colour

__all__ = ["EXHIBITS"]

ENTROPIES = {
    "phi_mu, mu = .5": losses.Matsushita(0.5),
    "phi_M": losses.Matsushita(),
    "phi_Q": losses.LogEntropy(),
    "phi_B": losses.Gini(),
}


def evaluate(replication: int, *, part: str) -> dict[str, float]:
    """Loss and probability at two scores."""
    loss = losses.BalancedConvex(ENTROPIES[part])
    values = {f"F({z:g})": float(loss.value(z)) for z in (-0.5, 0.5)}
    return values | {"P(+ | H = 0.5)": float(loss.probability(0.5))}


def _figure_1(results: Results) -> Any:
    figure, (ax,) = panels(1)
    loss_curves(ax, {name: losses.BalancedConvex(entropy).value for name, entropy in ENTROPIES.items()})
    ax.plot([-3, 0, 3], [3, 0, 0], ":", color="grey", lw=1)
    return figure


def _figure_2(results: Results) -> Any:
    figure, (ax,) = panels(1)
    p = np.linspace(0.005, 0.995, 300)
    for number, (name, entropy) in enumerate(ENTROPIES.items()):
        ax.plot(p, losses.BalancedConvex(entropy).score(p), color=class_colour(number), label=name)
    ax.set(xlabel="p", ylabel="link", ylim=(-3, 3))
    ax.legend(frameon=False, fontsize=8)
    return figure


_EXPERIMENT = Experiment("uls-table-1", tuple(Part(part, partial(evaluate, part=part)) for part in ENTROPIES), 1)
_LOG = (
    "The printed log(1 + exp(-z)) lacks the factor 1/log 2: by the paper's own definition F(0) = 1, and without it F "
    "is no "
    "upper bound of the 0/1 loss (erratum 1)."
)
EXHIBITS = [
    Exhibit(
        "uls-table-1",
        "Table 1: losses and links of permissible functions",
        "The printed formulas at two scores",
        "Closed forms; published is the printed formula evaluated.",
        _EXPERIMENT,
        notes=(Note("phi_Q", "F.*", _LOG),),
        published=published_numbers("uls-table-1"),
    ),
    Exhibit(
        "uls-figure-1", "Figure 1: the losses of table 1 and their asymptotes", "", "Closed forms.", draw=_figure_1
    ),
    Exhibit("uls-figure-2", "Figure 2: links of permissible functions", "", "Closed forms.", draw=_figure_2),
]
