"""Scores into probabilities: ScoreCalibrator's default against scikit-learn's, two and several classes.

Two random splits of each set, at most 300 training rows and 1500 test rows, columns standardised; SVC and LinearSVC
with scikit-learn's defaults. Mean log loss on the test rows; CalibratedClassifierCV averages five machines, ours keeps
the one that decides.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from benchmarks._harness import markdown_table, table
from softmargin import ScoreCalibrator, datasets
from softmargin.datasets import DataNotFound

TWO = (
    *("adult", "australian", "banana", "breast_w", "bupa_liver", "cells", "churn", "credit_a", "german", "haberman"),
    *("heart_statlog", "hepatitis", "house_votes84", "ionosphere", "kr_vs_kp", "magic", "mammographic", "monks2"),
    *("phoneme", "pima_diabetes", "ringnorm", "saheart", "sonar", "spambase", "spectf", "titanic"),
)
SEVERAL = (
    *("balance", "car", "cleveland", "cmc", "dermatology", "ecoli", "glass", "hayes_roth", "led7digit", "newthyroid"),
    *("optdigits", "page_blocks", "pendigits", "segment", "soybean", "splice", "vehicle", "vowel", "yeast"),
)
MACHINES = {"SVC": SVC(), "LinearSVC": LinearSVC(max_iter=5000)}
LEAST = 5  # rows of each class in training


def _methods(machine: Any) -> dict[str, Any]:
    return {
        "ScoreCalibrator": ScoreCalibrator(machine),
        "ScoreCalibrator, platt": ScoreCalibrator(machine, method="platt"),
        "ScoreCalibrator, coherence": ScoreCalibrator(machine, method="coherence"),
        "peer: CalibratedClassifierCV, sigmoid": CalibratedClassifierCV(machine),
        "peer: CalibratedClassifierCV, isotonic": CalibratedClassifierCV(machine, method="isotonic"),
    }


def _split(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    data = datasets.load(name, standardize=True, download=False)
    X, y = np.asarray(data.X), np.asarray(data.y)
    rows = np.random.default_rng(seed).permutation(len(y))[:1800]
    labels, count = np.unique(y[rows], return_counts=True)
    rows = rows[np.isin(y[rows], labels[count >= 3 * LEAST])]
    train, test = train_test_split(rows, train_size=min(300, len(rows) * 3 // 5), stratify=y[rows], random_state=seed)
    labels, count = np.unique(y[train], return_counts=True)
    known = labels[count >= LEAST]
    train, test = (part[np.isin(y[part], known)] for part in (train, test))
    return X[train], y[train], X[test], y[test]


def _judge(name: str, seed: int, machine: str) -> dict[str, float]:
    X, y, X_new, y_new = _split(name, seed)
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method, model in _methods(clone(MACHINES[machine])).items():
            P = model.fit(X, y).predict_proba(X_new)
            found[method] = log_loss(y_new, P, labels=model.classes_)
    return found


@table
def default_link(quick: bool) -> str:
    """Mean log loss, and relative to one sigmoid per class averaged over five machines (smaller is better)"""
    groups = {"two classes": TWO, "several classes": SEVERAL}
    own: dict[tuple[str, str], list[str]] = {}
    for title, names in groups.items():
        names = names[:2] if quick else names
        jobs = [(name, seed, machine) for name in names for seed in (0, 1) for machine in MACHINES]
        try:
            rows = Parallel(n_jobs=1 if quick else -1)(delayed(_judge)(*job) for job in jobs)
        except DataNotFound as reason:
            return f"Not run: {reason}"
        for method in rows[0]:
            losses = np.array([row[method] for row in rows])
            peer = np.array([row["peer: CalibratedClassifierCV, sigmoid"] for row in rows])
            own[method, title] = [f"{losses.mean():.4f}", f"{losses.mean() / peer.mean():.3f}"]
            own[method, title].append(f"{np.mean(losses / peer):.3f}")
    methods = dict.fromkeys(method for method, _ in own)
    lines = [[method, *[cell for title in groups for cell in own[method, title]]] for method in methods]
    head = ["method"]
    for title, names in groups.items():
        head += [f"{title}, {2 if quick else len(names)} sets", "/ sigmoid", "mean ratio"]
    return markdown_table(head, lines)
