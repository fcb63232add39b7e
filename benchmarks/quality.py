"""Who predicts best on real tables at the first line a user would type?

Mean log loss, error rate, rank in log loss and seconds of one processor over real tables (two and more classes, missing
values, 100 to 20000 rows), the same splits for everybody, at most 3000 rows to train. Rules and defaults were settled
on the development tables; the others had no say. Ours: the recommended line, rules, boosted trees, calibrated scores;
peers: scikit-learn's, CatBoost, LightGBM. Results are remembered, so a run may be interrupted; tables that are not in
the data directory are left out by name.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.svm import SVC

import softmargin
from benchmarks._harness import Absent, markdown_table, table
from benchmarks._tables import DEVELOPMENT, REPORTED, Contestant, Memory, digest_of, judge, read
from softmargin import AutoClassifier, RuleBoostClassifier, ScoreCalibrator

_QUICK = ("iris", "breast_cancer")


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


def _svc_grid() -> Any:
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
    return CalibratedClassifierCV(GridSearchCV(SVC(), grid, cv=3), cv=3)


def _names(frame: Any) -> dict[str, Any]:
    return {"cat_features": list(frame.select_dtypes(exclude="number").columns)}


OURS = {
    "AutoClassifier": Contestant(AutoClassifier, "raw"),
    "RuleBoostClassifier": Contestant(RuleBoostClassifier, "raw"),
    "RuleBoostClassifier, trees": Contestant(lambda: RuleBoostClassifier(learner="trees"), "raw"),
    "ScoreCalibrator(SVC)": Contestant(lambda: ScoreCalibrator(SVC())),
}
PEERS = {
    "LogisticRegressionCV": Contestant(lambda: LogisticRegressionCV(max_iter=2000, scoring="neg_log_loss")),
    "SVC + sigmoid": Contestant(lambda: CalibratedClassifierCV(SVC())),
    "SVC grid + sigmoid": Contestant(_svc_grid),
    "RandomForest": Contestant(lambda: RandomForestClassifier(500, random_state=0)),
    "HistGradientBoosting": Contestant(lambda: HistGradientBoostingClassifier(random_state=0), "category"),
    "HistGradientBoosting, tuned": Contestant(_boosted, "category"),
    "CatBoost": Contestant(
        lambda: _optional("catboost", "CatBoostClassifier", verbose=False, random_seed=0, thread_count=1,
                          allow_writing_files=False), "names", _names),
    "LightGBM": Contestant(
        lambda: _optional("lightgbm", "LGBMClassifier", verbose=-1, random_state=0, n_jobs=1), "category"),
}  # fmt: skip
_CALIBRATION = ("ScoreCalibrator(SVC)", "SVC + sigmoid")  # judged against each other, not ranked among first lines
_SLOW = {"AutoClassifier", "SVC grid + sigmoid", "RandomForest", "HistGradientBoosting", "HistGradientBoosting, tuned"}


def _digest(line: str) -> str:
    if line in OURS:
        return digest_of(softmargin)
    package = {"CatBoost": "catboost", "LightGBM": "lightgbm"}.get(line, "scikit-learn")
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return "absent"


def measure(names: tuple[str, ...], lines: dict[str, Contestant], memory: Memory) -> dict[tuple[str, str], Any]:
    """What every line does on every table that is here."""
    found = {}
    for name in names:
        try:
            frame, codes = read(name)
        except Absent:
            continue
        for line, one in lines.items():
            found[name, line] = memory.recall(name, line, _digest(line), lambda: judge(one, frame, codes))  # noqa: B023
    return found


@table
def reported(quick: bool) -> str:
    """The first line, on tables that had no say in it"""
    return _race(_QUICK if quick else REPORTED, quick)


@table
def development(quick: bool) -> str:
    """The first line, on the tables rules and defaults were settled on"""
    return "Left out of a quick run." if quick else _race(DEVELOPMENT, quick)


def _race(names: tuple[str, ...], quick: bool) -> str:
    lines = {name: one for name, one in (OURS | PEERS).items() if not (quick and name in _SLOW)}
    found = measure(names, lines, Memory())
    parts = [_ranking(found, [line for line in lines if line not in _CALIBRATION]), _ratios(found), _each(found)]
    return "\n\n".join(parts)


def _cube(found: dict[tuple[str, str], Any], lines: list[str]) -> tuple[list[str], np.ndarray]:
    """The tables that all of these lines finished, and (tables, lines, 3) of log loss, error and seconds."""
    names = [
        name
        for name in dict.fromkeys(name for name, _ in found)
        if all(isinstance(found.get((name, line)), list) for line in lines)
    ]
    return names, np.array([[found[name, line] for line in lines] for name in names]).reshape(-1, len(lines), 3)


def _present(found: dict[tuple[str, str], Any], lines: list[str]) -> list[str]:
    return [line for line in lines if any(isinstance(v, list) for (_, one), v in found.items() if one == line)]


def _ranking(found: dict[tuple[str, str], Any], lines: list[str]) -> str:
    present = _present(found, lines)
    names, cube = _cube(found, present)
    ranks = np.array([rankdata(row[:, 0]) for row in cube]).reshape(-1, len(present))
    rows = [[line, *cube[:, j].mean(axis=0)[:2].tolist(), float(ranks[:, j].mean()), float(cube[:, j, 2].mean())]
            for j, line in enumerate(present)]  # fmt: skip
    rows.sort(key=lambda row: row[1])
    return f"{len(names)} tables.\n\n" + markdown_table(["line", "log loss", "error", "rank", "seconds"], rows)


_RATIOS = (
    ("AutoClassifier", "HistGradientBoosting, tuned", "all"),
    ("RuleBoostClassifier", "RandomForest", "all"),
    ("RuleBoostClassifier, trees", "HistGradientBoosting, tuned", "2000 rows and more"),
    ("ScoreCalibrator(SVC)", "SVC + sigmoid", "two classes"),
    ("ScoreCalibrator(SVC)", "SVC + sigmoid", "several classes"),
)


def _ratios(found: dict[tuple[str, str], Any]) -> str:
    """Of one line to another: mean log loss, error and seconds."""
    keep = {
        "all": lambda codes: True,
        "2000 rows and more": lambda codes: len(codes) >= 2000,
        "two classes": lambda codes: codes.max() == 1,
        "several classes": lambda codes: codes.max() > 1,
    }
    rows: list[list[Any]] = []
    for ours, theirs, which in _RATIOS:
        names, cube = _cube(found, [ours, theirs])
        chosen = np.array([keep[which](read(name)[1]) for name in names], dtype=bool)
        if chosen.any():
            mean = cube[chosen].mean(axis=0)
            rows.append([ours, theirs, which, int(chosen.sum()), *(mean[0] / np.maximum(mean[1], 1e-12)).tolist()])
    return markdown_table(["ours", "peer", "tables", "number", "log loss", "error", "seconds"], rows)


def _each(found: dict[tuple[str, str], Any]) -> str:
    """The log loss of every line on every table, and why it is missing where it is."""
    lines, names = list(dict.fromkeys(line for _, line in found)), list(dict.fromkeys(name for name, _ in found))
    cells = {key: float(value[0]) if isinstance(value, list) else "-" for key, value in found.items()}
    missing = [f"- {name}, {line}: {value}" for (name, line), value in found.items() if not isinstance(value, list)]
    body = markdown_table(["table", *lines], [[name, *(cells[name, line] for line in lines)] for name in names])
    return "\n".join(["Log loss of each table:", "", body, "", *missing])
