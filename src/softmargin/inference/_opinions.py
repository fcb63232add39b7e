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
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import _safe_split

from softmargin.probability import fit_score_map, mixture_weights, weight_parameters

__all__ = ["Opinions", "default_panel", "left_out_opinions", "splits"]

Array = NDArray[np.floating[Any]]

_LANDMARKS, _TREES, _NEIGHBOURS = 100, 100, 15


@dataclass(frozen=True)
class Opinions:
    """Out-of-fold class probabilities of the panel, and the vote of each judge."""

    P: Array
    votes: Array


def default_panel(n_rows: int, is_sparse: bool) -> list[Any]:
    """Cheap judges that err on different rows: linear, rbf on landmarks, trees, neighbours; linear for sparse rows."""
    linear = LogisticRegression(C=0.1, max_iter=500)
    if is_sparse:
        return [make_pipeline(MaxAbsScaler(), clone(linear).set_params(C=c)) for c in (1.0, 30.0)]
    landmarks = Nystroem(n_components=min(_LANDMARKS, max(n_rows // 2, 2)), random_state=0, gamma=None)
    return [
        make_pipeline(StandardScaler(), linear),
        make_pipeline(StandardScaler(), landmarks, LogisticRegression(C=10.0, max_iter=500)),
        RandomForestClassifier(_TREES, min_samples_leaf=3, random_state=0),
        make_pipeline(StandardScaler(), KNeighborsClassifier(min(_NEIGHBOURS, max(n_rows // 4, 1)))),
    ]


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


def left_out_opinions(judges: list[Any], X: Any, codes: NDArray[np.intp], weight: Any, parts: list[Any]) -> Opinions:
    """The panel's probabilities of every row and class, by models that did not see the row."""
    opinions = np.array(
        [np.mean([_left_out(judge, X, codes, weight, folds) for folds in parts], axis=0) for judge in judges]
    )
    votes = mixture_weights(opinions[:, np.arange(len(codes)), codes], weight)
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
