"""Tables 1 and 2: GKL, cross entropy and test error in two simulated examples, 100 of 1000 rows to train."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from softmargin.datasets import Sample, make_disk, make_sine
from softmargin.papers._exhibit import Exhibit, Experiment, Note, Part, generator, published_numbers
from softmargin.papers._protocol import split_rows
from softmargin.papers._scores import Array
from softmargin.papers.bracketing._methods import CLASSIFIERS, Task, all_methods, neighbours, penalised_logistic
from softmargin.probability import comparative_gkl

__all__ = ["EXHIBITS"]

NAME = "bracketing-simulations"


def _scores(name: str, p: Array, truth: Array, y: Array) -> dict[str, float]:
    return {
        f"GKL {name}": comparative_gkl(truth, p),
        f"CRE {name}": comparative_gkl((y + 1) / 2, p),
        f"TE {name}": float(np.where(p > 0.5, y < 0, y > 0).mean()),
    }


def replicate(replication: int, *, part: str, make: Callable[..., Sample]) -> dict[str, float]:
    """Scores of every method on the 900 test rows."""
    rng = generator(NAME, part, replication)
    sample = make(1000, random_state=int(rng.integers(2**31)))
    train, test = split_rows(1000, (100, -1), random_state=rng, labels=sample.y)
    task = Task(sample.X[train], sample.y[train].astype(float), sample.X[test])
    truth, y = sample.probability[test], sample.y[test].astype(float)
    values: dict[str, float] = {}
    for classifier in CLASSIFIERS:
        for method, p in all_methods(task, classifier, rng).items():
            values |= _scores(f"{classifier} {method}", p, truth, y)
    plain = penalised_logistic(task, rng)
    near = [_scores("nearest neighbours", p, truth, y) for p in neighbours(task).values()]
    values |= {key: min(one[key] for one in near) for key in near[0]}
    kernel = "psi_L" if part == "Example 1" else "psi_G"
    for metric in ("GKL", "TE"):
        values[f"{metric} psi-learning"] = values[f"{metric} {kernel} bracketing"]
    return values | _scores("PLR", plain, truth, y)


EXPERIMENT = Experiment(
    NAME,
    (
        Part("Example 1", partial(replicate, part="Example 1", make=make_disk)),
        Part("Example 2", partial(replicate, part="Example 2", make=make_sine)),
    ),
    100,
)
_PROTOCOL = (
    "Tuned by the covariance penalty (six draws instead of ten times ten) over 13 values of 1/(n lambda) in [10^-3, "
    "10^3] "
    "(paper: 60 values of lambda); 20 class weights (table 5 implies 20; the text says sqrt(n)); Platt at C = 1."
)
_CRE = (
    "In print CRE is .02 to .03 below GKL in every row of example 1 although both estimate the same number (erratum "
    "9); "
    "ours agree with each other."
)
_GRID = (
    "The printed grid cannot be right for example 2 (erratum 11): as printed 30 replications gave .235 and .192 for "
    "SVM_G and SVM_L, read as a grid of C with 20 weights .153 and .158, psi .161 and .168."
)
_EXAMPLE_1 = (
    "In example 1 every reading of the protocol tried (grid of lambda or C, 10 or 20 weights) gives values .005 to "
    ".011 "
    "below the published ones for bracketing and up to .03 below for Platt, whose C is not stated (erratum 16)."
)
_PSI = "Which kernel the published psi-learning used is not stated (erratum 15); ours is the better one of table 1."
_PLR = (
    "PLR was run with stepwise selection of another package on 66 replications that did not degenerate; ours is ridge "
    "logistic regression on all of them."
)
EXHIBITS = [
    Exhibit(
        "bracketing-table-1",
        "Table 1: true and estimated log loss of Platt's method and bracketing",
        "GKL is the comparative loss (erratum 8), CRE its estimate from test labels",
        _PROTOCOL,
        EXPERIMENT,
        notes=(
            Note("Example 1", "CRE.*", _CRE),
            Note("Example 2", ".*", _GRID),
            Note("Example 1", ".*", _EXAMPLE_1),
        ),
        published=published_numbers("bracketing-table-1"),
    ),
    Exhibit(
        "bracketing-table-2",
        "Table 2: nearest neighbours, penalised logistic regression and psi-learning",
        "GKL and test error; nearest neighbours is the best of 4, 9, 16, 25 on the test rows, as in the paper",
        _PROTOCOL,
        EXPERIMENT,
        notes=(Note(".*", ".*psi-learning", _PSI), Note(".*", ".*PLR", _PLR)),
        published=published_numbers("bracketing-table-2"),
    ),
]
