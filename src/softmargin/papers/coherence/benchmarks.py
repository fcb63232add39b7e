"""Tables 4 to 6: hybrid huberised SVM, logistic regression and C-learning with the elastic net on eleven sets.

USPS pairs (200 digits of a class) and odd/even (the first 80 of each digit) with 3% of the rows to train, g241 with
10%, colon with 25.8% and leukaemia with 27.8%; twenty random partitions; rho = 1; gamma and omega by five folds (grid
and folds not stated: omega in {.05, .5, .95}, seven gammas). Table 6 has an RBF kernel of the mean distance as width.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from softmargin.datasets import load, make_g241
from softmargin.losses import Coherence, HuberizedHinge, Logistic, Loss
from softmargin.papers._exhibit import Exhibit, Experiment, Note, Part, generator, published_numbers
from softmargin.papers._protocol import pick, split_rows
from softmargin.papers._scores import Array, cv_scores, folds, gaussian, mean_distance, smooth_fit
from softmargin.papers.conventions import gamma_of_width, mean_loss

__all__ = ["EXHIBITS", "usps_rows"]

OMEGAS = (0.05, 0.5, 0.95)
PENALTIES = np.logspace(0, -3, 7)
TIES = {"": "last", "middle ": "middle", "largest ": "first"}  # penalties run from the largest
_LOSSES: dict[str, Loss] = {"HHSVM": HuberizedHinge(2.0), "RLRM": Logistic(), "C-learning": Coherence(1.0, 1.0)}


def usps_rows(part: str) -> tuple[Array, Array]:
    """A pair of digits, 200 of each, or the first 80 images of every digit, odd against even."""
    data = load("usps", download=False)
    X, digit = data.X.to_numpy(dtype=float), np.asarray(data.y).astype(int)
    if part == "odd_even":
        first = data.split == "train"
        rows = np.concatenate([np.flatnonzero(first & (digit == k))[:80] for k in range(10)])
        return X[rows], np.where(digit[rows] % 2 == 1, 1.0, -1.0)
    pair = [int(k) for k in part.split("v")]
    rows = np.concatenate([np.flatnonzero(digit == k)[:200] for k in pair])
    return X[rows], np.where(digit[rows] == pair[0], 1.0, -1.0)


def _table(name: str, rng: np.random.Generator) -> tuple[Array, Array, float]:
    """Rows, labels and the share to train on; g241 is drawn anew, by its recipe."""
    if name.startswith("usps_"):
        return *usps_rows(name.removeprefix("usps_")), 0.03
    if name.startswith("g241"):
        sample = make_g241(1500, variant=name[-1], random_state=int(rng.integers(2**31)))
        return sample.X, sample.y.astype(float), 0.1
    data = load("leukemia_3571" if name == "leukemia" else name, download=False)
    X = data.X.to_numpy(dtype=float)
    X = np.log10(X) if name == "colon" else X
    y = np.where(np.asarray(data.y) == np.unique(np.asarray(data.y))[1], 1.0, -1.0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y, 20 / 72 if name == "leukemia" else 16 / 62


def _error(
    loss: Loss, expansions: tuple[Array, Array], labels: tuple[Array, Array], rng: np.random.Generator, features: bool
) -> dict[str, float]:
    """Test error in percent with gamma and omega chosen by five folds, by rule for ties."""
    K, K_test = expansions
    y, y_test = labels
    Cs, parts = mean_loss(PENALTIES, len(y)), folds(y, 5, rng)
    fits = {w: smooth_fit(loss, l1_ratio=w, kernel=None if features else "precomputed", tol=1e-3) for w in OMEGAS}
    wrong = {
        w: (np.sign(cv_scores(fit, K, y, Cs, parts, features=features)) != y[:, None]).mean(axis=0)
        for w, fit in fits.items()
    }
    best = min(OMEGAS, key=lambda w: float(wrong[w].min()))
    scores = fits[best](K, y, K_test, Cs)
    test = 100 * (np.where(scores >= 0, 1.0, -1.0) != y_test[:, None]).mean(axis=0)
    return {tie: float(test[pick(wrong[best], tie=rule)]) for tie, rule in TIES.items()}


def replicate(replication: int, *, part: str) -> dict[str, float]:
    """Errors of the three losses on features and on kernel columns."""
    rng = generator("coherence-benchmarks", part, replication)
    X, y, share = _table(part, rng)
    train, test = split_rows(len(y), (round(share * len(y)), -1), random_state=rng, labels=y)
    while np.bincount((y[train] > 0).astype(int)).min() < 2:  # folds need two rows of a class
        train, test = split_rows(len(y), (len(train), -1), random_state=rng, labels=y)
    labels = (y[train], y[test])
    gamma = float(gamma_of_width(mean_distance(X)))
    kernels = (gaussian(X[train], X[train], gamma), gaussian(X[test], X[train], gamma))
    values = {}
    for name, loss in _LOSSES.items():
        for tie, error in _error(loss, (X[train], X[test]), labels, rng, True).items():
            values[f"{tie}feature {name}"] = error
        for tie, error in _error(loss, kernels, labels, rng, False).items():
            values[f"{tie}kernel {name}"] = error
    return values


def describe(replication: int, *, part: str) -> dict[str, float]:
    """Size of a set and of its training part."""
    X, _, share = _table(part, np.random.default_rng(0))
    return {"features": float(X.shape[1]), "rows": float(len(X)), "training percent": round(100 * share, 1)}


_SETS = tuple(published_numbers("coherence-table-5"))
EXPERIMENT = Experiment("coherence-benchmarks", tuple(Part(part, partial(replicate, part=part)) for part in _SETS), 20)
_SIZES = Experiment("coherence-sets", tuple(Part(part, partial(describe, part=part)) for part in _SETS), 1)
_PROTOCOL = (
    "Twenty random partitions; rho = 1; gamma (seven values, 1 to 10^-3, ties to the smallest) and omega (.05, .5, "
    ".95) by five folds on the training rows; HHSVM with delta = 2. Grids, folds, ties and delta are not stated in "
    "the paper."
)
_G241 = (
    "g241 is drawn anew by its recipe; for g241d the recipe in the paper leaves open how the second class is moved: "
    "with "
    "independent directions the error is 10 points higher, with one shared direction 1 to 3 points from the published."
)
_NOTES = (Note("g241d", ".*", _G241),)


def _exhibit(number: int, title: str, beginning: str) -> Exhibit:
    name = f"coherence-table-{number}"
    metric = "Test error in percent (spreads are standard deviations over partitions)"
    others = tuple((f"with the {tie.strip()} of tied penalties", tie + beginning) for tie in TIES if tie)
    published = published_numbers(name)
    return Exhibit(name, title, metric, _PROTOCOL, EXPERIMENT, beginning, _NOTES, others, published=published)


EXHIBITS = [
    Exhibit(
        "coherence-table-4",
        "Table 4: the benchmark sets",
        "Counts",
        "Read from the data.",
        _SIZES,
        published=published_numbers("coherence-table-4"),
    ),
    _exhibit(5, "Table 5: elastic net on features", "feature "),
    _exhibit(6, "Table 6: elastic net on kernel columns", "kernel "),
]
