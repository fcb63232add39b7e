"""The methods compared in the paper, each tuned by its covariance-penalised estimate of the log loss.

The criterion (equation 9, with the errata mended) refits each candidate on perturbed data sets; ours are six draws of
rows, each with its label, and of labels with known means where the paper nests ten draws of labels in ten of rows. All
candidates share one initial estimate and one set of draws. The grid [10^-3, 10^3] is read as one of ``1/(n lambda)``
with two values a decade, and there are 20 weights: read as lambda, with sqrt(n) = 10 weights, example 2 cannot come out
as printed (best lambda 10^-5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.neighbors import KNeighborsClassifier

from softmargin import MarginClassifier, ProbabilisticSVC
from softmargin.papers._protocol import pick
from softmargin.papers._scores import Array, between_class_distances, gaussian
from softmargin.papers.conventions import gamma_of_width
from softmargin.probability import fit_sigmoid
from softmargin.tuning import LabelledRows, gkl_criterion, perturb

__all__ = ["CLASSIFIERS", "WEIGHTS", "Task", "all_methods", "hard_margin", "neighbours", "penalised_logistic"]

WEIGHTS = 20
COSTS = 0.5 * 10.0 ** np.arange(-3, 3.1, 0.5)  # 1/(2 n lambda): weights of classes are doubled here
DRAWS = 6
NEIGHBOURS = (4, 9, 16, 25)
CLASSIFIERS = {"SVM_G": ("svm", True), "SVM_L": ("svm", False), "psi_G": ("psi", True), "psi_L": ("psi", False)}

Estimate = Callable[[Array, Array, Array, float], Array]  # train kernel, labels, new kernel, C -> P(y = 1)


@dataclass(frozen=True)
class Task:
    """Training rows and labels in {-1, +1}, and the rows to predict."""

    X: Array
    y: Array
    X_test: Array

    def kernels(self, curved: bool) -> tuple[Array, Array]:
        """Kernel matrices of the training rows and of the test rows against them."""
        if not curved:
            return self.X @ self.X.T, self.X_test @ self.X.T
        gamma = float(gamma_of_width(np.median(between_class_distances(self.X, self.y))))
        return gaussian(self.X, self.X, gamma), gaussian(self.X_test, self.X, gamma)


def _bracketed(method: str) -> Estimate:
    def estimate(K: Array, y: Array, K_new: Array, C: float) -> Array:
        model = ProbabilisticSVC(method=method, n_weights=WEIGHTS, kernel="precomputed", C=C)
        return np.asarray(model.fit(K, y).predict_proba(K_new)[:, 1])

    return estimate


def _platt(method: str) -> Estimate:
    """A sigmoid of the scores of the classifier itself, fitted to the training rows."""

    def estimate(K: Array, y: Array, K_new: Array, C: float) -> Array:
        model = ProbabilisticSVC(method=method, n_weights=2, kernel="precomputed", C=C).fit(K, y)
        link = fit_sigmoid(model.decision_function(K), y)
        return np.asarray(expit(link.log_odds(model.decision_function(K_new))))

    return estimate


def _logistic(K: Array, y: Array, K_new: Array, C: float) -> Array:
    model = MarginClassifier(loss="logistic", kernel="precomputed", C=C)
    return np.asarray(model.fit(K, y).predict_proba(K_new)[:, 1])


def _tuned(estimate: Estimate, K: Array, y: Array, rng: np.random.Generator) -> float:
    """The C of least estimated log loss on new data."""
    least = 1 / (2 * WEIGHTS)

    def fitted(rows: Any, labels: Array, C: float) -> Array:
        if len(np.unique(labels)) < 2:
            return np.full(len(y), 1 - least if labels[0] > 0 else least)
        return np.clip(estimate(K[np.ix_(rows, rows)], labels, K[:, rows], C), 1e-6, 1 - 1e-6)

    everything = np.arange(len(y))
    target = LabelledRows((y + 1) / 2, np.clip(fitted(everything, y, 1.0), least, 1 - least))
    draws = perturb(target, n_draws=DRAWS, kind="pairs", random_state=int(rng.integers(2**31)))

    def criterion(C: float) -> float:
        own = fitted(everything, y, C)
        return gkl_criterion(target, own, draws, lambda draw: fitted(draw.rows, 2 * draw.labels - 1, C))[0]

    return float(COSTS[pick([criterion(float(C)) for C in COSTS])])


def all_methods(task: Task, classifier: str, rng: np.random.Generator) -> dict[str, Array]:
    """Probabilities at the test rows: Platt at C = 1, tuned Platt, and bracketing."""
    method, curved = CLASSIFIERS[classifier]
    K, K_test = task.kernels(curved)
    platt, bracketed = _platt(method), _bracketed(method)
    return {
        "Platt": platt(K, task.y, K_test, 1.0),
        "tuned Platt": platt(K, task.y, K_test, _tuned(platt, K, task.y, rng)),
        "bracketing": bracketed(K, task.y, K_test, _tuned(bracketed, K, task.y, rng)),
    }


def hard_margin(task: Task, classifier: str) -> Array:
    """Probabilities by bracketing with a C beyond which nothing changes on separable rows."""
    method, curved = CLASSIFIERS[classifier]
    K, K_test = task.kernels(curved)
    return _bracketed(method)(K, task.y, K_test, 1e4 / float(np.mean(np.diagonal(K))))


def penalised_logistic(task: Task, rng: np.random.Generator) -> Array:
    """Linear logistic regression with a ridge penalty, tuned by the same criterion."""
    K, K_test = task.kernels(False)
    return _logistic(K, task.y, K_test, _tuned(_logistic, K, task.y, rng))


def neighbours(task: Task) -> dict[int, Array]:
    """Shares of positive labels among the nearest 4, 9, 16 and 25 rows; the paper reports the best of them."""
    return {
        k: np.asarray(KNeighborsClassifier(k).fit(task.X, task.y).predict_proba(task.X_test)[:, 1]) for k in NEIGHBOURS
    }
