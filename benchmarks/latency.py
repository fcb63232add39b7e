"""How long does one row take? ``predict_proba`` of a single row, beside scikit-learn's classifiers of the same kind.

Servers ask for one row at a time, so what is measured is the work around the arithmetic: checks, copies, temporaries.
Times are process times, the least of several rounds in which all classifiers take turns; 569 rows of breast cancer,
30 columns standardised.
"""

from __future__ import annotations

import time
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import SVC

import softmargin as sm
from benchmarks._harness import markdown_table, table

ROUNDS, CALLS = 15, 100


def _models(X: Any, y: Any) -> dict[str, tuple[str, Any]]:
    kinds: dict[str, tuple[str, Any]] = {
        "scikit-learn LogisticRegression": ("linear", LogisticRegression()),
        "MarginClassifier": ("linear", sm.MarginClassifier()),
        "CoherenceClassifier": ("linear", sm.CoherenceClassifier()),
        "CompositeLeastSquaresClassifier": ("linear", sm.CompositeLeastSquaresClassifier()),
        "TruncatedLogisticRegression": ("linear", sm.TruncatedLogisticRegression()),
        "ProbabilisticSVC": ("linear", sm.ProbabilisticSVC()),
        "TunedClassifier": ("linear", sm.TunedClassifier(sm.MarginClassifier(), grid=3)),
        "ScoreCalibrator of BalancingSVC": ("linear", sm.ScoreCalibrator(sm.BalancingSVC())),
        "scikit-learn SVC(probability=True)": ("rbf", SVC(probability=True, random_state=0)),
        "MarginClassifier, rbf": ("rbf", sm.MarginClassifier(kernel="rbf")),
        "CoherenceClassifier, rbf": ("rbf", sm.CoherenceClassifier(kernel="rbf")),
        "ProbabilisticSVC, rbf": ("rbf", sm.ProbabilisticSVC(kernel="rbf")),
        "RuleBoostClassifier, 100 rules": ("rules", sm.RuleBoostClassifier(n_rules=100)),
    }
    return {name: (kind, model.fit(X, y)) for name, (kind, model) in kinds.items()}


@table
def one_row(quick: bool) -> str:
    """Microseconds of ``predict_proba`` of one row."""
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    models, row = _models(X, y), X[:1]
    least = dict.fromkeys(models, float("inf"))
    for _ in range(3 if quick else ROUNDS):
        for name, (_, model) in models.items():
            started = time.process_time()
            for _ in range(CALLS):
                model.predict_proba(row)
            least[name] = min(least[name], (time.process_time() - started) / CALLS)
    rows = [[name, kind, round(1e6 * least[name], 1)] for name, (kind, _) in models.items()]
    return markdown_table(["classifier", "kind", "microseconds"], rows)
