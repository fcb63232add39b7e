"""One small fitted model of every kind that a file can hold, by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, QuantileTransformer, SplineTransformer
from sklearn.preprocessing import StandardScaler as Scaler

import softmargin as sm
from softmargin import losses, paths

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 3))
SIGN = (X @ [1.0, -1.0, 0.5] + 0.5 * rng.normal(size=60) > 0).astype(int)
NAMES = np.array(["ape", "bee", "cat"])[(SIGN + (X[:, 2] > 0.7)).astype(int)]
WORDS = np.array(["red ship", "blue boat", "red boat", "grey car"], dtype=object)[rng.integers(4, size=60)]
TABLE = np.column_stack([X.astype(object), WORDS])


def decreasing(u: Any) -> Any:
    """A user's own loss, in a module that can be imported again."""
    return np.logaddexp(0, 1 - u)


def _binary(kind: str, **parameters: Any) -> Callable[[], Any]:
    return lambda: getattr(sm, kind)(**parameters).fit(X, SIGN)


def _several(kind: str, **parameters: Any) -> Callable[[], Any]:
    return lambda: getattr(sm, kind)(**parameters).fit(X, NAMES)


ONE_BY_ONE = (
    "MarginClassifier",
    "CoherenceClassifier",
    "ProbabilisticSVC",
    "RobustSVC",
    "TruncatedLogisticRegression",
    "BalancingSVC",
)
TOGETHER = (
    "CompositeLeastSquaresClassifier",
    "CompositeMarginClassifier",
    "MulticategorySVC",
    "TruncatedSoftmaxClassifier",
)

MAKERS: dict[str, Callable[[], Any]] = {
    **{f"{kind} linear": _binary(kind) for kind in ONE_BY_ONE},
    **{f"{kind} rbf several": _several(kind, kernel="rbf") for kind in ONE_BY_ONE},
    **{f"{kind} linear": _several(kind) for kind in TOGETHER},
    **{f"{kind} rbf": _several(kind, kernel="rbf") for kind in TOGETHER},
    "landmarks": _binary("MarginClassifier", kernel="rbf", n_components=9, random_state=0),
    "elastic net": _binary("MarginClassifier", l1_ratio=0.5),
    "scad": _binary("MarginClassifier", penalty="scad"),
    "entropy": _binary("MarginClassifier", loss=losses.BalancedConvex(losses.Matsushita(0.1))),
    "additive kernel": _several("AdditiveKernelClassifier", loss="squared_hinge", interactions=True),
    "path engine": _binary("ProbabilisticSVC", engine="path", kernel="rbf"),
    "bounded": _binary("BalancingSVC", balance=np.inf),
    "rules": _several("RuleBoostClassifier", n_rules=5),
    "tuned in closed form": _several("CompositeLeastSquaresClassifier", C="auto", Cs=5),
    "sparse least squares": _several("CompositeLeastSquaresClassifier", C=0.1, l1_ratio=0.5),
    "sigma by class": _binary("RobustSVC", sigma={0: 1.5, 1: 2.5}),
    "leverage": _binary("TruncatedLogisticRegression", leverage="hat"),
    "resampled brackets": _binary("ProbabilisticSVC", n_resamples=5),
    "trees": _binary("RuleBoostClassifier", learner="trees", n_rules=5),
    "given": _binary("RuleBoostClassifier", learner="given", n_rules=5),
    "calibrated": lambda: sm.ScoreCalibrator(sm.MulticategorySVC()).fit(X, NAMES),
    "platt": lambda: sm.ScoreCalibrator(sm.BalancingSVC(), method="platt").fit(X, SIGN),
    "tuned": lambda: sm.TunedClassifier(sm.MarginClassifier()).fit(X, SIGN),
    "float32": lambda: sm.MarginClassifier(kernel="rbf").fit(X.astype(np.float32), SIGN),
    "scaled": lambda: make_pipeline(Scaler(), QuantileTransformer(n_quantiles=20), sm.MarginClassifier()).fit(X, SIGN),
    "splines": lambda: make_pipeline(
        SplineTransformer(n_knots=4), FunctionTransformer(np.tanh), sm.CoherenceClassifier()
    ).fit(X, SIGN),
    "table": lambda: make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median", add_indicator=True), Scaler()), [0, 1, 2]),
            (OneHotEncoder(handle_unknown="ignore", min_frequency=2), [3]),
        ),
        sm.RobustSVC(loss="cauchy"),
    ).fit(TABLE, SIGN),
    "text": lambda: make_pipeline(TfidfVectorizer(), sm.MarginClassifier(l1_ratio=0.1, C=5)).fit(WORDS, SIGN),
    "cost path": lambda: paths.cost_path(X, SIGN, kernel="rbf"),
    "weight path": lambda: paths.weight_path(X, SIGN),
    "balance path": lambda: paths.balance_path(X, SIGN),
}


def make(name: str) -> Any:
    """The model of a name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MAKERS[name]()


def inputs(name: str) -> Any:
    """Rows that the model of a name reads."""
    if name == "text":
        return WORDS
    if name == "table":
        return TABLE
    return X.astype(np.float32) if name == "float32" else X


def answers(model: Any, rows: Any) -> list[np.ndarray]:
    """Everything a model says about some rows."""
    if isinstance(model, paths.Path):
        values = np.linspace(*np.clip(model.range, 0.01, 5.0), 5)
        return [model.decision_function(rows, values)]
    told = [model.decision_function(rows)]
    if hasattr(model, "predict"):
        told.append(model.predict(rows))
    if hasattr(model, "predict_proba"):
        told.append(model.predict_proba(rows))
    return told
