"""Robust fits against one plain fit: what resistance to wrong labels costs.

Every peer solves a convex problem that believes all labels, so objectives are not compared: the bar is the ratio of
times, each at its default tolerance. Ten per cent of the labels are flipped. The robust machines use Welsch's loss with
sigma = 1, the truncated likelihood its default level without probability fits (`scheme=None`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_classification, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from benchmarks._harness import Contest, contest
from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression


def _flip(y: np.ndarray, share: float = 0.1) -> np.ndarray:
    wrong = np.random.default_rng(0).random(len(y)) < share
    return np.where(wrong, 1 - y, y)


def _kernel(title: str, X: np.ndarray, y: np.ndarray, gamma: Any, C: float) -> Contest:
    return Contest(
        title=f"RobustSVC, rbf, n = {len(y)}, {title}, C = {C:g}",
        ours=lambda: RobustSVC(kernel="rbf", gamma=gamma, C=C).fit(X, y),
        peers={"libsvm": lambda: SVC(C=C, gamma=gamma).fit(X, y)},
        bar=4.0,
        dream=2.0,
    )


@contest
def moons(quick: bool) -> Contest:
    """Two moons."""
    X, y = make_moons(500 if quick else 2000, noise=0.15, random_state=0)
    return _kernel("two moons", X, _flip(y), 1.0, 1.0)


@contest
def ten_features(quick: bool) -> Contest:
    """Ten features: a kernel matrix of full rank."""
    X, y = make_classification(500 if quick else 2000, 10, n_informative=6, flip_y=0.0, random_state=0)
    return _kernel("10 features", X, _flip(y), "scale", 1.0)


def _many_rows(quick: bool) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(20_000 if quick else 100_000, 20, n_informative=10, flip_y=0.0, random_state=0)
    return (X - X.mean(axis=0)) / X.std(axis=0), _flip(y)


def _linear(quick: bool, C: float) -> Contest:
    X, y = _many_rows(quick)
    return Contest(
        title=f"RobustSVC, linear, {X.shape[0]} x {X.shape[1]}, C = {C:g}",
        ours=lambda: RobustSVC(C=C).fit(X, y),
        peers={"LogisticRegression (lbfgs)": lambda: LogisticRegression(C=C, max_iter=1000).fit(X, y)},
        bar=1.5,
        dream=1.0,
    )


@contest
def many_rows(quick: bool) -> Contest:
    """Many rows, few columns, hardly a penalty: scores grow until the loss is nearly a count of errors."""
    return _linear(quick, 1.0)


@contest
def tall_penalised(quick: bool) -> Contest:
    """Many rows, few columns, a penalty that matters."""
    return _linear(quick, 1e-3)


def _capped(quick: bool, C: float) -> Contest:
    X, y = _many_rows(quick)
    return Contest(
        title=f"TruncatedLogisticRegression(scheme=None), linear, {X.shape[0]} x {X.shape[1]}, C = {C:g}",
        ours=lambda: TruncatedLogisticRegression(C=C, scheme=None).fit(X, y),
        peers={"softmargin, plain logistic": lambda: MarginClassifier(loss="logistic", C=C).fit(X, y)},
        bar=2.0,
        dream=1.5,
    )


@contest
def truncated(quick: bool) -> Contest:
    """The truncated likelihood, hardly penalised."""
    return _capped(quick, 1.0)


@contest
def truncated_penalised(quick: bool) -> Contest:
    """The truncated likelihood with a penalty that matters."""
    return _capped(quick, 1e-3)
