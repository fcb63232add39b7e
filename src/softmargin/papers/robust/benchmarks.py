"""Tables 1 and 2: accuracy and time on eight UCI sets with 0, 10 and 20% of the training labels flipped.

Columns scaled to [0, 1]; random parts of 60, 20 and 20%; ``C``, width and sigma by the accuracy on the clean tuning
rows. The grids are not stated; here ``C`` in {.1, 1, 10, 100, 1000}, width in {.15, .4, 1, 2.5}, sigma in {.6, 1, 1.5,
3, inf}; TSVC truncates at s = 0. Ties go to the smaller C, the larger width and the larger sigma.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from softmargin import MarginClassifier, RobustSVC
from softmargin.datasets import flip_labels
from softmargin.papers._exhibit import Exhibit, Experiment, Note, Part, generator, published_numbers
from softmargin.papers._protocol import pick, split_rows
from softmargin.papers._scores import Array, gaussian
from softmargin.papers._tables import numeric_table
from softmargin.papers.conventions import gamma_of_double_width

__all__ = ["EXHIBITS"]

NAME = "robust-benchmarks"
SETS = {
    "Monks1": "monks1",
    "Monks2": "monks2",
    "Monks3": "monks3",
    "Spect": "spect",
    "Haber": "haberman",
    "Breast": "wdbc",
    "Pima": "pima_diabetes",
    "Ionosphere": "ionosphere",
}
COSTS = (0.1, 1.0, 10.0, 100.0, 1000.0)
WIDTHS = (2.5, 1.0, 0.4, 0.15)
SIGMAS = (np.inf, 3.0, 1.5, 1.0, 0.6)


def _unit_table(name: str) -> tuple[Array, Array]:
    """Columns scaled to [0, 1]."""
    X, y = numeric_table(name)
    span = np.ptp(X, axis=0)
    return (X - X.min(axis=0)) / np.where(span > 0, span, 1.0), y


def _machines(method: str) -> list[tuple[float, Any]]:
    """Every candidate with its width, in the order in which ties are decided. Their C is twice ours for RSVC and L2."""
    grid = [(C, h) for C in COSTS for h in WIDTHS]
    if method == "L2-SVM":
        return [(h, MarginClassifier(loss="squared_hinge", C=C / 2, kernel="precomputed")) for C, h in grid]
    robust = partial(RobustSVC, kernel="precomputed", probability=False)
    if method == "RSVC":
        return [(h, robust(C=C / 2, sigma=sigma)) for C, h in grid for sigma in SIGMAS]
    sigma = 2.0 if method == "TSVC s=-1" else 1.0
    return [(h, robust(loss="truncated_hinge", C=C, sigma=sigma)) for C, h in grid]


def replicate(replication: int, *, part: str) -> dict[str, float]:
    """Test accuracy of each method in percent, and the seconds of the fit that was chosen."""
    name, share = part.rsplit(" ", 1)
    rng = generator(NAME, name, replication)
    X, y = _unit_table(SETS[name])
    train, tune, test = split_rows(len(y), (0.6, 0.2, -1), random_state=rng, labels=y)
    flipped, _ = flip_labels(y[train], float(share.rstrip("%")) / 100, int(rng.integers(2**31)))
    kernels = {h: gaussian(X, X[train], float(gamma_of_double_width(h))) for h in WIDTHS}
    values: dict[str, float] = {}
    for method in ("L2-SVM", "RSVC", "TSVC", "TSVC s=-1"):
        machines = _machines(method)
        fits = [model.fit(kernels[h][train], flipped) for h, model in machines]
        wrong = [
            float((fit.predict(kernels[h][tune]) != y[tune]).mean()) for (h, _), fit in zip(machines, fits, strict=True)
        ]
        h, best = machines[pick(wrong)]
        values[_key("accuracy", method)] = 100 * float((best.predict(kernels[h][test]) == y[test]).mean())
        start = time.process_time()
        best.fit(kernels[h][train], flipped)
        values[_key("seconds", method)] = time.process_time() - start
    return values


def _key(metric: str, method: str) -> str:
    """The other truncation point is another reading of the same row."""
    return f"s=-1 {metric} TSVC" if method == "TSVC s=-1" else f"{metric} {method}"


_PARTS = tuple(published_numbers("robust-table-1"))
EXPERIMENT = Experiment(NAME, tuple(Part(part, partial(replicate, part=part)) for part in _PARTS), 20)
_PROTOCOL = (
    "60/20/20 splits, training labels flipped, tuned on clean rows; grids (not stated): C in .1 .. 1000, four widths, "
    "sigma in .6, 1, 1.5, 3, inf; TSVC truncated at s = 0. Breast is the diagnostic set (569 rows), the only one whose "
    "size fits the published multiples."
)
_HABER = (
    "Predicting the majority gives 73.5% here; which 61 rows tune decides the rest. The published 20% column is better "
    "than its 0% column for all three methods, so it was another set of splits."
)
_GRIDS = (
    "The grids are not stated and the published table has no errors; sizes of test sets in print (100 of 556 rows for "
    "Monks1, 67 of 267 for Spect, 100 of 351 for Ionosphere) show that splits were not 60/20/20 (erratum E10)."
)
_TIME = (
    "Seconds of another machine and another solver (quadprog); the time is a property of the solver, not of the loss: "
    "both are one dense program a round there, working sets and Newton steps here."
)
EXHIBITS = [
    Exhibit(
        "robust-table-1",
        "Table 1: accuracy on eight UCI sets, labels flipped",
        "Test accuracy in percent",
        _PROTOCOL,
        EXPERIMENT,
        "accuracy ",
        (
            Note("Haber.*", ".*", _HABER),
            Note("Monks1.*|Spect.*|Ionosphere.*", ".*", _GRIDS),
        ),
        alternatives=(("with TSVC truncated at s = -1", "s=-1 accuracy "),),
        published=published_numbers("robust-table-1"),
    ),
    Exhibit(
        "robust-table-2",
        "Table 2: seconds of a fit",
        "Processor seconds of the chosen fit",
        _PROTOCOL,
        EXPERIMENT,
        "seconds ",
        (Note(".*", ".*", _TIME),),
        published=published_numbers("robust-table-2"),
    ),
]
