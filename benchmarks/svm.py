"""Support vector machines: Gaussian kernels against libsvm, linear features against liblinear and rehline,
bracketed probabilities against a cross-validated sigmoid and against refitting, prediction against libsvm.

Kernel objectives are dual values of the multipliers each returns; linear objectives are primal. liblinear and rehline
penalise the intercept and stop by their own rules; their tolerances are the loosest that come within about 1e-6 of the
optimum here (rehline at its default 1e-4 ends 2e-5 above it).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from benchmarks._harness import Contest, contest, peer
from softmargin import MarginClassifier, ProbabilisticSVC
from softmargin.expansions import Kernel


def _kernel_data(n: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n, 10, n_informative=6, flip_y=0.1, class_sep=0.8, random_state=0)


@contest
def gaussian(quick: bool) -> Contest:
    """One rbf SVM, C = 1."""
    n = 1500 if quick else 4000
    X, y = _kernel_data(n)
    gamma, signs = 1 / (10 * X.var()), np.where(y > 0, 1.0, -1.0)
    K = Kernel("rbf", gamma)(X, X)

    def ours() -> np.ndarray:
        model = MarginClassifier(loss="hinge", kernel="rbf", gamma=gamma, tol=1e-4).fit(X, y)
        return np.asarray(model.solution_.dual)

    return Contest(
        title=f"rbf SVM, n = {n}, 10 features, C = 1",
        ours=ours,
        peers={"libsvm (cache 2 GB)": peer("svm", "libsvm", X, y, 1.0, gamma)},
        objective=lambda u: 0.5 * u @ K @ u - signs @ u,
        bar=1.0,
        dream=0.5,
    )


def _linear(quick: bool, C: float) -> Contest:
    n, p = (5000, 20) if quick else (100_000, 50)
    X, y = make_classification(n, p, n_informative=p // 2, flip_y=0.05, random_state=0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    signs = np.where(y > 0, 1.0, -1.0)

    def ours() -> np.ndarray:
        model = MarginClassifier(loss="hinge", C=C).fit(X, y)
        return np.append(model.coef_[0], model.intercept_[0])

    def objective(found: np.ndarray) -> float:
        w, b = found[:-1], found[-1]
        return float(0.5 * w @ w + C * np.maximum(0, 1 - signs * (X @ w + b)).sum())

    peers: dict[str, Any] = {
        "liblinear tol=1e-3": peer("svm", "liblinear", X, signs, C, 1e-3),
        "rehline tol=1e-6": peer("rehline", "hinge", X, signs, C, 1e-6),
    }
    return Contest(
        title=f"linear hinge SVM, {n} x {p}, C = {C:g}",
        ours=ours,
        peers=peers,
        objective=objective,
        bar=0.6,
        dream=0.3,
        runs=3,
    )


@contest
def linear_small_cost(quick: bool) -> Contest:
    """Strong regularisation: easy for coordinate descent."""
    return _linear(quick, 1e-3)


@contest
def linear_large_cost(quick: bool) -> Contest:
    """Ten times weaker."""
    return _linear(quick, 1e-2)


@contest
def bracketed(quick: bool) -> Contest:
    """Probabilities against one calibrated SVM."""
    n = 500 if quick else 2000
    X, y = _kernel_data(n)
    return Contest(
        title=f"ProbabilisticSVC.fit, rbf, n = {n}, floor(sqrt(n)) weights",
        ours=lambda: ProbabilisticSVC(kernel="rbf").fit(X, y),
        peers={"CalibratedClassifierCV(SVC, ensemble=False)": peer("svm", "calibrated", X, y)},
        bar=1.5,
        dream=0.8,
        runs=3,
    )


@contest
def bracketed_refits(quick: bool) -> Contest:
    """The same against what it replaces."""
    n = 500 if quick else 2000
    X, y = _kernel_data(n)
    m = int(np.sqrt(n))
    return Contest(
        title=f"ProbabilisticSVC.fit, rbf, n = {n}, against {m - 1} weighted SVC fits",
        ours=lambda: ProbabilisticSVC(kernel="rbf").fit(X, y),
        peers={f"{m - 1} weighted SVC": peer("svm", "refits", X, y, m)},
        bar=0.2,
        dream=0.1,
        runs=2,
    )


@contest
def scores(quick: bool) -> Contest:
    """Prediction with many support vectors."""
    n, n_new = (800, 2000) if quick else (5700, 20_000)
    X, y = _kernel_data(n)
    X_new = np.random.default_rng(0).permutation(np.vstack([_kernel_data(20_000)[0]]))[:n_new]
    ours = MarginClassifier(loss="hinge", kernel="rbf", tol=1e-4).fit(X, y)
    theirs = SVC().fit(X, y)
    return Contest(
        title=f"decision_function, {n_new} rows, {len(ours.support_)} support vectors, 10 features",
        ours=lambda: ours.decision_function(X_new),
        peers={"SVC.decision_function": peer("svm", "libsvm_scores", theirs, X_new)},
        bar=0.25,
        dream=0.1,
        runs=3,
    )
