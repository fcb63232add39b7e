"""What simpler classifiers make of the same rows: class shares, logistic regression and boosted trees.

Where the rows the model was fitted to are at hand, the baselines are fitted to them. A report on held-out rows alone
fits them to the other folds of those rows, which are fewer: the page says so.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

__all__ = ["crossed_baselines", "fit_baselines"]

Array = NDArray[np.floating[Any]]

_MOST_ROWS = 20_000
_FOLDS = 5
_WIDEST = 2000


def fit_baselines(X: Any, y: Any, held: Any, classes: Any) -> dict[str, Array]:
    """Probabilities of the rows ``held`` by classifiers fitted to ``X, y``; columns in the order of ``classes``."""
    y, classes = np.asarray(y), np.asarray(classes)
    shares = np.array([np.mean(y == label) for label in classes])
    n = held.shape[0]
    found = {"class shares": np.tile(shares, (n, 1))}
    if getattr(X, "ndim", 0) != 2:
        return found
    keep = np.random.default_rng(0).permutation(len(y))[:_MOST_ROWS]
    part = _rows(X, keep)
    for name, model in _models(part).items():
        # on one thread: threads that wait for each other cost seconds per tree where the cores have other work
        with warnings.catch_warnings(), threadpool_limits(1, "openmp"):
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = model.fit(part, y[keep])
            told = [fitted.predict_proba(_rows(held, slice(i, i + _MOST_ROWS))) for i in range(0, n, _MOST_ROWS)]
        P = np.zeros((n, len(classes)))
        P[:, np.searchsorted(classes, fitted.classes_)] = np.concatenate(told)
        found[name] = P
    return found


def crossed_baselines(X: Any, codes: NDArray[np.intp], k: int) -> dict[str, Array]:
    """The same when there are no other rows: each fold by classifiers of the other folds."""
    smallest = int(np.bincount(codes)[np.unique(codes)].min())
    folds = min(_FOLDS, smallest)
    if folds < 2 or len(np.unique(codes)) < 2:
        return {}
    found: dict[str, Array] = {}
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(np.zeros(len(codes)), codes):
        rows, held = _rows(X, train), _rows(X, test)
        for name, P in fit_baselines(rows, codes[train], held, np.arange(k)).items():
            found.setdefault(name, np.zeros((len(codes), k)))[test] = P
    return found


def _rows(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _models(X: Any) -> dict[str, Any]:
    logistic = LogisticRegression(max_iter=1000)
    if sparse.issparse(X):
        return {"logistic regression": logistic} if X.shape[1] > 0 else {}
    linear = make_pipeline(_Numbers(one_hot=True), StandardScaler(), logistic)
    boosted = make_pipeline(_Numbers(one_hot=False), HistGradientBoostingClassifier(random_state=0))
    found = {"logistic regression": linear, "gradient boosting": boosted}
    return {name: clone(model) for name, model in found.items() if X.shape[1] <= _WIDEST or name != "gradient boosting"}


class _Numbers(TransformerMixin, BaseEstimator):
    """A table as numbers: categories as indicators (the missing at the median) or as codes (the missing left out)."""

    def __init__(self, one_hot: bool = True) -> None:
        self.one_hot = one_hot

    def fit(self, X: Any, y: Any = None) -> _Numbers:
        numbers, words = self._parts(X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without values has no median
            self.middle_ = np.nan_to_num(np.nanmedian(numbers, axis=0))
        if self.one_hot:
            self.encoder_ = OneHotEncoder(handle_unknown="ignore", max_categories=30, sparse_output=False)
        else:
            self.encoder_ = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
        if words.shape[1]:
            self.encoder_.fit(words)
        self.empty_ = ~np.isfinite(self._made(X)).any(axis=0)  # boosted trees cannot cut a column without values
        return self

    def transform(self, X: Any) -> Array:
        return np.where(self.empty_, 0.0, self._made(X))

    def _made(self, X: Any) -> Array:
        numbers, words = self._parts(X)
        if self.one_hot:
            numbers = np.where(np.isfinite(numbers), numbers, self.middle_)
        return np.hstack([numbers, self.encoder_.transform(words)]) if words.shape[1] else numbers

    @staticmethod
    def _parts(X: Any) -> tuple[Array, NDArray[Any]]:
        if not hasattr(X, "iloc"):
            return np.asarray(X, dtype=np.float64), np.empty((len(X), 0), dtype=object)
        is_number = [getattr(kind, "kind", "O") in "iufb" for kind in X.dtypes]
        numbers = X.loc[:, is_number].to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers, X.loc[:, [not one for one in is_number]].astype(str).to_numpy(dtype=object)
