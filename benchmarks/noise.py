"""The recommended line under wrong labels: accuracy on clean rows, whatever made the labels wrong.

At most 250 training rows of each set get labels of seven kinds: right; 10, 20 or 30% flipped; *one-sided*, 40% of one
class flipped; *far*, the tenth of the rows farthest from the mean flipped; *leverage*, a twentieth flipped and moved
ten times as far out. Lines: ``AutoClassifier()`` on the labels as they are, the same on rows that an audit leaves and
weighs (``audit_labels("auto").apply()``), and a logistic machine whose loss the audit corrects; peers are tuned on the
noisy labels by five folds, as a user would. No set had a say in these lines.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Memory
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks._harness import Absent, markdown_table, peer, table
from benchmarks._real import several
from softmargin import AutoClassifier, MarginClassifier, audit_labels

SETS = ("breast_w", "saheart", "mammographic", "ionosphere", "twonorm", "credit_a", "pima_diabetes_na", "higgs7k")
KINDS = ("0%", "10%", "20%", "30%", "one-sided", "far", "leverage")
_ROWS, _TEST_ROWS = 250, 1000
_MEMORY = Memory(Path(tempfile.gettempdir()) / "softmargin-benchmarks", verbose=0)


def spoilt(kind: str, X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels with one kind of noise."""
    n, centre = len(y), X.mean(axis=0)
    if kind == "one-sided":
        wrong = (y == 0) & (rng.random(n) < 0.4)
    elif kind == "far":
        wrong = np.zeros(n, dtype=bool)
        wrong[np.argsort(-np.square(X - centre).sum(axis=1))[: n // 10]] = True
    elif kind == "leverage":
        wrong = np.isin(np.arange(n), rng.choice(n, n // 20, replace=False))
        X = np.where(wrong[:, None], centre + 10 * (X - centre), X)
    else:
        wrong = rng.random(n) < float(kind.rstrip("%")) / 100
    return X, np.where(wrong, 1 - y, y)


def _audited(X: np.ndarray, y: np.ndarray) -> Any:
    rows, labels, weight = audit_labels("auto", X, y, random_state=0).apply()
    return AutoClassifier().fit(rows, labels, sample_weight=weight)


def _corrected(X: np.ndarray, y: np.ndarray) -> Any:
    loss = audit_labels("auto", X, y, random_state=0).corrected_loss()
    return make_pipeline(StandardScaler(), MarginClassifier(loss=loss, C=0.1)).fit(X, y)


def _tuned(machine: Any, grid: dict[str, Any]) -> Any:
    return GridSearchCV(make_pipeline(StandardScaler(), machine), grid, cv=5)


_COSTS = np.geomspace(1e-2, 1e2, 7)
LINES: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "AutoClassifier": lambda X, y: AutoClassifier().fit(X, y),
    "audit, then AutoClassifier": _audited,
    "audit, logistic with the loss corrected": _corrected,
    "SVC": lambda X, y: _tuned(SVC(), {"svc__C": _COSTS, "svc__gamma": ["scale", 0.01]}).fit(X, y),
    "LogisticRegressionCV": lambda X, y: make_pipeline(StandardScaler(), LogisticRegressionCV(max_iter=1000)).fit(X, y),
    "LinearSVC": lambda X, y: _tuned(LinearSVC(max_iter=20_000), {"linearsvc__C": _COSTS[:5]}).fit(X, y),
    "CleanLearning": lambda X, y: peer("cleanlab", "clean_learning", _logistic(), X, y)(),
    "HistGradientBoosting": lambda X, y: HistGradientBoostingClassifier(random_state=0).fit(X, y),
}
_OURS = tuple(LINES)[:3]


def _logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))


@_MEMORY.cache
def accuracy(name: str, kind: str, line: str, seed: int) -> float:
    """On clean test rows, in percent."""
    X, y = several(name, _ROWS + _TEST_ROWS)
    X, rng = np.asarray(X, dtype=float), np.random.default_rng(seed)
    order = rng.permutation(len(y))
    train, test = order[: min(_ROWS, int(0.7 * len(y)))], order[min(_ROWS, int(0.7 * len(y))) :]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LINES[line](*spoilt(kind, X[train], y[train], rng))
    return 100 * float(np.mean(model.predict(X[test]) == y[test]))


@table
def lines(quick: bool) -> str:
    """Accuracy (%) on clean test rows, mean over sets"""
    sets, seeds = (SETS[:2], 1) if quick else (SETS, 1)
    chosen = [line for line in LINES if not (quick and line in ("AutoClassifier", "audit, then AutoClassifier"))]
    try:
        found = {
            (line, kind): np.mean([accuracy(name, kind, line, seed) for name in sets for seed in range(seeds)])
            for kind in KINDS
            for line in chosen
        }
    except Absent as reason:
        return f"Not run: {reason}"
    rows = [[line, *(f"{found[line, kind]:.1f}" for kind in KINDS)] for line in chosen]
    peers = [line for line in chosen if line not in _OURS]
    rows.append(["best peer", *(f"{max(found[line, kind] for line in peers):.1f}" for kind in KINDS)])
    return markdown_table(["line", *KINDS], rows)
