"""Races on real tables: dense, one-hot, sparse, wide, unbalanced, collinear, unscaled.

Where the problem is the same (logistic ridge, rbf hinge, l1), objectives are compared and the verdict is against the
fastest peer that comes as low as we do; where it is not, everybody runs at the defaults. Bold ratios are above the bar
in the heading. Seconds are elapsed ones, of the best of five runs in turns, or of the first where it takes more than
one: run them on a quiet machine or at real-time priority. Tables are standardised and one-hot encoded, texts are
tf-idf; largest class against the rest. A peer that takes ten times as long as we do, and at least four seconds, is not
waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC, LinearSVC

from benchmarks._harness import Absent, Contest, markdown_table, peer, table
from benchmarks._real import binary, several, table_of
from softmargin import (
    CompositeLeastSquaresClassifier,
    CompositeMarginClassifier,
    MarginClassifier,
    MulticategorySVC,
    ProbabilisticSVC,
    RobustSVC,
    TruncatedLogisticRegression,
    TunedClassifier,
)

DENSE = ("adult", "magic", "phoneme", "spambase", "shuttle", "letter", "skin", "kddcup", "connect_4", "krkopt")
SPARSE = ("a9a", "w8a", "phishing", "sylva", "hiva", "news20_pcmac", "news20_basehock", "news20_relathe")
TEXT = ("movie_reviews", "sms_spam")
KERNEL = {
    "magic": None,
    "shuttle": None,
    "adult": 8000,
    "letter": None,
    "w8a": 10_000,
    "phoneme": None,
    "spambase": None,
}
SEVERAL = ("letter", "pendigits", "optdigits", "segment", "shuttle", "krkopt")
_AS_LIBLINEAR = 1e-3  # a gap at which objectives are at or below those of LinearSVC's default tolerance
_QUICK = ("phoneme", "news20_pcmac")


def _names(names: tuple[str, ...], quick: bool) -> tuple[str, ...]:
    return tuple(name for name in names if name in _QUICK) or names[:1] if quick else names


def _reader(read: Callable[..., Any], quick: bool, rows: dict[str, int | None] | None = None) -> Callable[[str], Any]:
    return lambda name: read(name, 1500 if quick else (rows or {}).get(name))


def _objective(loss: str, l1_ratio: float = 0.0) -> Callable[[Any, Any, np.ndarray], float]:
    """The value of problem (P) at C = 1 for a pair of coefficients and intercept, or a model that has them."""
    from softmargin import losses

    phi = losses.get(loss)

    def value(X: Any, y: np.ndarray, model: Any) -> float:
        pair = model if isinstance(model, tuple) else (model.coef_, model.intercept_)
        beta, b = np.ravel(pair[0]), float(np.ravel(pair[1])[0])
        u = np.where(y == 1, 1.0, -1.0) * (X @ beta + b)
        penalty = (1 - l1_ratio) / 2 * beta @ beta + l1_ratio * np.abs(beta).sum()
        return float(phi.value(u).sum() + penalty)

    return value


def _logistic(X: Any, y: np.ndarray) -> Contest:
    peers: dict[str, Any] = {
        solver: partial(LogisticRegression(solver=solver, max_iter=1000).fit, X, y) for solver in ("lbfgs", "newton-cg")
    }
    if X.shape[1] < 2000:
        peers["newton-cholesky"] = partial(LogisticRegression(solver="newton-cholesky").fit, _dense(X), y)
    peers["liblinear (penalised intercept)"] = partial(LogisticRegression(solver="liblinear").fit, X, y)
    value = partial(_objective("logistic"), X, y)
    return Contest("", partial(MarginClassifier().fit, X, y), peers, value, bar=1.0, dream=0.5, tolerance=1e-3)


def _dense(X: Any) -> np.ndarray:
    return X.toarray() if hasattr(X, "toarray") else X


def _hinge(loss: str, X: Any, y: np.ndarray) -> Contest:
    ours = partial(MarginClassifier(loss=loss, tol=_AS_LIBLINEAR).fit, X, y)
    peers = {"LinearSVC": partial(LinearSVC(loss=loss, max_iter=10_000).fit, X, y)}
    if loss == "squared_hinge":
        peers["LinearSVC, primal"] = partial(LinearSVC(dual=False).fit, X, y)
    value = partial(_objective(loss), X, y)
    return Contest("", ours, peers, value, bar=1.0, dream=0.5, tolerance=1e-2)


@table
def logistic(quick: bool) -> str:
    """Logistic ridge at C = 1 (bar 1.0, dream 0.5)"""
    return table_of(_names(DENSE + SPARSE + TEXT, quick), _logistic, _reader(binary, quick), quick)


@table
def linear_hinge(quick: bool) -> str:
    """Linear hinge against LinearSVC (bar 1.0, dream 0.5)"""
    return table_of(_names(DENSE + SPARSE + TEXT, quick), partial(_hinge, "hinge"), _reader(binary, quick), quick)


@table
def linear_squared_hinge(quick: bool) -> str:
    """Linear squared hinge against LinearSVC (bar 1.0, dream 0.5)"""
    make = partial(_hinge, "squared_hinge")
    return table_of(_names(DENSE + SPARSE + TEXT, quick), make, _reader(binary, quick), quick)


def _against(ours: Any, peers: dict[str, Any], bar: float, dream: float) -> Callable[[Any, np.ndarray], Contest]:
    """A contest of defaults: no objective in common."""
    return lambda X, y: Contest(
        "", partial(ours.fit, X, y), {name: partial(model.fit, X, y) for name, model in peers.items()}, None, bar, dream
    )


@table
def rbf_hinge(quick: bool) -> str:
    """Rbf hinge against SVC (bar 0.6, dream 0.3)"""
    make = _against(MarginClassifier(loss="hinge", kernel="rbf", tol=1e-3), {"SVC": SVC()}, 0.6, 0.3)
    return table_of(_names(tuple(KERNEL), quick), make, _reader(binary, quick, KERNEL), quick)


@table
def robust_linear(quick: bool) -> str:
    """RobustSVC, linear, against LogisticRegression (bar 2, dream 1)"""
    make = _against(RobustSVC(), {"LogisticRegression": LogisticRegression(max_iter=1000)}, 2.0, 1.0)
    return table_of(_names(DENSE + SPARSE + TEXT, quick), make, _reader(binary, quick), quick)


@table
def robust_rbf(quick: bool) -> str:
    """RobustSVC, rbf, against SVC (bar 2, dream 1)"""
    make = _against(RobustSVC(kernel="rbf"), {"SVC": SVC()}, 2.0, 1.0)
    return table_of(_names(tuple(KERNEL), quick), make, _reader(binary, quick, KERNEL), quick)


@table
def truncated(quick: bool) -> str:
    """TruncatedLogisticRegression, fit alone, against LogisticRegression (bar 2, dream 1)"""
    make = _against(TruncatedLogisticRegression(scheme=None), {"lbfgs": LogisticRegression(max_iter=1000)}, 2.0, 1.0)
    return table_of(_names(DENSE + SPARSE + TEXT, quick), make, _reader(binary, quick), quick)


@table
def truncated_with_probabilities(quick: bool) -> str:
    """TruncatedLogisticRegression with probabilities against LogisticRegression (bar 10, dream 5)"""
    rival = partial(_fit_and_predict, LogisticRegression(max_iter=1000))

    def make(X: Any, y: np.ndarray) -> Contest:
        ours = partial(_fit_and_predict, TruncatedLogisticRegression(), X, y)
        return Contest("", ours, {"lbfgs": partial(rival, X, y)}, None, 10.0, 5.0)

    return table_of(_names(DENSE + SPARSE + TEXT, quick), make, _reader(binary, quick), quick)


def _fit_and_predict(model: Any, X: Any, y: np.ndarray) -> Any:
    model.fit(X, y).predict_proba(X[:1000])
    return model


@table
def probabilistic(quick: bool) -> str:
    """ProbabilisticSVC, rbf, against CalibratedClassifierCV(SVC) (bar 1.0, dream 0.4)"""
    make = _against(ProbabilisticSVC(kernel="rbf"), {"SVC + sigmoid": CalibratedClassifierCV(SVC())}, 1.0, 0.4)
    return table_of(_names(tuple(KERNEL), quick), make, _reader(binary, quick, KERNEL), quick)


@table
def l1_on_text(quick: bool) -> str:
    """L1 logistic on text against liblinear and skglm (bar 0.7, dream 0.3)"""

    def make(X: Any, y: np.ndarray) -> Contest:
        liblinear = LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=1000)
        signs = np.where(y == 1, 1.0, -1.0)
        peers = {"liblinear (penalised intercept)": partial(liblinear.fit, X, y)}
        peers["skglm"] = peer("skglm", "logistic", X.tocsc(), signs, 1.0, 1.0)
        value = partial(_objective("logistic", 1.0), X, y)
        return Contest("", partial(MarginClassifier(l1_ratio=1.0).fit, X, y), peers, value, 0.7, 0.3, tolerance=1e-3)

    return table_of(_names((*TEXT, *SPARSE[-3:]), quick), make, _reader(binary, quick), quick)


@table
def several_classes(quick: bool) -> str:
    """Several classes, linear, against LinearSVC and LogisticRegression (bar 1.0, dream 0.3)"""
    peers = {"LinearSVC": LinearSVC(), "LogisticRegression": LogisticRegression(max_iter=1000)}
    ours = {
        "composite least squares": CompositeLeastSquaresClassifier(),
        "weston_watkins": MulticategorySVC("weston_watkins"),
        "crammer_singer": MulticategorySVC("crammer_singer"),
        "composite logistic": CompositeMarginClassifier(),
    }
    read = _reader(several, quick)
    names = ("segment",) if quick else SEVERAL
    return "\n\n".join(
        f"{name}:\n\n" + table_of(names, _against(one, peers, 1.0, 0.3), read, quick) for name, one in ours.items()
    )


@table
def tuned_rbf(quick: bool) -> str:
    """30 C x 5 gamma of rbf logistic, against one fit (bar 5, dream 3)"""
    grid = {"C": 30, "gamma": [0.01, 0.03, 0.1, 0.3, 1.0]}
    model = MarginClassifier(kernel="rbf")
    make = _against(TunedClassifier(model, grid=grid), {"one fit": MarginClassifier(kernel="rbf", gamma=0.1)}, 5.0, 3.0)
    return table_of(("phoneme", "spambase"), make, lambda name: binary(name, 300 if quick else 2000), quick)


@table
def tuned_rbf_choice(quick: bool) -> str:
    """What 30 C x 5 gamma of rbf logistic choose: screened through landmarks, and every candidate judged exactly"""
    grid = {"C": 30, "gamma": [0.01, 0.03, 0.1, 0.3, 1.0]}
    rows: list[list[Any]] = []
    for name in ("phoneme",) if quick else ("phoneme", "spambase", "magic", "adult", "letter", "krkopt"):
        n = 1000 if quick else 2000
        try:
            X, y = binary(name, 2 * n)
        except Absent as reason:
            rows.append([name, str(reason), "", "", "", "", ""])
            continue
        for judging in ("auto", "exact"):
            start = time.process_time()
            tuned = TunedClassifier(MarginClassifier(kernel="rbf"), grid=grid, judging=judging).fit(X[:n], y[:n])
            seconds = time.process_time() - start
            held_out = log_loss(y[n:], tuned.predict_proba(X[n:]))
            chosen = [float(tuned.best_params_[key]) for key in ("gamma", "C")]
            rows.append([name, judging, seconds, *chosen, float(tuned.best_score_), float(held_out)])
    head = ["data", "judging", "processor time (s)", "gamma", "C", "leave-one-out loss", "held-out log loss"]
    return markdown_table(head, rows)
