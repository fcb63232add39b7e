"""Tables 2.1 to 2.4: truncated logistic regression on the disk, linear (2.7.1.1) and with a kernel (2.7.1.2).

100 rows to train and 100 to tune with the same share of flipped labels; lambda by the tuning error, ties to the
smallest; the rule is not stated, so the middle and the largest are measured too. Probabilities of tables 2.2 and 2.4
are those of the machines tuned for tables 2.1 and 2.3.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, TunedClassifier, losses
from softmargin.datasets import make_disk
from softmargin.papers._exhibit import Exhibit, Experiment, Note, Part, generator, published_numbers
from softmargin.papers._protocol import pick
from softmargin.papers._scores import Array, between_class_distances
from softmargin.papers.conventions import gamma_of_double_width, summed_loss

__all__ = ["EXHIBITS"]

FLIPS = (0, 5, 10, 20)
LEVELS = {"3log2": 3 * np.log(2), "2log2": 2 * np.log(2), "log2": np.log(2)}
LINEAR = 10.0 ** np.arange(-3, 2.01, 0.25)
CURVED = 10.0 ** np.arange(-3, 1.01, 0.5)
TEST_ROWS = 10_000
TIES = {"": "first", "middle ": "middle", "largest ": "last"}  # candidates run from the smallest lambda


class _Trial:
    """One replication: rows, and the candidates (penalty, kernel width) in the order in which ties are decided."""

    def __init__(self, replication: int, name: str, part: str, rule: str) -> None:
        rng = generator(name, part, replication)
        flip = float(part.split()[1].rstrip("%")) / 100
        draws = (
            make_disk(n, rule=rule, flip=flip, random_state=int(rng.integers(2**31))) for n in (100, 100, TEST_ROWS)
        )
        self.train, self.tune, self.test = draws
        self.candidates: list[dict[str, Any]] = [{"C": float(C)} for C in summed_loss(LINEAR)]
        if rule == "cross":
            widths = np.quantile(between_class_distances(self.train.X, self.train.y.astype(float)), (0.25, 0.5, 0.75))
            gammas = gamma_of_double_width(widths)
            costs = summed_loss(CURVED)
            self.candidates = [{"C": float(C), "kernel": "rbf", "gamma": float(g)} for C in costs for g in gammas]

    def tuned(self, model: Any) -> tuple[dict[str, Any], float]:
        """The fits of least tuning error under each rule for ties, and that error."""
        fits = [clone(model).set_params(**candidate).fit(self.train.X, self.train.y) for candidate in self.candidates]
        wrong = [float((fit.predict(self.tune.X) != self.tune.y).mean()) for fit in fits]
        return {name: fits[pick(wrong, tie=tie)] for name, tie in TIES.items()}, min(wrong)

    def errors(self, name: str, model: Any) -> dict[str, float]:
        """Test errors of a tuned machine, by rule for ties."""
        return {f"{tie}TE {name}": self.error(fit) for tie, fit in self.tuned(model)[0].items()}

    def error(self, model: Any) -> float:
        positive = model.decision_function(self.test.X) >= 0
        return float(np.where(positive, 1 - self.test.probability, self.test.probability).mean())

    def distance(self, probability: Array) -> float:
        """Mean |P - estimate| on the test points."""
        return float(np.abs(probability - self.test.probability).mean())

    def schemes(self, model: TruncatedLogisticRegression, numbers: tuple[int, ...]) -> dict[str, float]:
        """Errors of the probabilities of a tuned machine under several schemes."""
        found = {}
        for scheme in numbers:
            model.set_params(scheme=scheme).fit(self.train.X, self.train.y)
            found[f"scheme{scheme}"] = self.distance(model.predict_proba(self.test.X)[:, 1])
        model.set_params(scheme=None)
        return found


def _hinges(trial: _Trial, names: dict[str, float]) -> dict[str, float]:
    values = trial.errors("SVM", MarginClassifier(loss="hinge"))
    for name, sigma in names.items():
        values |= trial.errors(name, RobustSVC(loss="truncated_hinge", sigma=sigma, probability=False))
    return values


def _plain(trial: _Trial) -> dict[str, float]:
    values = {}
    for tie, fit in trial.tuned(MarginClassifier(loss="logistic"))[0].items():
        values[f"{tie}TE PLR"] = trial.error(fit)
        values[f"{tie}P PLR"] = trial.distance(expit(fit.decision_function(trial.test.X)))
    return values


def _truncated(trial: _Trial, row: str, level: str) -> tuple[dict[str, float], dict[str, Any], float]:
    """Test errors and errors of probabilities of one level, under each rule for ties."""
    values = {}
    fits, wrong = trial.tuned(TruncatedLogisticRegression(level=LEVELS[level], scheme=None))
    for tie, fit in fits.items():
        values[f"{tie}TE {row} t={level}"] = trial.error(fit)
        for scheme, distance in trial.schemes(fit, _numbers(level)).items():
            values[f"{tie}P {row} t={level} {scheme}"] = distance
    return values, fits, wrong


def _numbers(level: str) -> tuple[int, ...]:
    return (1, 2, 3) if level == "3log2" else (3,)


def replicate_linear(replication: int, *, part: str) -> dict[str, float]:
    """Every row of tables 2.1 and 2.2 for one flip rate."""
    trial = _Trial(replication, "thesis-2.1", part, "diagonal")
    values = _plain(trial) | _hinges(trial, {"RSVM t=2": 2.0, "RSVM t=1": 1.0})
    tuning = {}
    for name in LEVELS:
        found, _, tuning[name] = _truncated(trial, "RPLR valid", name)
        values |= found | _by_formula(trial, name)
    level = list(LEVELS)[pick(list(tuning.values()), tie="middle")]
    for tie in TIES:
        values[f"{tie}TE RPLR valid tuned s"] = values[f"{tie}TE RPLR valid t={level}"]
    robust = MarginClassifier(loss=losses.CrouxHaesbroeck(0.5), C=1e6).fit(trial.train.X, trial.train.y)
    values["TE Croux-Haesbroeck"] = trial.error(robust)
    values["P Croux-Haesbroeck"] = trial.distance(expit(robust.decision_function(trial.test.X)))
    return values


def _by_formula(trial: _Trial, name: str) -> dict[str, float]:
    """The rows tuned by generalised approximate cross-validation, from the training rows alone."""
    model = TruncatedLogisticRegression(level=LEVELS[name], scheme=None)
    grid = {"C": np.sort(summed_loss(LINEAR))}
    search = TunedClassifier(model, grid=grid, criterion="egacv").fit(trial.train.X, trial.train.y)
    best = model.set_params(C=search.best_params_["C"]).fit(trial.train.X, trial.train.y)
    values = {f"TE RPLR GACV t={name}": trial.error(best)}
    return values | {f"P RPLR GACV t={name} {k}": v for k, v in trial.schemes(best, _numbers(name)).items()}


def replicate_curved(replication: int, *, part: str) -> dict[str, float]:
    """Every row of tables 2.3 and 2.4 for one flip rate."""
    trial = _Trial(replication, "thesis-2.3", part, "cross")
    values = _plain(trial) | _hinges(trial, {"RSVM s=-1": 2.0, "RSVM s=0": 1.0})
    for name in LEVELS:
        values |= _truncated(trial, "RPLR", name)[0]
    return values


def _experiment(name: str, replicate: Any) -> Experiment:
    parts = tuple(Part(f"flip {v}%", partial(replicate, part=f"flip {v}%")) for v in FLIPS)
    return Experiment(name, parts, 100)


_LINEAR = _experiment("thesis-2.1", replicate_linear)
_CURVED = _experiment("thesis-2.3", replicate_curved)
_PROTOCOL = (
    "100 rows to train, 100 to tune by the error, labels flipped in all sets; log10 lambda in -3(.25)2, ties to the "
    f"smallest lambda (grid and rule not stated); {TEST_ROWS} test points scored by their true probabilities "
    "(thesis: 10^6)."
)
_KERNEL_PROTOCOL = (
    "Gaussian kernel, width tuned over the quartiles of between-class distances; log10 lambda in -3(.5)1; otherwise as "
    "table 2.1."
)
_ZERO = (
    "At 0% and the chosen lambda nothing is truncated, so RPLR equals PLR, as the thesis's own row 2log2 shows; "
    ".0061 is "
    "not reproducible."
)
_GACV = (
    "Which variant of GACV, which scaling of lambda and which grid were run is not stated, and the formula as printed "
    "carries a stray factor (errata of section 2.6); ours is EGACV as derived."
)
_TIES = (
    "The error on the tuning rows does not see the scale of f, so the rule for ties decides these numbers and is not "
    "stated: PLR at 0% is .027, .067 or .140 with the smallest, middle or largest tied lambda."
)
_HALF = (
    "The published rows equal |1/2 - P| to three digits: the estimates were 1/2 everywhere, not the probabilities of a "
    "classifier with test error .04 (erratum)."
)
_LUNG = "the 188 lung cancers of Bhattacharjee et al. (2001) with 12625 genes were not obtainable"


def _exhibit(number: str, title: str, metric: str, experiment: Experiment, notes: tuple[Note, ...]) -> Exhibit:
    name = f"thesis-table-{number}"
    protocol = _PROTOCOL if experiment is _LINEAR else _KERNEL_PROTOCOL
    beginning = "TE " if metric == "Test error" else "P "
    others = tuple((f"with the {tie.strip()} of tied lambdas", tie + beginning) for tie in TIES if tie)
    published = published_numbers(name)
    return Exhibit(name, title, metric, protocol, experiment, beginning, notes, others, published=published)


_DISTANCE = "Mean absolute error of the class probability"
EXHIBITS = [
    _exhibit(
        "2.1",
        "Table 2.1: test errors, linear example 2.7.1.1",
        "Test error",
        _LINEAR,
        (
            Note("flip 0%", "RPLR valid t=3log2", _ZERO),
            Note(".*", "RPLR GACV.*", _GACV),
        ),
    ),
    _exhibit(
        "2.2",
        "Table 2.2: errors of class probabilities, linear example 2.7.1.1",
        _DISTANCE,
        _LINEAR,
        (Note(".*", ".*GACV.*", _GACV), Note(".*", "(PLR|RPLR valid).*", _TIES)),
    ),
    _exhibit("2.3", "Table 2.3: test errors, kernel example 2.7.1.2", "Test error", _CURVED, ()),
    _exhibit(
        "2.4",
        "Table 2.4: errors of class probabilities, kernel example 2.7.1.2",
        _DISTANCE,
        _CURVED,
        (Note(".*", "PLR|.*scheme1", _HALF), Note(".*", "RPLR.*scheme[23]", _TIES)),
    ),
    Exhibit(
        "thesis-table-2.5",
        "Table 2.5: lung cancer",
        "Test error",
        "63/63/62 rows, 316 genes, ten splits.",
        Experiment("thesis-2.5", (Part("lung", None, _LUNG),), 10),
        published=published_numbers("thesis-table-2.5"),
    ),
]
