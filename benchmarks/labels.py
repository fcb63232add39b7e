"""Wrong labels: are they found, and do they hurt?

Audit: 15% of the labels of eight real data sets are flipped (at most 1000 rows of each, columns standardised); the
table shows the area under the curve with which each method ranks the flipped rows, mean over two random flips.
cleanlab scores out-of-fold probabilities of logistic regression and of a calibrated rbf SVC; its better one counts
for each set. Accuracy: 0, 10 and 20% of the training labels are flipped, every method chooses C (RobustSVC also
sigma, infinity included) by 5-fold cross-validated error on the noisy labels, accuracy is on clean test rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.svm import SVC, LinearSVC

from benchmarks._harness import Absent, markdown_table, peer, table
from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, TunedClassifier, audit_labels, datasets
from softmargin.datasets import DataNotFound, flip_labels

SETS = ("breast_w", "pima_diabetes", "ionosphere", "spambase", "magic", "phoneme", "twonorm", "banana")
COSTS = np.geomspace(1e-2, 1e2, 7)


def _rows(name: str, limit: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    data = datasets.load(name, standardize=True, download=False)
    y = (data.y == np.unique(data.y)[1]).astype(int)
    keep = np.random.default_rng(seed).permutation(len(y))[:limit]
    return np.asarray(data.X)[keep], y[keep]


def _auditors() -> dict[str, Any]:
    def ours(model: Any, repeats: int = 3) -> Any:
        def trust(X: np.ndarray, y: np.ndarray) -> np.ndarray:
            report = audit_labels(model, X, y, n_repeats=repeats, random_state=0)
            return report.sort_values("row")["trust"].to_numpy()

        return trust

    svc = CalibratedClassifierCV(SVC(), ensemble=False)
    return {
        "audit_labels, kernel logistic": ours(MarginClassifier(kernel="rbf")),
        "audit_labels, kernel logistic, C tuned": ours(TunedClassifier(MarginClassifier(kernel="rbf"), grid=8), 1),
        "audit_labels, RobustSVC rbf": ours(RobustSVC(kernel="rbf", sigma=2.0, C=1.0)),
        "cleanlab, logistic regression": peer_trust(LogisticRegression(max_iter=1000)),
        "cleanlab, calibrated SVC": peer_trust(svc),
    }


def peer_trust(model: Any) -> Any:
    """cleanlab's scores on a model's out-of-fold probabilities."""
    return lambda X, y: peer("cleanlab", "trust", model, X, y)()


@table
def audit(quick: bool) -> str:
    """Finding flipped labels: AUC at 15% flips (larger is better)"""
    sets, seeds, limit = (SETS[:2], (0,), 400) if quick else (SETS, (0, 1), 1000)
    found: dict[str, list[float]] = {}
    for method, trust in _auditors().items():
        try:
            found[method] = [float(np.mean([_auc(name, seed, limit, trust) for seed in seeds])) for name in sets]
        except (Absent, DataNotFound) as reason:
            return f"Not run: {reason}"
    better = np.maximum(found["cleanlab, logistic regression"], found["cleanlab, calibrated SVC"])
    found["cleanlab, the better of the two per set"] = list(better)
    lines = [[method, f"{np.mean(v):.4f}", *[f"{a:.3f}" for a in v]] for method, v in found.items()]
    return markdown_table(["method", "mean AUC", *sets], lines)


def _auc(name: str, seed: int, limit: int, trust: Any) -> float:
    X, y = _rows(name, limit, seed)
    noisy, flipped = flip_labels(y, 0.15, random_state=seed)
    return float(roc_auc_score(flipped, -trust(X, noisy)))


def _classifiers() -> dict[str, Any]:
    def search(model: Any) -> Any:
        return GridSearchCV(model, {"C": COSTS}, cv=5)

    def tuned(model: Any, **grid: Any) -> Any:
        return TunedClassifier(model, grid={"C": COSTS} | grid, criterion="cv", scoring="error")

    return {
        "RobustSVC rbf": tuned(RobustSVC(kernel="rbf"), sigma=[1.0, 2.0, np.inf]),
        "TruncatedLogisticRegression rbf": tuned(TruncatedLogisticRegression(kernel="rbf")),
        "MarginClassifier logistic rbf": tuned(MarginClassifier(kernel="rbf")),
        "peer: SVC": search(SVC()),
        "peer: LogisticRegression": search(LogisticRegression(max_iter=2000)),
        "peer: LinearSVC": search(LinearSVC()),
    }


@table
def accuracy(quick: bool) -> str:
    """Accuracy (%) on clean test rows when training labels are flipped"""
    sets, seeds, size = (SETS[:2], (0,), 150) if quick else (SETS, (0, 1), 300)
    blocks = []
    for rate in (0.0, 0.1, 0.2):
        try:
            rows = {
                method: [_accuracy(name, seeds, size, rate, model) for name in sets]
                for method, model in _classifiers().items()
            }
        except DataNotFound as reason:
            return f"Not run: {reason}"
        lines = [[m, f"{np.mean(v):.2f}", *[f"{a:.1f}" for a in v]] for m, v in rows.items()]
        blocks.append(f"Flipped: {rate:.0%}\n\n" + markdown_table(["method", "mean", *sets], lines))
    return "\n\n".join(blocks)


def _accuracy(name: str, seeds: tuple[int, ...], size: int, rate: float, model: Any) -> float:
    found = []
    for seed in seeds:
        X, y = _rows(name, 4000, seed)
        size = min(size, len(y) * 6 // 10)
        split = StratifiedShuffleSplit(1, train_size=size, test_size=len(y) - size, random_state=seed)
        train, test = next(split.split(X, y))
        noisy = flip_labels(y[train], rate, random_state=seed)[0] if rate else y[train]
        found.append(100 * np.mean(model.fit(X[train], noisy).predict(X[test]) == y[test]))
    return float(np.mean(found))


@table
def radiologists(quick: bool) -> str:
    """Real label noise: a radiologist's call against the biopsy (mammographic masses)"""
    try:
        data = datasets.load("mammographic", standardize=True, target="target_noisy", download=False)
    except DataNotFound as reason:
        return f"Not run: {reason}"
    X, call, biopsy = np.asarray(data.X), data.y.astype(int), data.extras["target"].astype(int)
    wrong = call != biopsy
    lines = []
    for method, trust in _auditors().items():
        try:
            score = trust(X, call)
        except Absent as reason:
            return f"Not run: {reason}"
        worst = np.argsort(score, kind="stable")
        precision = [f"{100 * wrong[worst[:k]].mean():.0f}" for k in (20, 50, 100)]
        lines.append([method, f"{roc_auc_score(wrong, -score):.3f}", *precision])
    note = (
        f"{wrong.sum()} of {len(call)} calls differ from the biopsy ({100 * wrong.mean():.1f}%). A call is a BI-RADS "
        "assessment of 5 or more, which is not among the features; a wrong one is found where age, shape, margin and "
        "density contradict it."
    )
    head = ["method", "AUC", "wrong among the 20 least trusted (%)", "50", "100"]
    return note + "\n\n" + markdown_table(head, lines)
