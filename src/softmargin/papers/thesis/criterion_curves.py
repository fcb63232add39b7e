"""Figure 2.4: the true comparative loss and its estimate EGACV along lambda, 50 rows of the disk without flips."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin import TruncatedLogisticRegression, TunedClassifier, losses
from softmargin.datasets import make_disk
from softmargin.papers._exhibit import Exhibit, Experiment, Part, Results, generator
from softmargin.papers._figures import panels
from softmargin.papers.conventions import summed_loss
from softmargin.plots import class_colour

__all__ = ["EXHIBITS"]

EXPONENTS = np.arange(-3, 2.01, 0.5)
_LEVEL = 2 * np.log(2)
_NAMES = {"CKL": "CKL (truth)", "egacv": "EGACV", "alo": "ALO (ours)"}


def replicate(replication: int) -> dict[str, float]:
    """Truth, EGACV and approximate leave-one-out at every lambda."""
    rng = generator("thesis-2.4", "disk", replication)
    sample = make_disk(50, rule="diagonal", flip=0.0, random_state=int(rng.integers(2**31)))
    test = make_disk(5000, rule="diagonal", flip=0.0, random_state=int(rng.integers(2**31)))
    Cs, loss, values = summed_loss(10.0**EXPONENTS), losses.TruncatedLogistic(_LEVEL), {}
    model = TruncatedLogisticRegression(level=_LEVEL, scheme=None)
    for exponent, C in zip(EXPONENTS, Cs, strict=True):
        fit = model.set_params(C=float(C)).fit(sample.X, sample.y)
        values[f"CKL {exponent:.1f}"] = float(loss.value(test.y * fit.decision_function(test.X)).mean())
    for criterion in ("egacv", "alo"):
        search = TunedClassifier(model, grid={"C": np.sort(Cs)}, criterion=criterion).fit(sample.X, sample.y)
        table = search.results_
        for C, score in zip(table["C"], table[criterion], strict=True):
            values[f"{criterion} {round(-np.log10(C), 1) + 0.0:.1f}"] = float(score)  # + 0.0: no minus zero
    return values


def _draw(results: Results) -> Any:
    figure, axes = panels(2)
    found = results["disk"]
    for ax, title in zip(axes, ("one replication", "average"), strict=True):
        for number, (key, name) in enumerate(_NAMES.items()):
            curves = [found[f"{key} {exponent:.1f}"] for exponent in EXPONENTS]
            heights = [curve[0] if title == "one replication" else float(np.mean(curve)) for curve in curves]
            ax.plot(EXPONENTS, heights, "o-", ms=3, color=class_colour(number), label=name)
        ax.set(xlabel="log10 lambda", ylabel="criterion", title=title, ylim=(0, 0.8))
        ax.legend(frameon=False, fontsize=8)
    return figure


EXHIBITS = [
    Exhibit(
        "thesis-figure-2.4",
        "Figure 2.4: CKL and EGACV along lambda",
        "",
        "50 rows, t = 2 log 2; EGACV with the stray factor of the printed formula removed (erratum). No numbers are "
        "given.",
        Experiment("thesis-2.4", (Part("disk", replicate),), 100),
        draw=_draw,
    )
]
