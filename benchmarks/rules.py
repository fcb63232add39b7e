"""Rule boosting: speed against histogram trees and AdaBoost, memory, and errors on small real sets.

Speed: 100000 rows of 50 independent normals, a product of two and a sum of eight of them plus noise as the truth, 50
rules of at most two literals against 50 trees of depth two and 50 stumps. Errors: ten stratified folds (shuffled,
seed 1; defaults were looked at with seed 0) of 15 two-class sets, the same folds and the same number of rules for
everybody; rules here read names and gaps as they are, the peers see indicators and medians.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from benchmarks._harness import Absent, Contest, contest, markdown_table, peer, table
from softmargin import RuleBoostClassifier, losses
from softmargin.datasets import DataNotFound, load

N_RULES = 50
SMALL_SETS = (
    "australian", "breast_ljubljana", "breast_w", "bupa_liver", "cleveland", "credit_a", "haberman", "heart_statlog",
    "hepatitis", "house_votes84", "ionosphere", "pima_diabetes", "saheart", "sonar", "wdbc",
)  # fmt: skip
PEERS = {"AdaBoost stumps": ("ensembles", "adaboost"), "imodels BoostedRules": ("imodels", "boosted_rules"),
         "imodels RuleFit": ("imodels", "rulefit")}  # fmt: skip

_MEMORY = """
import re, sys
import numpy as np
from softmargin import RuleBoostClassifier, losses
n, d = int(sys.argv[1]), int(sys.argv[2])
read = lambda key: int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read()).group(1)) * 1024
X = np.random.default_rng(0).standard_normal((n, d))
y = X[:, 0] * X[:, 1] + X[:, 2] > 0
RuleBoostClassifier(n_rules=1, n_jobs=-1).fit(X[:1000], y[:1000])
open("/proc/self/clear_refs", "w").write("5")  # the high-water mark starts here
before = read("VmRSS")
RuleBoostClassifier(n_rules=10, n_jobs=-1).fit(X, y)
print((read("VmHWM") - before) / (n * d))
"""


def _problem(quick: bool) -> tuple[np.ndarray, np.ndarray]:
    n, d = (20_000, 20) if quick else (100_000, 50)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * X[:, 3:10].sum(axis=1) + rng.standard_normal(n) > 0).astype(int)


def _race(rival: str, function: str, bar: float, dream: float, quick: bool) -> Contest:
    X, y = _problem(quick)
    rules = 10 if quick else N_RULES
    return Contest(
        title=f"{rules} rules on {X.shape[0]} x {X.shape[1]} against {rival}",
        ours=lambda: RuleBoostClassifier(n_rules=rules, n_jobs=-1).fit(X, y),
        peers={rival: peer("ensembles", function, X, y, rules)},
        objective=lambda model: 1 - model.score(X, y),
        bar=bar,
        dream=dream,
        tolerance=0.0,
        note="The objective is the training error.",
    )


@contest
def histogram_trees(quick: bool) -> Contest:
    return _race("histogram trees of depth 2", "hist_boosting", 1.0, 0.5, quick)


@contest
def adaboost_stumps(quick: bool) -> Contest:
    return _race("AdaBoost stumps", "adaboost", 0.03, 0.02, quick)


@table
def memory(quick: bool) -> str:
    """Peak extra memory of ten rules, bytes per cell of a float64 matrix (bar 8)"""
    n, d = (100_000, 20) if quick else (1_000_000, 100)
    run = subprocess.run([sys.executable, "-c", _MEMORY, str(n), str(d)], capture_output=True, text=True, check=True)
    return markdown_table(["rows x columns", "bytes per cell"], [[f"{n} x {d}", float(run.stdout)]])


def _two_classes(name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """A frame, its numeric encoding and labels 0/1; sets with more classes become the first against the rest."""
    raw, encoded = load(name, download=False), load(name, download=False, encode=True)
    y = np.asarray(raw.y)
    return raw.X, np.asarray(encoded.X), (y != np.unique(y)[0]).astype(int)


def _error(fit: Callable[[Any, np.ndarray], Any], X: Any, y: np.ndarray) -> float:
    wrong, take = 0, X.iloc if hasattr(X, "iloc") else X
    for train, test in StratifiedKFold(10, shuffle=True, random_state=1).split(np.zeros(len(y)), y):
        wrong += int(np.sum(np.asarray(fit(take[train], y[train]).predict(take[test])) != y[test]))
    return 100 * wrong / len(y)


OURS = {
    "softmargin": {},
    "softmargin, shrunk": {"update": "single", "learning_rate": 0.3},
}


@table
def errors(quick: bool) -> str:
    """Ten-fold errors in percent, 30 rules each (bar: mean within 0.5 of every peer)"""
    rules, rows, names = 5 if quick else 30, [], [*OURS, *PEERS]
    for name in SMALL_SETS[:2] if quick else SMALL_SETS:
        try:
            frame, matrix, y = _two_classes(name)
        except DataNotFound:
            continue
        line: list[float] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers warn about each other's future
            for options in OURS.values():
                model = RuleBoostClassifier(n_rules=rules, n_jobs=-1, **options)
                line.append(_error(model.fit, frame, y))
            for module, function in PEERS.values():
                line.append(_peer_error(module, function, rules, matrix, y))
        rows.append([name, *line])
    if not rows:
        return "No data directory here."
    rows.append(["**mean**", *np.mean([row[1:] for row in rows], axis=0).tolist()])
    return markdown_table(["set", *names], rows)


@table
def renormalised(quick: bool) -> str:
    """phi_B extended beyond [-1, 1], or coefficients renormalised into it; ten-fold errors in per cent"""
    gini = losses.BalancedConvex(losses.Gini())
    ways: dict[str, dict[str, Any]] = {
        "extended": {"loss": gini},
        "renormalised": {"loss": gini, "renormalize": True},
        "logistic": {"loss": "logistic"},
    }
    rows, risen = [], []
    for literals, rules in ((2, 10), (3, 30)):
        found = []
        for name in SMALL_SETS[: 2 if quick else None]:
            try:
                X, _, y = _two_classes(name)
            except DataNotFound:
                continue
            machines = [
                RuleBoostClassifier.paper_settings(max_literals=literals, n_rules=rules, smoothing=0.5, **way)
                for way in ways.values()
            ]
            found.append([_error(clone(one).fit, X, y) for one in machines])
            risen.append(bool(np.any(np.diff(machines[1].fit(X, y).solution_.history) > 0)))
        rows.append([f"l = {literals}, r = {rules}", *np.mean(found, axis=0).tolist()])
    note = f"The risk rises in some round of {sum(risen)} of {len(risen)} renormalised fits to all rows."
    return markdown_table(["setting", *ways], rows) + "\n\n" + note


def _peer_error(module: str, function: str, rules: int, X: np.ndarray, y: np.ndarray) -> float:
    try:
        return _error(lambda A, b: peer(module, function, A, b, rules)(), X, y)
    except Absent:
        return float("nan")
