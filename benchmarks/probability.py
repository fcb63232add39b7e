"""Probabilities, and tuning without a test set: what they cost and how good they are.

Costs are ratios to the plain job (one path, one fit) or to scikit-learn's calibration. Quality is the mean log loss
and Brier score on the test halves of two random splits of real binary data sets (at most 1000 training rows, columns
standardised); every support vector machine has an rbf kernel with scikit-learn's default C and gamma, so the methods
differ in how they make probabilities, except where "tuned" says that C was chosen from the training rows.

Perturbations: ProbabilisticSVC on 100 rows of a square with certain labels and of the bracketing paper's sine, whose
probabilities are known; seven values of C are judged by the estimated log loss (ten draws) and by folds. "Regret" is
the true log loss of the choice less that of the best of the seven, "error" the mean distance between estimated and true
log loss over all seven.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

from benchmarks._harness import Absent, Contest, contest, markdown_table, peer, table
from softmargin import (
    CoherenceClassifier,
    CompositeLeastSquaresClassifier,
    MarginClassifier,
    ProbabilisticSVC,
    ScoreCalibrator,
    TunedClassifier,
    datasets,
)
from softmargin.datasets import DataNotFound
from softmargin.probability import comparative_gkl
from softmargin.tuning import auto_costs, solution_path

SETS = (
    "australian",
    "banana",
    "breast_w",
    "bupa_liver",
    "german",
    "heart_statlog",
    "ionosphere",
    "magic",
    "phoneme",
    "pima_diabetes",
    "sonar",
    "spambase",
)


@contest
def leave_one_out_path(quick: bool) -> Contest:
    """Approximate leave-one-out for 100 values of C against the bare path."""
    X, y = make_classification(n_samples=2000, n_features=100, n_informative=20, flip_y=0.1, random_state=0)
    model = MarginClassifier()
    data = model._training_set(X, y, None)
    data.shared = model._prepare(data)
    problem = model._problem(data, data.signs())
    costs = auto_costs(problem, 100)
    return Contest(
        title="ALO over 100 values of C, logistic 2000 x 100, against one path",
        ours=lambda: TunedClassifier(MarginClassifier(), grid={"C": costs}).fit(X, y),
        peers={"one warm-started path": lambda: list(solution_path(problem, costs, model._solve))},
        bar=3.0,
        dream=2.0,
    )


@contest
def leave_one_out_kernel(quick: bool) -> Contest:
    """Exact leave-one-out of a kernel machine with squared loss against one fit."""
    X, y = make_classification(n_samples=1500, n_features=10, flip_y=0.1, random_state=0)
    model = MarginClassifier(loss="least_squares", kernel="rbf")
    return Contest(
        title="exact leave-one-out, squared loss, rbf, n = 1500, against one fit",
        ours=lambda: TunedClassifier(model, grid={"C": [1.0]}, criterion="loo").fit(X, y),
        peers={"one fit": lambda: MarginClassifier(loss="least_squares", kernel="rbf").fit(X, y)},
        bar=2.0,
        dream=1.5,
        note="One factor gives the fit and all leave-one-out scores; the kernel matrix is evaluated once.",
    )


@contest
def leave_one_out_composite(quick: bool) -> Contest:
    """Leave-one-out tuning of composite least squares against one fit."""
    X, y = make_classification(n_samples=1000, n_features=10, n_informative=6, n_classes=4, random_state=0)
    return Contest(
        title="composite least squares, rbf, n = 1000: 30 values of C by exact leave-one-out, against one fit",
        ours=lambda: CompositeLeastSquaresClassifier(kernel="rbf", C="auto").fit(X, y),
        peers={"one fit": lambda: CompositeLeastSquaresClassifier(kernel="rbf").fit(X, y)},
        note="Ours chooses among its whole default grid of C.",
    )


@contest
def covariance_penalty(quick: bool) -> Contest:
    """The covariance-penalty criterion for bracketed probabilities, 20 values of C."""
    sample = datasets.make_disk(100, random_state=0)
    grid = {"C": np.geomspace(0.01, 100, 20)}
    tuned = TunedClassifier(ProbabilisticSVC(kernel="rbf", gamma="median"), grid=grid, criterion="gkl", random_state=0)
    return Contest(
        title="gkl criterion, ProbabilisticSVC rbf, n = 100, 20 values of C (absolute bar: 2 s)",
        ours=lambda: tuned.fit(sample.X, sample.y),
        peers={},
    )


@contest
def calibration(quick: bool) -> Contest:
    """Calibrating a support vector machine against scikit-learn's way."""
    X, y = make_classification(n_samples=1000 if quick else 5000, n_features=10, flip_y=0.1, random_state=0)
    return Contest(
        title="ScoreCalibrator on SVC, n = 5000, against CalibratedClassifierCV(ensemble=False)",
        ours=lambda: ScoreCalibrator(SVC()).fit(X, y),
        peers={"sigmoid": lambda: CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y)},
        bar=1.05,
        dream=1.0,
        runs=3,
    )


def _methods() -> dict[str, Any]:
    """Each method as a function of training rows, labels and new rows; ours first."""

    def fit(model: Any) -> Any:
        return lambda X, y, new: model.fit(X, y).predict_proba(new)[:, 1]

    return {
        "ProbabilisticSVC": fit(ProbabilisticSVC(kernel="rbf")),
        "ScoreCalibrator(SVC)": fit(ScoreCalibrator(SVC())),
        "ScoreCalibrator(SVC), coherence u = 1": fit(ScoreCalibrator(SVC(), method="coherence", cost=1.0)),
        "ScoreCalibrator(SVC), coherence u fitted": fit(ScoreCalibrator(SVC(), method="coherence")),
        "ScoreCalibrator(SVC), platt": fit(ScoreCalibrator(SVC(), method="platt")),
        "CoherenceClassifier rbf": fit(CoherenceClassifier(kernel="rbf")),
        "MarginClassifier logistic rbf": fit(MarginClassifier(kernel="rbf")),
        "tuned MarginClassifier logistic rbf": fit(TunedClassifier(MarginClassifier(kernel="rbf"), grid=12)),
        "peer: CalibratedClassifierCV(SVC), sigmoid": fit(CalibratedClassifierCV(SVC(), ensemble=False)),
        "peer: CalibratedClassifierCV(SVC), isotonic": fit(
            CalibratedClassifierCV(SVC(), method="isotonic", ensemble=False)
        ),
        "peer: LogisticRegression": fit(LogisticRegression(max_iter=1000)),
        "peer: venn-abers on SVC": lambda X, y, new: peer(
            "venn_abers", "probabilities", SVC(probability=True), X, y, new
        )(),
    }


def _split(name: str, seed: int) -> tuple[np.ndarray, ...]:
    data = datasets.load(name, standardize=True, download=False)
    X, y = np.asarray(data.X), (data.y == np.unique(data.y)[1]).astype(int)
    size = min(1000, len(y) // 2)
    test = min(2000, len(y) - size)
    train, rest = next(StratifiedShuffleSplit(1, train_size=size, test_size=test, random_state=seed).split(X, y))
    return X[train], y[train], X[rest], y[rest]


@table
def quality(quick: bool) -> str:
    """Mean log loss and Brier score on 12 binary data sets (smaller is better)"""
    sets, seeds = (SETS[:3], (0,)) if quick else (SETS, (0, 1))
    scores: dict[str, list[list[float]]] = {}
    absent = []
    for method, probabilities in _methods().items():
        try:
            rows = []
            for name in sets:
                parts = []
                for seed in seeds:
                    X, y, X_new, y_new = _split(name, seed)
                    p = np.clip(probabilities(X, y, X_new), 1e-15, 1 - 1e-15)
                    truth = np.where(y_new == 1, p, 1 - p)
                    parts.append((-np.log(truth).mean(), np.square(1 - truth).mean()))
                rows.append(list(np.mean(parts, axis=0)))
            scores[method] = rows
        except Absent as reason:
            absent.append(f"{method} is absent: {reason}.")
        except DataNotFound as reason:
            return f"Not run: {reason}"
    means = {method: np.mean(rows, axis=0) for method, rows in scores.items()}
    ours = min(m[0] for method, m in means.items() if not method.startswith("peer"))
    theirs = min(m[0] for method, m in means.items() if method.startswith("peer"))
    head = ["method", "mean log loss", "mean Brier", *sets]
    lines = [[m, f"{means[m][0]:.4f}", f"{means[m][1]:.4f}", *[f"{r[0]:.3f}" for r in scores[m]]] for m in means]
    verdict = f"Best of ours {ours:.4f}, best of theirs {theirs:.4f} (mean log loss; per set below)."
    return "\n\n".join([verdict, markdown_table(head, lines), *absent])


COSTS = np.geomspace(0.01, 100.0, 7)
CHOICES: dict[str, dict[str, Any]] = {
    **{
        f"{kind}, tau = {tau}": {"criterion": "gkl", "perturbation": kind, "tau": tau, "n_draws": 10}
        for kind in ("pairs", "literal")
        for tau in (0.5, 1.0)
    },
    "five folds": {"criterion": "cv", "scoring": "log_loss"},
}


@table
def perturbations(quick: bool) -> str:
    """How rows are perturbed for the estimated log loss"""
    tallies: dict[str, list[tuple[float, float]]] = {name: [] for name in CHOICES}
    for make in (datasets.make_square, datasets.make_sine):
        for seed in range(1 if quick else 12):
            X, y, _ = make(100, random_state=seed)
            new, _, p = make(2000, random_state=1000 + seed)
            machine = ProbabilisticSVC(kernel="rbf", gamma="median")
            fits = [clone(machine).set_params(C=C).fit(X, y).predict_proba(new)[:, 1] for C in COSTS]
            true = {float(C): comparative_gkl(p, q) for C, q in zip(COSTS, fits, strict=True)}
            for name, how in CHOICES.items():
                tuned = TunedClassifier(machine, grid={"C": COSTS}, random_state=seed, **how).fit(X, y)
                regret = true[tuned.best_params_["C"]] - min(true.values())
                found = tuned.results_.set_index("C")[tuned.criterion_]
                tallies[name].append((regret, float(np.mean([abs(found[C] - true[C]) for C in true]))))
    rows = []
    for name, pairs in tallies.items():
        means, errors = np.mean(pairs, axis=0), np.std(pairs, axis=0, ddof=1) / np.sqrt(len(pairs))
        rows.append([name, *(f"{mean:.4f} +- {error:.4f}" for mean, error in zip(means, errors, strict=True))])
    return markdown_table(["choice", "regret", "error"], rows)
