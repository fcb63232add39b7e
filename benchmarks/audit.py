"""Label audits: are wrong labels found, counted and repaired, whatever made them wrong?

At most 300 rows of each set (two sets with several classes, two of text) get wrong labels of four kinds at 5, 15 and
30%: *symmetric* (any other class), *one-sided* (members of the first class only), *class* (rates from a fifth to nine
fifths, to the next class) and *feature* (rates that rise along a random direction of the features). cleanlab scores
out-of-fold probabilities of logistic regression, boosted trees and 15 neighbours by self-confidence, normalised margin
and both after adjustment; the best of these twelve in each kind of noise counts, which nobody could know beforehand.
``audit_labels("auto")`` has one panel for everything. Its constants were settled on other sets: breast_w, bupa_liver,
credit_a, haberman, ionosphere, movie_reviews, phoneme, pima_diabetes, segment, spambase, trec_qc, vehicle, waveform_40.

Precision and recall are those of ``suspects(fdr=0.1)`` and ``find_label_issues``, for the judge with which cleanlab's
precision is best. The interval of the number of errors is at 90%. The noise matrix is compared with the shares of
labels really given. Accuracy is that of logistic regression on clean rows after ``audit.refit`` and ``CleanLearning``.
Probabilities of peers are kept in the temporary directory, so that a second run costs less.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Memory
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from benchmarks._harness import Absent, markdown_table, peer, table
from benchmarks._real import several
from softmargin import audit_labels, datasets
from softmargin.datasets import DataNotFound

SETS = (
    "german",
    "magic",
    "banana",
    "twonorm",
    "cells",
    "churn",
    "saheart",
    "australian",
    "car",
    "splice",
    "sms_spam",
    "rt_polarity",
)
KINDS = ("symmetric", "one-sided", "class", "feature")
RATES = (0.05, 0.15, 0.3)
SCORES = ("self_confidence", "normalized_margin", "adjusted", "adjusted margin")
_ROWS, _TEST_ROWS, _FEWEST = 300, 1000, 12
_MEMORY = Memory(Path(tempfile.gettempdir()) / "softmargin-benchmarks", verbose=0)


class Case(NamedTuple):
    """Rows, their true and given labels, and clean rows to test on."""

    name: str
    noise: str
    rate: float
    X: Any
    truth: np.ndarray
    given: np.ndarray
    test: Any
    test_truth: np.ndarray

    @property
    def wrong(self) -> np.ndarray:
        return self.truth != self.given


@lru_cache(maxsize=2)
def _rows(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    X, y = several(name, _ROWS + _TEST_ROWS)
    frequent = np.flatnonzero(np.bincount(y[:_ROWS], minlength=y.max() + 1) >= _FEWEST)
    keep = np.flatnonzero(np.isin(y, frequent))
    codes = np.searchsorted(frequent, y[keep])
    train = keep < _ROWS
    return X[keep[train]], codes[train], X[keep[~train]], codes[~train]


def with_noise(kind: str, rate: float, X: Any, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels of which some are wrong."""
    n, k = len(y), int(y.max()) + 1
    draw, following = rng.random(n), (y + 1) % k
    other = (y + rng.integers(1, k, n)) % k
    if kind == "symmetric":
        return np.where(draw < rate, other, y)
    if kind == "one-sided":
        return np.where((y == 0) & (draw < rate), following, y)
    if kind == "class":
        return np.where(draw < (rate * np.linspace(0.2, 1.8, k))[y], following, y)
    along = np.asarray(X @ rng.normal(size=X.shape[1])).argsort().argsort() / (n - 1)
    return np.where(draw < rate * (0.2 + 1.6 * along), other, y)


def cases(quick: bool) -> Iterator[Case]:
    """Every set with every noise; a set that is not on this machine is left out."""
    for name in SETS[:2] if quick else SETS:
        X, y, test, test_truth = _rows(name)
        for kind in KINDS:
            for rate in RATES[1:2] if quick else RATES:
                given = with_noise(kind, rate, X, y, np.random.default_rng(len(name)))
                yield Case(name, kind, rate, X, y, given, test, test_truth)


def judges(X: Any) -> dict[str, Any]:
    """The classifiers whose probabilities cleanlab scores."""
    if sparse.issparse(X):
        narrow = make_pipeline(TruncatedSVD(50, random_state=0), HistGradientBoostingClassifier(random_state=0))
        near = KNeighborsClassifier(15, metric="cosine")
        return {"logistic": LogisticRegression(max_iter=500), "boosting": narrow, "neighbours": near}
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
        "boosting": HistGradientBoostingClassifier(random_state=0),
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(15)),
    }


@_MEMORY.cache
def left_out(judge: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Out-of-fold probabilities."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return cross_val_predict(judge, X, y, cv=folds, method="predict_proba")


class Found(NamedTuple):
    """What one method made of one case."""

    auc: dict[str, float]
    precision: float
    recall: float
    matrix: float
    accuracy: float
    covered: float


def _linear(X: Any) -> Any:
    scaler = MaxAbsScaler() if sparse.issparse(X) else StandardScaler()
    return make_pipeline(scaler, LogisticRegression(max_iter=500))


def _caught(wrong: np.ndarray, flagged: np.ndarray) -> tuple[float, float]:
    return float(wrong[flagged].mean()) if flagged.any() else np.nan, float(flagged[wrong].mean())


def _matrix_error(case: Case, T: np.ndarray) -> float:
    true = np.zeros_like(T)
    np.add.at(true, (case.truth, case.given), 1)
    return float(np.abs(T - true / true.sum(axis=1, keepdims=True)).mean())


def ours(case: Case) -> Found:
    """``audit_labels("auto")`` and nothing else."""
    audit = audit_labels("auto", case.X, case.given, random_state=0, level=0.9)
    trust = audit.sort_values("row")["trust"].to_numpy()
    flagged = np.zeros(len(trust), dtype=bool)
    flagged[audit.suspects(fdr=0.1)["row"]] = True
    accuracy = audit.refit(_linear(case.X)).score(case.test, case.test_truth)
    number = audit.n_errors
    return Found(
        {"trust": float(roc_auc_score(case.wrong, -trust))},
        *_caught(case.wrong, flagged),
        _matrix_error(case, audit.noise_matrix.conditional.to_numpy()),
        float(accuracy),
        float(number.low <= case.wrong.sum() <= number.high),
    )


def peers(case: Case) -> dict[str, Found]:
    """cleanlab with each judge."""
    found = {}
    for name, judge in judges(case.X).items():
        P = left_out(judge, case.X, case.given)
        scores, flagged, T = peer("cleanlab", "audit", P, case.given)()
        auc = {f"{name}, {score}": float(roc_auc_score(case.wrong, -value)) for score, value in scores.items()}
        accuracy = np.nan
        if name == "logistic":
            clean = peer("cleanlab", "clean_learning", _linear(case.X), case.X, case.given)()
            accuracy = float(np.mean(clean.predict(case.test) == case.test_truth))
        found[name] = Found(auc, *_caught(case.wrong, flagged), _matrix_error(case, T), accuracy, np.nan)
    return found


@lru_cache(maxsize=2)
def _all(quick: bool) -> list[tuple[Case, Found, dict[str, Found]]]:
    return [(case, ours(case), peers(case)) for case in cases(quick) if case.wrong.sum() >= 3]


def _tabulated(quick: bool, head: list[str], line: Callable[[list[Any]], list[Any]]) -> str:
    """One line for each kind and rate, one for each kind, one for all."""
    try:
        results = _all(quick)
    except (Absent, DataNotFound) as reason:
        return f"Not run: {reason}"
    rows = []
    for kind in KINDS:
        part = [result for result in results if result[0].noise == kind]
        rates = sorted({result[0].rate for result in part})
        rows += [[f"{kind}, {rate:.0%}", *line([r for r in part if r[0].rate == rate])] for rate in rates]
        rows.append([f"**{kind}**", *line(part)])
    rows.append(["**all**", *line(results)])
    return markdown_table(["noise", *head], rows)


def _best(results: list[Any]) -> tuple[str, float]:
    names = [name for found in results[0][2].values() for name in found.auc]
    means = {
        name: np.mean([found.auc[name] for _, _, p in results for found in p.values() if name in found.auc])
        for name in names
    }
    best = max(means, key=means.__getitem__)
    return best, float(means[best])


@table
def ranking(quick: bool) -> str:
    """AUC with which wrong labels are ranked (larger is better)"""

    def line(results: list[Any]) -> list[Any]:
        name, best = _best(results)
        mine = float(np.mean([found.auc["trust"] for _, found, _ in results]))
        return [f"{mine:.3f}", f"{best:.3f} ({name})", f"{mine - best:+.3f}"]

    return _tabulated(quick, ["audit_labels", "best of cleanlab", "difference"], line)


@table
def suspects(quick: bool) -> str:
    """Precision and recall of the rows flagged"""

    def line(results: list[Any]) -> list[Any]:
        def mean(values: Any) -> float:
            values = np.array(list(values))
            return float(np.nanmean(values)) if np.isfinite(values).any() else np.nan

        names = list(results[0][2])
        best = max(names, key=lambda name: mean(p[name].precision for _, _, p in results))
        mine = [mean(getattr(found, key) for _, found, _ in results) for key in ("precision", "recall")]
        other = [mean(getattr(p[best], key) for _, _, p in results) for key in ("precision", "recall")]
        return [*(f"{value:.2f}" for value in mine), *(f"{value:.2f}" for value in other)]

    return _tabulated(quick, ["our precision", "our recall", "cleanlab's precision", "cleanlab's recall"], line)


@table
def rates(quick: bool) -> str:
    """Number of errors, noise matrix, and accuracy (%) after repair"""

    def line(results: list[Any]) -> list[Any]:
        mine = [found for _, found, _ in results]
        best = min(np.mean([p[name].matrix for _, _, p in results]) for name in results[0][2])
        clean = np.mean([p["logistic"].accuracy for _, _, p in results])
        matrix = np.mean([found.matrix for found in mine])
        return [
            f"{np.mean([found.covered for found in mine]):.2f}",
            f"{matrix:.3f}",
            f"{best:.3f}",
            f"{matrix / best:.2f}",
            f"{100 * np.mean([found.accuracy for found in mine]):.2f}",
            f"{100 * clean:.2f}",
        ]

    head = ["interval covers", "matrix, mean error", "best of cleanlab", "ratio", "accuracy", "CleanLearning"]
    return _tabulated(quick, head, line)


@table
def two_sources(quick: bool) -> str:
    """Real noise: a second label for the same rows"""
    lines = []
    for name, column in (("mammographic", "target_noisy"), ("rt_rated", "target_noisy")):
        try:
            data = datasets.load(name, encode=True, target=column, download=False)
            X = data.X.tocsr() if sparse.issparse(data.X) else np.asarray(data.X)
            given = np.unique(data.y, return_inverse=True)[1]
            keep = np.random.default_rng(0).permutation(len(given))[: 1000 if quick else 4000]
            truth = np.unique(data.extras["target"], return_inverse=True)[1][keep]
            case = Case(name, "", 0.0, X[keep], truth, given[keep], X[keep], truth)
            mine, best = ours(case), _best([(case, None, peers(case))])
        except (Absent, DataNotFound) as reason:
            lines.append([name, str(reason), "", "", ""])
            continue
        share = f"{case.wrong.sum()} of {len(truth)}"
        lines.append([name, share, f"{mine.auc['trust']:.3f}", f"{best[1]:.3f} ({best[0]})", f"{mine.precision:.2f}"])
    head = ["set", "labels that differ", "AUC, audit_labels", "best of cleanlab", "precision of suspects"]
    return markdown_table(head, lines)
