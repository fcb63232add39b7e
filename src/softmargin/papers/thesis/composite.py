"""Tables 4.1 to 4.3 and figures 4.3 to 4.5: composite least squares and reinforced machines for several classes.

Train and tune rows are drawn alike (50 each with three classes, 100 each otherwise), lambda = 2^-16 .. 2^15 is chosen
for each mix by the error on the tuning rows, ties to the smallest; "tuned 1" and "tuned 2" choose the mix as well,
from eleven values or three. Composite least squares penalise the intercept, reinforced machines do not (the published
numbers agree with that reading only). The test error integrates the true class probabilities over test points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from softmargin import CompositeLeastSquaresClassifier, MulticategorySVC
from softmargin.datasets import Sample, make_gaussians
from softmargin.papers._exhibit import Exhibit, Experiment, Note, Part, Results, generator, published_numbers
from softmargin.papers._figures import curves_by_mix
from softmargin.papers._protocol import pick
from softmargin.papers.conventions import summed_loss_whole_penalty

__all__ = ["EXHIBITS"]

MIXES = np.linspace(0, 1, 11)
PENALTIES = 2.0 ** np.arange(-16, 16)
TEST_ROWS = 20_000
_KERNELS: dict[str, dict[str, Any]] = {
    "linear": {"kernel": None},
    "poly2": {"kernel": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0},
    "gaussian": {"kernel": "rbf", "gamma": "median"},
}


def _machine(method: str, kernel: str, mix: float, penalty: float) -> Any:
    shared = {"mix": float(mix), "C": float(summed_loss_whole_penalty(penalty)), **_KERNELS[kernel]}
    if method == "CLS":
        return CompositeLeastSquaresClassifier(penalize_intercept=True, **shared)
    return MulticategorySVC(method="reinforced", max_iter=300, **shared)


def _draw(name: str, replication: int, n: int, make: Callable[..., Sample]) -> tuple[Sample, Sample, Sample]:
    """Train, tune and test rows; redrawn until every class is in the first two, as a fit needs."""
    rng = generator(name, "rows", replication)
    n_classes = make(1).probability.shape[1]
    while True:
        train, tune = (make(n, random_state=int(rng.integers(2**31))) for _ in range(2))
        if len(np.unique(train.y)) == n_classes == len(np.unique(tune.y)):
            return train, tune, make(TEST_ROWS, random_state=int(rng.integers(2**31)))


def true_error(model: Any, test: Sample) -> float:
    """The error of the predicted classes under the true probabilities."""
    codes = np.searchsorted(np.arange(test.probability.shape[1]), model.predict(test.X))
    return float(1 - test.probability[np.arange(len(codes)), codes].mean())


def replicate(
    replication: int, *, name: str, method: str, kernel: str, n: int, make: Callable[..., Sample]
) -> dict[str, float]:
    """Test error for each mix with lambda tuned, and with the mix tuned too; error of the probabilities of CLS."""
    train, tune, test = _draw(name, replication, n, make)
    penalties = PENALTIES if method == "CLS" else PENALTIES[6:31:2]
    errors, largest, probability_errors, tuning = [], [], [], []
    for mix in MIXES:
        fits = [_machine(method, kernel, mix, penalty).fit(train.X, train.y) for penalty in penalties]
        wrong = [float((fit.predict(tune.X) != tune.y).mean()) for fit in fits]
        best = fits[pick(wrong)]
        errors.append(true_error(best, test))
        largest.append(true_error(fits[pick(wrong, tie="last")], test))
        tuning.append(min(wrong))
        if method == "CLS":
            estimate = best.set_params(rescale="minshift").predict_proba(test.X)
            probability_errors.append(float(np.abs(estimate - test.probability).mean()))
    few = [0, 5, 10]
    chosen = {"tuned 1": pick(tuning), "tuned 2": few[pick([tuning[k] for k in few])]}
    values: dict[str, float] = {}
    for tie, found in (("", errors), ("largest ", largest)):
        values |= {f"{tie}mix {mix:.1f}": error for mix, error in zip(MIXES, found, strict=True)}
        values |= {f"{tie}{row}": found[k] for row, k in chosen.items()}
    return values | {f"probability {mix:.1f}": e for mix, e in zip(MIXES, probability_errors, strict=False)}


def _part(column: str, name: str, n: int, n_classes: int) -> Part:
    method, kernel, *spread = column.split()
    scale = float(spread[1]) if spread else None
    make = partial(make_gaussians, n_classes=n_classes, scale=scale)
    return Part(column, partial(replicate, name=f"{name} {scale}", method=method, kernel=kernel, n=n, make=make))


_TITLES = {
    "4.1": "Table 4.1: test errors, three classes (example 4.5.1.1)",
    "4.2": "Table 4.2: test errors, six classes (example 4.5.1.2)",
    "4.3": "Table 4.3: test errors, four classes (example 4.5.1.3)",
}
_PROTOCOL = (
    "lambda in 2^-16 .. 2^15 by the error on a tuning set as large as the training set, ties to the smallest; CLS with "
    f"penalised intercept; {TEST_ROWS} test points scored by their true probabilities (thesis: 10^6 labels)"
)
_FREE = (
    "RMSVM here has a free intercept and twelve values of lambda from 2^-10 to 2^14; the thesis states neither; with a "
    "penalised intercept the linear column at mix 0 falls to .225, with a free one it is .280 (published .282)."
)
_GAUSSIAN = (
    "The width of the Gaussian kernel is not stated; six widths were tried and none reaches the published errors of "
    "small "
    "mixes: ours are better. The headings of the published table are exchanged (columns 3 and 4 lie below the Bayes "
    "error of the deviation they are printed under)."
)
_SIX = (
    "With six classes and about 17 rows each the result hangs on the class sizes of the draw: with exactly balanced "
    "classes the linear column falls to .064 at mix 0, with random labels 60 replications gave .257 ± .013, and the "
    "thesis does not say which it used."
)
_NOTES = {
    "4.1": (Note("RMSVM.*", ".*", _FREE),),
    "4.2": (Note(".*", "mix 0.[0-8]|tuned.*", _SIX),),
    "4.3": (Note("CLS gaussian.*", ".*", _GAUSSIAN),),
}


def _experiment(number: str, n: int, n_classes: int) -> Experiment:
    name = f"thesis-{number}"
    columns = published_numbers(f"thesis-table-{number}")
    return Experiment(name, tuple(_part(column, name, n, n_classes) for column in columns), 100)


def _exhibits(number: str, figure: str, n: int, n_classes: int) -> list[Exhibit]:
    experiment, published = _experiment(number, n, n_classes), published_numbers(f"thesis-table-{number}")

    def draw(results: Results) -> Any:
        return curves_by_mix(results, published, MIXES)

    table = Exhibit(
        f"thesis-table-{number}",
        _TITLES[number],
        "Test error",
        f"{n} training rows; {_PROTOCOL}.",
        experiment,
        notes=_NOTES[number],
        alternatives=(("with the largest of tied lambdas", "largest "),),
        published=published,
    )
    title = f"Figure {figure}: test error and error of the class probabilities against the mix"
    protocol = (
        "Left: curves ours, points published. Right: mean absolute error of the class probabilities (no numbers given)."
    )
    return [table, Exhibit(f"thesis-figure-{figure}", title, "", protocol, experiment, draw=draw)]


EXHIBITS = [
    *_exhibits("4.1", "4.3", 50, 3),
    *_exhibits("4.2", "4.4", 100, 6),
    *_exhibits("4.3", "4.5", 100, 4),
]
