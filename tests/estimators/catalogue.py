"""Every exported classifier, with settings that keep a test short, and small data of several shapes."""

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin

import softmargin

CLASSIFIERS = {
    name: value
    for name, value in ((name, getattr(softmargin, name)) for name in softmargin.__all__)
    if isinstance(value, type) and issubclass(value, ClassifierMixin)
}
META = {name for name, cls in CLASSIFIERS.items() if "estimator" in cls.__init__.__annotations__}
SHORT = {"n_rules": 3, "n_jobs": None, "n_weights": 4, "effort": "fast", "max_iter": 1000, "random_state": 0}
KERNELS = ({"kernel": None}, {"kernel": "rbf"}, {"kernel": "rbf", "n_components": 9})
# what else a user may change between two fits
CHANGES = {
    "MarginClassifier": ({"loss": "hinge"}, {"loss": "logistic", "probability": False}, {"l1_ratio": 0.5}),
    "AdditiveKernelClassifier": ({"loss": "squared_hinge"}, {"interactions": True}),
    "CoherenceClassifier": ({"temperature": 0.2}, {"l1_ratio": 1.0}),
    "RobustSVC": ({"loss": "cauchy"}, {"sigma": np.inf}, {"probability": "calibrated"}),
    "TruncatedLogisticRegression": ({"scheme": None}, {"level": 3.0, "scheme": 1}, {"level": np.inf}),
    "BalancingSVC": ({"balance": 0.0}, {"balance": "bounded"}),
    "ProbabilisticSVC": ({"engine": "path", "n_components": None}, {"method": "psi", "engine": "grid"}),
    "CompositeLeastSquaresClassifier": ({"mix": "auto"}, {"C": "auto"}, {"mix": 0.2, "C": 1.0}),
    "MulticategorySVC": ({"method": "crammer_singer"},),
    "TruncatedSoftmaxClassifier": ({"level": 0.8},),
    "RuleBoostClassifier": ({"loss": "least_squares"}, {"early_stopping": True}, {"l1": 1.0}),
    "ScoreCalibrator": ({"method": "platt"}, {"method": "coherence"}, {"method": "sollich"}),
    "AutoClassifier": ({"interpretable": True}, {"interpretable": False}),
    "TunedClassifier": (
        {"criterion": "aic", "grid": 3},
        {"criterion": "cv", "grid": {"kernel": [None, "rbf"], "C": [1.0]}},
    ),
}


def make(name, **params):
    """The estimator at its defaults, made short; a meta-estimator around a plain one."""
    cls = CLASSIFIERS[name]
    estimator = cls(softmargin.MarginClassifier()) if name in META else cls()
    known = estimator.get_params(deep=False)
    return estimator.set_params(**{key: value for key, value in SHORT.items() if key in known}, **params)


def settings(name):
    """The changes that concern an estimator."""
    kernels = KERNELS if "kernel" in make(name).get_params(deep=False) else ({},)
    return (*kernels, *CHANGES.get(name, ()))


def binary(n=48, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int), None


def several(n=45, p=3, seed=1):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % 3
    return rng.normal(size=(n, p)) + 1.5 * np.eye(3)[codes], np.array(["a", "b", "c"])[codes], None


def weighted():
    X, y, _ = binary(seed=2)
    return X, y, np.random.default_rng(3).choice([0.0, 1.0, 2.5], size=len(y))


def named():
    X, y, _ = binary(p=3, seed=4)
    return pd.DataFrame(X, columns=["u", "v", "w"]), np.where(y == 1, "yes", "no"), None


DATA = (binary, several, weighted, named)
