"""Who predicts best on real tables at the first line a user would type?

Mean log loss, error rate, rank in log loss and seconds over the tables of the data directory (two and more classes,
missing values, 100 to 20000 rows), the same three stratified splits for everybody, at most 4000 rows to train. Ours:
the recommended line, tuned kernel logistic regression and rules; peers: scikit-learn's and, where they are installed,
CatBoost and LightGBM. Tables are encoded for whoever cannot read names (indicators, medians, standardised).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, StratifiedShuffleSplit
from sklearn.svm import SVC

import softmargin
from benchmarks._harness import Absent, markdown_table, table
from benchmarks._real import limited
from softmargin import MarginClassifier, RuleBoostClassifier, ScoreCalibrator, TunedClassifier
from softmargin.datasets import load

# fmt: off
TABLES = (
    "adult", "appendicitis", "australian", "balance", "banana", "breast_ljubljana", "breast_w", "bupa_liver", "car",
    "churn", "cleveland", "cmc", "credit_a", "credit_data", "dermatology", "ecoli", "german", "glass", "haberman",
    "heart_statlog", "hepatitis", "house_votes84", "ionosphere", "kr_vs_kp", "led7digit", "lymphography", "magic",
    "mammographic", "newthyroid", "nursery", "page_blocks", "pendigits", "phoneme", "pima_diabetes", "saheart",
    "segment", "sonar", "soybean", "spambase", "splice", "tae", "tic_tac_toe", "vehicle", "waveform_40", "wdbc",
    "yeast", "zoo",
)
# fmt: on
_MOST_ROWS = 4000
_LIMIT = 600.0
_SLOW = ("AutoClassifier", "SVC grid + sigmoid", "RandomForest", "HistGradientBoosting", "HistGradientBoosting, tuned")
Line = Callable[[], Any]


def _boosted() -> Any:
    ranges = {
        "learning_rate": [0.02, 0.05, 0.1, 0.2], "max_leaf_nodes": [7, 15, 31], "max_iter": [50, 100, 200],
        "min_samples_leaf": [5, 20, 50], "l2_regularization": [0.0, 1.0, 10.0],
    }  # fmt: skip
    model = HistGradientBoostingClassifier(random_state=0)
    return RandomizedSearchCV(model, ranges, n_iter=20, cv=3, scoring="neg_log_loss", random_state=0)


def _optional(module: str, name: str, **options: Any) -> Any:
    try:
        return getattr(import_module(module), name)(**options)
    except ImportError as error:
        raise Absent(f"{module} is not installed") from error


def _auto() -> Any:
    if not hasattr(softmargin, "AutoClassifier"):
        raise Absent("no AutoClassifier in this version")
    return softmargin.AutoClassifier(random_state=0)


def _tuned_rbf() -> Any:
    grid = {"C": 12, "gamma": [0.003, 0.01, 0.03, 0.1]}
    return TunedClassifier(MarginClassifier(kernel="rbf"), grid=grid, random_state=0)


def _svc_grid() -> Any:
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
    return CalibratedClassifierCV(GridSearchCV(SVC(), grid, cv=3), cv=3)


def lines() -> dict[str, Line]:
    """Every contestant by name, made anew for each fit."""
    return {
        "AutoClassifier": _auto,
        "tuned rbf logistic": _tuned_rbf,
        "tuned logistic": lambda: TunedClassifier(MarginClassifier(), random_state=0),
        "RuleBoostClassifier": lambda: RuleBoostClassifier(random_state=0),
        "ScoreCalibrator(SVC)": lambda: ScoreCalibrator(SVC()),
        "SVC + sigmoid": lambda: CalibratedClassifierCV(SVC()),
        "SVC grid + sigmoid": _svc_grid,
        "LogisticRegressionCV": lambda: LogisticRegressionCV(max_iter=2000, scoring="neg_log_loss"),
        "RandomForest": lambda: RandomForestClassifier(random_state=0),
        "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
        "HistGradientBoosting, tuned": _boosted,
        "CatBoost": lambda: _optional("catboost", "CatBoostClassifier", verbose=False, random_seed=0, thread_count=2),
        "LightGBM": lambda: _optional("lightgbm", "LGBMClassifier", verbose=-1, random_state=0),
    }


def _splits(codes: np.ndarray, quick: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    part = min(0.7, _MOST_ROWS / len(codes)) if not quick else min(0.7, 300 / len(codes))
    splitter = StratifiedShuffleSplit(1 if quick else 3, train_size=part, random_state=0)
    yield from splitter.split(np.zeros(len(codes)), codes)


def _judge(make: Line, X: np.ndarray, codes: np.ndarray, quick: bool) -> tuple[float, float, float]:
    """Log loss, error and seconds, averaged over the splits."""
    found = []
    for train, test in _splits(codes, quick):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(X[train], codes[train])
        seconds = time.perf_counter() - start
        P = np.zeros((len(test), codes.max() + 1))
        P[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(X[test])
        P = np.clip(P, 1e-6, None)
        P /= P.sum(axis=1, keepdims=True)
        found.append(
            (log_loss(codes[test], P, labels=np.arange(P.shape[1])), (P.argmax(1) != codes[test]).mean(), seconds)
        )
    return tuple(np.mean(found, axis=0).tolist())  # type: ignore[return-value]


def _read(name: str) -> tuple[np.ndarray, np.ndarray]:
    data = load(name, standardize=True, download=False)
    codes = np.unique(data.y, return_inverse=True)[1]
    often = np.bincount(codes)[codes] >= 8
    return np.asarray(data.X)[often], np.unique(codes[often], return_inverse=True)[1]


@table
def first_lines(quick: bool) -> str:
    """Log loss, rank, error and time of the first line"""
    made, scores, absent = lines(), {}, {}
    if quick:  # searches and forests take their time on any table
        made = {name: make for name, make in made.items() if name not in _SLOW}
    for name in ("iris", "breast_cancer") if quick else TABLES:
        try:
            X, codes = _read(name)
        except LookupError:
            continue
        for line, make in made.items():
            try:
                scores[name, line] = limited(lambda: _judge(make, X, codes, quick), _LIMIT)()  # noqa: B023
            except Absent as reason:
                absent[line] = str(reason)
            except Exception as error:
                absent[line] = f"{name}: {type(error).__name__} {error}"[:80]
    return _summary(list(made), scores, absent)


def _summary(made: list[str], scores: dict[Any, Any], absent: dict[str, str]) -> str:
    """Means over the tables that every contestant finished, and each table's log losses below."""
    names = list(dict.fromkeys(name for name, _ in scores))
    present = [line for line in made if any((name, line) in scores for name in names)]
    whole = [name for name in names if all((name, line) in scores for line in present)]
    cube = np.array([[scores[name, line] for line in present] for name in whole]).reshape(len(whole), len(present), 3)
    ranks = np.array([rankdata(row[:, 0]) for row in cube])
    order = np.argsort(cube[:, :, 0].mean(axis=0))
    rows = [
        [present[j], *cube[:, j, :2].mean(axis=0).tolist(), float(ranks[:, j].mean()), float(cube[:, j, 2].mean())]
        for j in order
    ]
    means = markdown_table(["line", "log loss", "error", "rank", "seconds"], rows)
    each = markdown_table(["table", *present], [[n, *(float(v) for v in cube[i, :, 0])] for i, n in enumerate(whole)])
    gone = "\n".join(f"- {line}: {reason}" for line, reason in absent.items())
    return f"{len(whole)} tables.\n\n{means}\n\nLog loss of each table:\n\n{each}\n\n{gone}"
