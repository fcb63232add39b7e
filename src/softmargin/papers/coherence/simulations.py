"""Tables 2 and 3 and figure 2: probabilities and errors on two simulated sets.

1000 points, 100 of them to train; Gaussian kernel with the median between-class distance. The paper does not say how
the penalty was chosen. Here ``gamma = 10^0 .. 10^-5`` (16 values) by five folds: SVMs by the error, everything whose
probabilities are its own by the log loss. C-learning has ``rho = u = 1`` and no l1 part. "WSL" brackets weighted SVMs
and is tuned by the log loss of its folds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from softmargin import ProbabilisticSVC
from softmargin.datasets import Sample, make_disk, make_sine
from softmargin.losses import Coherence, Logistic, Loss
from softmargin.papers._exhibit import Exhibit, Experiment, Note, Part, Results, generator, published_numbers
from softmargin.papers._figures import panels
from softmargin.papers._protocol import pick, split_rows
from softmargin.papers._scores import (
    Array,
    between_class_distances,
    cv_scores,
    folds,
    gaussian,
    hinge_fit,
    smooth_fit,
)
from softmargin.papers.conventions import gamma_of_width, mean_loss
from softmargin.plots import SOFT, class_colour
from softmargin.probability import Sollich, comparative_gkl, fit_sigmoid, fit_temperature

__all__ = ["EXHIBITS"]

NAME = "coherence-simulations"
PENALTIES = np.logspace(0, -5, 16)
WEIGHTS = 20
_LEARNING = Coherence(temperature=1.0, cost=1.0, scale="V")


def _log_loss(odds: Array, y: Array) -> Array:
    return np.logaddexp(0, -y[:, None] * odds).mean(axis=0)


def _errors(scores: Array, y: Array) -> Array:
    return (np.sign(scores) != y[:, None]).mean(axis=0)


def _own_link(loss: Loss, data: Any) -> tuple[Array, Array]:
    """Probabilities of a loss with a link of its own, tuned by the log loss of the folds and by their error."""
    fit = smooth_fit(loss)
    left_out = cv_scores(fit, data.K, data.y, data.Cs, data.folds)
    scores = fit(data.K, data.y, data.K_test, data.Cs)
    best = pick(_log_loss(loss.log_odds(left_out), data.y)), pick(_errors(left_out, data.y))
    by_loss, by_error = (expit(loss.log_odds(scores[:, k])) for k in best)
    return by_loss, by_error


class _Data:
    """Kernel matrices, labels, grid and folds of one replication."""

    def __init__(self, sample: Sample, rng: np.random.Generator) -> None:
        train, test = split_rows(len(sample.y), (100, -1), random_state=rng, labels=sample.y)
        X, self.y = sample.X[train], sample.y[train].astype(float)
        gamma = float(gamma_of_width(np.median(between_class_distances(X, self.y))))
        self.K, self.K_test = gaussian(X, X, gamma), gaussian(sample.X[test], X, gamma)
        self.truth = sample.probability[test]
        self.Cs = mean_loss(PENALTIES, len(train))
        self.folds = folds(self.y, 5, rng)


def _wsl(data: _Data) -> Array:
    """Probabilities by bracketing; the fits of a fold share their kernel matrix."""
    losses = []
    for C in data.Cs[2::2]:
        model = ProbabilisticSVC(C=float(C), kernel="precomputed", n_weights=WEIGHTS)
        cost = 0.0
        for train, test in data.folds:
            model.fit(data.K[np.ix_(train, train)], data.y[train])
            p = model.predict_proba(data.K[np.ix_(test, train)])[:, 1]
            cost += comparative_gkl((data.y[test] + 1) / 2, p)
        losses.append(cost)
    best = ProbabilisticSVC(C=float(data.Cs[2::2][pick(losses)]), kernel="precomputed", n_weights=WEIGHTS)
    return np.asarray(best.fit(data.K, data.y).predict_proba(data.K_test)[:, 1])


def replicate(replication: int, *, part: str, make: Callable[..., Sample]) -> dict[str, float]:
    """GKL and error of every method, and the fitted temperature."""
    rng = generator(NAME, part, replication)
    data = _Data(make(1000, random_state=int(rng.integers(2**31))), rng)
    left_out = cv_scores(hinge_fit, data.K, data.y, data.Cs, data.folds)
    by_error = pick(_errors(left_out, data.y))
    platts = [fit_sigmoid(left_out[:, k], data.y) for k in range(len(data.Cs))]
    by_loss = pick([_log_loss(platts[k].log_odds(left_out[:, [k]]), data.y)[0] for k in range(len(data.Cs))])
    f_train = hinge_fit(data.K, data.y, data.K, data.Cs)
    f_test = hinge_fit(data.K, data.y, data.K_test, data.Cs)
    links = {u: fit_temperature(f_train[:, by_error], data.y, cost=u, bounds=(0.01, 100.0)) for u in (1.0, 0.0)}
    logistic, learning = _own_link(Logistic(), data), _own_link(_LEARNING, data)
    probabilities = {"PLR": logistic[0], "C-learning": learning[0], "WSL": _wsl(data)}
    probabilities["tuned Platt"] = expit(platts[by_loss].log_odds(f_test[:, by_loss]))
    for tuning, k in (("", by_error), ("loss ", by_loss)):
        probabilities[f"{tuning}Platt"] = expit(fit_sigmoid(f_train[:, k], data.y).log_odds(f_test[:, k]))
        probabilities[f"{tuning}Sollich"] = expit(Sollich().log_odds(f_test[:, k]))
    probabilities |= {"error PLR": logistic[1], "error C-learning": learning[1]}
    for reading, link in (("", links[1.0]), ("u=0 ", links[0.0])):
        probabilities[f"{reading}SVM with fitted temperature"] = expit(link.log_odds(f_test[:, by_error]))
    values = {"temperature": links[1.0].temperature, "temperature u=0": links[0.0].temperature}
    for name, p in probabilities.items():
        values[f"GKL {name}"] = comparative_gkl(data.truth, np.clip(p, 1e-12, 1 - 1e-12))
        values[f"CER {name}"] = float(np.where(p > 0.5, 1 - data.truth, data.truth).mean())
    return values


def _draw(results: Results) -> Any:
    figure, axes = panels(len(results))
    ranges = {"Data 1": (0.3402, 0.8773), "Data 2": (0.1077, 1.3166)}
    for ax, part in zip(axes, results, strict=True):
        ax.axhspan(*ranges[part], color=SOFT, alpha=0.15, lw=0)
        for number, (key, label) in enumerate((("temperature", "u = 1, as stated"), ("temperature u=0", "u = 0"))):
            ax.plot(results[part][key], ".", color=class_colour(number), label=label)
        ax.set(xlabel="replication", ylabel="temperature", yscale="log", title=f"{part} (grey: published range)")
        ax.legend(frameon=False, fontsize=8)
    return figure


EXPERIMENT = Experiment(
    NAME,
    (
        Part("Data 1", partial(replicate, part="Data 1", make=make_disk)),
        Part("Data 2", partial(replicate, part="Data 2", make=make_sine)),
    ),
    100,
)
_PROTOCOL = (
    "1000 points, 100 to train; Gaussian kernel of median width; the penalty, not stated in the paper, from 16 "
    "values by "
    "five folds: SVMs by the error, tuned Platt, WSL, PLR and C-learning by the log loss."
)
_LINK = (
    "The link of equation (12) with u = 1 keeps every score inside the margin within (1/3, 2/3), so these numbers "
    "cannot come from it: with the scores of the Bayes rule itself Data 1 would still give .544. With u = 0 the "
    "temperatures of Data 1 fall into the published range (figure 2)."
)
_BELOW = (
    "The published figure for Data 1 lies below what the best penalty chosen on the test set itself gives with 100 "
    "rows "
    "and this kernel (error .228, GKL .555 over 50 replications); it is reached with 400 training rows."
)
_CITED = "The column was cited from Wang, Shen and Liu (2008), whose own tables are run as bracketing-table-1 and 2."
_PSI = "Cited from Wang, Shen and Liu's psi-learning (erratum: table 2 cites their SVM); ours is the SVM."
_NOTES = (
    Note(".*", "SVM with fitted temperature", _LINK),
    Note("Data 1", "C-learning", _BELOW),
    Note(".*", "PLR|tuned Platt", _CITED),
)
_NOTES_3 = (
    Note("Data 1", "C-learning|SVM with fitted temperature|Platt", _BELOW),
    Note(".*", "PLR", _CITED),
    Note(".*", "WSL", _PSI),
)


def _readings(metric: str) -> tuple[tuple[str, str], ...]:
    return (
        ("with the link u = 0 in place of equation (12)", f"{metric}u=0 "),
        ("with the penalty chosen by the error of the folds", f"{metric}error "),
        ("with the penalty chosen by the log loss of the folds", f"{metric}loss "),
    )


EXHIBITS = [
    Exhibit(
        "coherence-table-2",
        "Table 2: GKL on two simulated sets",
        "Cross entropy with the true probabilities (the paper's GKL is comparative: errata)",
        _PROTOCOL,
        EXPERIMENT,
        "GKL ",
        (*_NOTES, Note(".*", "WSL", _CITED)),
        _readings("GKL "),
        published=published_numbers("coherence-table-2"),
    ),
    Exhibit(
        "coherence-table-3",
        "Table 3: error rates on two simulated sets",
        "Error under the true probabilities",
        _PROTOCOL,
        EXPERIMENT,
        "CER ",
        _NOTES_3,
        _readings("CER "),
        published=published_numbers("coherence-table-3"),
    ),
    Exhibit(
        "coherence-figure-2",
        "Figure 2: temperatures fitted to the scores of SVMs",
        "",
        "One point per replication; the paper gives the ranges only.",
        EXPERIMENT,
        draw=_draw,
    ),
]
