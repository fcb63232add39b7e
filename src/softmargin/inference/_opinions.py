"""What models say about rows they have not seen: out-of-fold class probabilities of one judge or a panel.

A classifier without probabilities lends its left-out scores to a fitted curve. Several classifiers form a panel: its
probabilities are the mixture ``sum_k w_k P_k`` that makes the labels most likely, each label judged by models that had
not seen it. A judge that knows nothing of the data gets no vote, judges that err on different rows correct each
other, and nothing has to be tuned on labels that may be wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, check_cv, train_test_split
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metaestimators import _safe_split

from softmargin.probability import fit_score_map, mixture_weights, weight_parameters

__all__ = ["Opinions", "cheap_panel", "default_panel", "left_out_opinions", "splits"]

Array = NDArray[np.floating[Any]]

_LANDMARKS, _TREES, _NEIGHBOURS = 100, 100, 15
_MOST_ROWS = 20_000  # to learn from: with ten times as many no judge of the panel errs noticeably less
_MOST_NEIGHBOURS = 50_000  # rows of data beyond which the search for neighbours costs more than the other judges
_CHUNK = 100_000  # rows judged at a time


@dataclass(frozen=True)
class Opinions:
    """Out-of-fold class probabilities of the panel, and the vote of each judge."""

    P: Array
    votes: Array


class SampledJudge(ClassifierMixin, BaseEstimator):
    """A judge that learns from at most ``most_rows`` rows and judges chunk by chunk, so its cost is bounded."""

    def __init__(self, judge: Any, most_rows: int = _MOST_ROWS) -> None:
        self.judge = judge
        self.most_rows = most_rows

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SampledJudge:
        """Learn from the rows, or from a stratified sample of them."""
        y = np.asarray(y)
        rows = np.arange(len(y))
        if len(y) > self.most_rows:
            stratify = y if np.unique(y, return_counts=True)[1].min() > 1 else None
            rows, _ = train_test_split(rows, train_size=self.most_rows, stratify=stratify, random_state=0)
        given = {}
        if sample_weight is not None and _takes_weights(self.judge):
            given = weight_parameters(self.judge, np.asarray(sample_weight)[rows])
        self.judge_ = clone(self.judge).fit(_safe_indexing(X, rows), y[rows], **given)
        self.classes_ = self.judge_.classes_
        return self

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, chunk by chunk."""
        n = X.shape[0]
        parts = (_safe_indexing(X, np.arange(i, min(i + _CHUNK, n))) for i in range(0, n, _CHUNK))
        return np.vstack([self.judge_.predict_proba(part) for part in parts])


def _takes_weights(judge: Any) -> bool:
    """Neighbours do not: they vote alike."""
    try:
        weight_parameters(judge, np.ones(1))
    except ValueError:
        return False
    return True


def default_panel(X: Any) -> list[Any]:
    """Cheap judges that err on different rows: linear, rbf on landmarks, trees, neighbours.

    Sparse rows are judged by two linear machines and, where they are counts of words or the like, by naive Bayes.
    """
    n = X.shape[0]
    if sparse.issparse(X):
        loose = LogisticRegression(max_iter=100, tol=1e-3)
        judges = [make_pipeline(MaxAbsScaler(), clone(loose).set_params(C=c)) for c in (1.0, 30.0)]
        counts = X.data.min(initial=0.0) >= 0
        return [SampledJudge(judge) for judge in [*judges, *([MultinomialNB(alpha=0.3)] if counts else [])]]
    landmarks = Nystroem(n_components=min(_LANDMARKS, max(n // 2, 2)), random_state=0, gamma=None)
    judges = [
        make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500)),
        make_pipeline(StandardScaler(), landmarks, LogisticRegression(C=10.0, max_iter=500)),
        RandomForestClassifier(_TREES, min_samples_leaf=3, random_state=0),
    ]
    if n <= _MOST_NEIGHBOURS:
        judges.append(make_pipeline(StandardScaler(), KNeighborsClassifier(min(_NEIGHBOURS, max(n // 4, 1)))))
    return [SampledJudge(judge) for judge in judges]


def cheap_panel(X: Any) -> list[Any]:
    """The default panel without its trees, which cost more than all the other judges."""
    return [judge for judge in default_panel(X) if not isinstance(judge.judge, RandomForestClassifier)]


def splits(cv: Any, n_repeats: int, codes: NDArray[np.intp], random_state: Any) -> list[list[Any]]:
    """One list of (train, test) per repeat."""
    blank = np.zeros(len(codes))
    if not isinstance(cv, (int, np.integer)):
        return [list(check_cv(cv, codes, classifier=True).split(blank, codes))]
    smallest = int(np.bincount(codes).min())
    if smallest < 2:
        raise ValueError("a class has one row only, which no model could learn without it; drop it or merge classes.")
    rng = check_random_state(random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=n_repeats)
    folds = min(int(cv), smallest)
    return [list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(blank, codes)) for seed in seeds]


def left_out_opinions(
    judges: list[Any], X: Any, codes: NDArray[np.intp], weight: Any, parts: list[Any], voters: Any = None
) -> Opinions:
    """The panel's probabilities of every row and class, by models that did not see the row.

    ``voters`` weigh the rows whose labels decide about the votes; None is ``weight``.
    """
    opinions = np.array(
        [np.mean([_left_out(judge, X, codes, weight, folds) for folds in parts], axis=0) for judge in judges]
    )
    votes = mixture_weights(opinions[:, np.arange(len(codes)), codes], weight if voters is None else voters)
    return Opinions(np.tensordot(votes, opinions, axes=1), votes)


def _left_out(estimator: Any, X: Any, codes: NDArray[np.intp], weight: Array | None, folds: list[Any]) -> Array:
    direct, k = hasattr(estimator, "predict_proba"), int(codes.max()) + 1
    columns = k if direct or k > 2 else 1
    out = np.full((len(codes), columns), np.nan)
    for train, test in folds:
        part, labels = _safe_split(estimator, X, codes, train)
        held, _ = _safe_split(estimator, X, codes, test, train)
        given = weight_parameters(estimator, None if weight is None else weight[train])
        model = clone(estimator).fit(part, labels, **given)
        seen = np.asarray(model.classes_, dtype=int)
        values = np.asarray(model.predict_proba(held) if direct else model.decision_function(held), dtype=float)
        if values.ndim == 1:
            out[test, 0] = values
        else:
            out[np.ix_(test, seen)] = values
            absent = np.setdiff1d(np.arange(columns), seen)
            out[np.ix_(test, absent)] = 0.0 if direct else values.min()
    if np.isnan(out).any():
        raise ValueError("cv leaves some rows out of every test part; use a splitter whose test parts cover all rows.")
    if direct:
        return out
    scores = out[:, 0] if columns == 1 else out
    return fit_score_map(scores, codes).probability(scores)
