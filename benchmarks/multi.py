"""Multicategory machines: all classes at once against one-vs-rest, one-vs-one and multinomial fits.

Simulated classes are Gaussian clouds around random centres. Crammer-Singer fits have penalised intercepts, as in
liblinear, and are compared at equal objective. The table standardises features; composite least squares chooses
``C`` by leave-one-out on the training rows, multinomial logistic regression and SVC by three-fold cross-validation over
0.01, 0.1, ..., 100.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._harness import Absent, Contest, contest, markdown_table, peer, table
from benchmarks._real import several
from softmargin import CompositeLeastSquaresClassifier, MulticategorySVC
from softmargin.datasets import DataNotFound, load
from softmargin.losses.multiclass import multicategory_hinge
from softmargin.tuning import _composite

_SETS = ("optdigits", "pendigits", "segment", "vehicle", "letter", "usps", "leukemia_golub")


def _clouds(n: int, p: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.r_[np.arange(k), rng.integers(0, k, n - k)]
    return rng.standard_normal((n, p)) + rng.standard_normal((k, p))[y], y


@contest
def composite_linear(quick: bool) -> Contest:
    """Two hundred classes, linear."""
    X, y = _clouds(1000 if quick else 4000, 50, 200)
    return Contest(
        title=f"Composite least squares, linear, {len(y)} x 50, k = 200, against multinomial logistic regression",
        ours=lambda: CompositeLeastSquaresClassifier().fit(X, y),
        peers={"LogisticRegression": peer("multicategory", "multinomial", X, y, 1.0)},
        bar=0.1,
        dream=0.02,
    )


@contest
def composite_linear_ridge(quick: bool) -> Contest:
    """The same against a method of the same cost."""
    X, y = _clouds(1000 if quick else 4000, 50, 200)
    return Contest(
        title=f"Composite least squares, linear, {len(y)} x 50, k = 200, against ridge",
        ours=lambda: CompositeLeastSquaresClassifier().fit(X, y),
        peers={"RidgeClassifier": peer("multicategory", "ridge", X, y, 1.0)},
        bar=1.5,
        dream=0.5,
        note="At mix = 1/2 the argmax is that of ridge regression with alpha = 1 / C.",
    )


@contest
def composite_linear_mix(quick: bool) -> Contest:
    """A mix that couples the classes."""
    X, y = _clouds(1000 if quick else 4000, 50, 200)
    return Contest(
        title=f"Composite least squares, mix = 0.8, linear, {len(y)} x 50, k = 200, against ridge",
        ours=lambda: CompositeLeastSquaresClassifier(0.8).fit(X, y),
        peers={"RidgeClassifier": peer("multicategory", "ridge", X, y, 1.0)},
        bar=1.5,
        dream=0.5,
    )


def _kernel(quick: bool, k: int, mix: float) -> Contest:
    n = 500 if quick else 2000
    X, y = _clouds(n, 10, k)
    indicators = np.eye(k)[y]
    return Contest(
        title=f"Composite least squares, mix = {mix}, rbf, n = {n}, k = {k}, against kernel ridge",
        ours=lambda: CompositeLeastSquaresClassifier(mix, kernel="rbf", gamma=0.05).fit(X, y),
        peers={"KernelRidge": peer("multicategory", "kernel_ridge", X, indicators, 0.05, 1.0)},
        bar=2.0,
        dream=1.0,
        runs=3,
    )


@contest
def composite_kernel_half(quick: bool) -> Contest:
    """One factorisation."""
    return _kernel(quick, 3, 0.5)


@contest
def composite_kernel_few(quick: bool) -> Contest:
    """Coupled classes."""
    return _kernel(quick, 3, 0.8)


@contest
def composite_kernel_many(quick: bool) -> Contest:
    """Coupled classes, many of them."""
    return _kernel(quick, 200, 0.8)


@contest
def composite_cost_of_classes(quick: bool) -> Contest:
    """The cost must not depend on the number of classes."""
    n = 500 if quick else 2000
    few, many = _clouds(n, 10, 3), _clouds(n, 10, 200)
    fit = CompositeLeastSquaresClassifier(0.8, kernel="rbf", gamma=0.05)
    return Contest(
        title=f"Composite least squares, mix = 0.8, rbf, n = {n}: k = 200 against k = 3",
        ours=lambda: fit.fit(*many),
        peers={"softmargin, k = 3": lambda: fit.fit(*few)},
        bar=1.3,
        dream=1.0,
        runs=3,
    )


@contest
def composite_grid(quick: bool) -> Contest:
    """Thirty values of C with leave-one-out."""
    X, y = _clouds(1000 if quick else 4000, 50, 10)
    return Contest(
        title=f"Thirty values of C with leave-one-out, linear, {len(y)} x 50, k = 10, against one fit",
        ours=lambda: CompositeLeastSquaresClassifier(C="auto").fit(X, y),
        peers={"softmargin, one fit": lambda: CompositeLeastSquaresClassifier().fit(X, y)},
        bar=6.0,
        dream=3.0,
    )


def _crammer_singer(X: np.ndarray, y: np.ndarray, C: float, title: str) -> Contest:
    def ours() -> tuple[np.ndarray, np.ndarray]:
        model = MulticategorySVC("crammer_singer", C=C, penalize_intercept=True, tol=1e-4, max_iter=10**5).fit(X, y)
        return model.coef_, model.intercept_

    def objective(result: Any) -> float:
        coef, intercept = result
        losses = multicategory_hinge("crammer_singer", X @ coef.T + intercept, y)
        return float(C * losses.sum() + 0.5 * np.sum(coef**2) + 0.5 * np.sum(intercept**2))

    return Contest(
        title=title,
        ours=ours,
        peers={"liblinear": peer("multicategory", "crammer_singer", X, y, C, 1e-4)},
        objective=objective,
        bar=1.0,
        dream=0.5,
        tolerance=1e-4,
        runs=3,
        note="Ours stops at a certified relative gap of 1e-4; liblinear at its default tolerance.",
    )


@contest
def crammer_singer_clouds(quick: bool) -> Contest:
    """Overlapping clouds."""
    X, y = _clouds(1000 if quick else 4000, 50, 10)
    return _crammer_singer(X / 10, y, 1.0, f"Crammer-Singer, linear, {len(y)} x 50, k = 10")


@contest
def weston_watkins_rbf(quick: bool) -> Contest:
    """All classes at once against all pairs."""
    X, y = _clouds(300 if quick else 1000, 10, 10)
    return Contest(
        title=f"Weston-Watkins, rbf, n = {len(y)}, k = 10, against one-vs-one",
        ours=lambda: MulticategorySVC("weston_watkins", kernel="rbf", gamma=0.05).fit(X, y),
        peers={"libsvm (one-vs-one)": peer("multicategory", "one_vs_one", X, y, 1.0, 0.05)},
        bar=3.0,
        dream=1.0,
        note="Different problems: one certified fit of ten functions against 45 pairs.",
    )


def _splits(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Official split where there is one, else a third held out; at most 1000 training rows."""
    data = load(name, encode=True, download=False)
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    if data.split is not None:
        train, test = np.flatnonzero(data.split == "train"), np.flatnonzero(data.split == "test")
    else:
        train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=0)
    if len(train) > 1000:
        train, _ = train_test_split(train, train_size=1000, stratify=y[train], random_state=0)
    return X[train], y[train], X[test], y[test]


def _entries(folds: int) -> dict[str, Any]:
    grid = {"C": np.logspace(-2, 2, 5)}
    logistic = GridSearchCV(LogisticRegression(max_iter=300), grid, cv=folds, scoring="neg_log_loss")
    return {
        "composite least squares, linear": CompositeLeastSquaresClassifier(C="auto", criterion="log_loss"),
        "composite least squares, rbf": CompositeLeastSquaresClassifier(C="auto", kernel="rbf", criterion="log_loss"),
        "multinomial logistic": logistic,
        "SVC, rbf": GridSearchCV(SVC(), grid, cv=folds),
        "Weston-Watkins, rbf": MulticategorySVC("weston_watkins", kernel="rbf", C=10.0),
    }


@table
def accuracy(quick: bool) -> str:
    """Test accuracy and log loss on real data"""
    rows = []
    for name in ("vehicle",) if quick else _SETS:
        try:
            X, y, X_new, y_new = _splits(name)
        except DataNotFound as reason:
            rows.append([name, "absent", str(reason).splitlines()[0], "", "", ""])
            continue
        folds = min(3, int(np.unique(y, return_counts=True)[1].min()))
        for label, model in _entries(folds).items():
            start = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = make_pipeline(StandardScaler(), model).fit(X, y)
            seconds = time.perf_counter() - start
            loss: float | str = "-"
            if hasattr(fitted, "predict_proba"):
                P = np.clip(fitted.predict_proba(X_new), 1 / (2 * len(y)), None)
                loss = float(log_loss(y_new, P / P.sum(axis=1, keepdims=True), labels=fitted.classes_))
            rows.append(
                [name, f"{len(y)} x {X.shape[1]}", label, float(np.mean(fitted.predict(X_new) == y_new)), loss, seconds]
            )
    note = "Probabilities are floored at 1 / (2 n) for the log loss, all methods alike. Seconds include tuning.\n\n"
    return note + markdown_table(["data", "training rows", "method", "accuracy", "log loss", "seconds"], rows)


_CHOICES = {
    "set on": ("vehicle", "segment", "glass", "dermatology", "ecoli", "optdigits", "letter", "yeast", "krkopt", "car"),
    "checked on": ("mfeat_factors", "usps", "nursery", "movement_libras", "soybean", "dna", "connect_4", "hpc"),
}
_MOST_TRAINING = 600


@contextmanager
def _whole_grid() -> Iterator[None]:
    """Every mix and cost judged, with all rows."""
    kept = _composite._SAMPLE, _composite._FEW
    _composite._SAMPLE, _composite._FEW = (10**9, 10**9), 10**9
    try:
        yield
    finally:
        _composite._SAMPLE, _composite._FEW = kept


def _brier(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    known = np.isin(y, model.classes_)
    wrong = model.predict_proba(X[known]) - (y[known, None] == model.classes_)
    return float(np.square(wrong).sum(axis=1).mean())


@table
def automatic_choice(quick: bool) -> str:
    """Composite least squares with mix and C "auto": a few looks against the whole grid of 150"""
    rows: list[list[Any]] = []
    for kernel in (None, "rbf"):
        for role, names in _CHOICES.items():
            for name in names[:1] if quick else names:
                try:
                    X, y = several(name, 200 if quick else 3000)
                except Absent as reason:
                    rows.append([name, role, str(reason), "", "", "", "", "", ""])
                    continue
                X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
                n = min(_MOST_TRAINING, len(y) * 2 // 3)
                rows.append([f"{name} {n} x {X.shape[1]}", role, kernel or "linear", *_compared(kernel, X, y, n)])
    head = ["data", "role", "kernel", "mix", "mix of the whole grid", "criterion above it", "held-out Brier"]
    return markdown_table([*head, "of the whole grid", "one fit (s)", "fits"], rows)


def _compared(kernel: Any, X: np.ndarray, y: np.ndarray, n: int) -> list[Any]:
    model = CompositeLeastSquaresClassifier("auto", C="auto", kernel=kernel)
    seconds = min(_busy(lambda: model.fit(X[:n], y[:n])) for _ in range(3))
    plain = CompositeLeastSquaresClassifier(kernel=kernel)
    one = min(_busy(lambda: plain.fit(X[:n], y[:n])) for _ in range(5))
    with _whole_grid():
        whole = clone(model).fit(X[:n], y[:n])
    row, column = list(whole.grid_.mixes).index(model.mix_), int(np.argmin(np.abs(whole.grid_.Cs - model.C_)))
    above = float(whole.grid_.values[row, column] - np.nanmin(whole.grid_.values))
    scores = [_brier(found, X[n:], y[n:]) for found in (model, whole)]
    return [model.mix_, whole.mix_, above, *scores, one, seconds / one]


def _busy(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
