"""Which labels look wrong? A row's label judged by models that never saw the row.

The trust in a label is the probability that models fitted to the other folds give to it, averaged over repeated
splits; a classifier without probabilities lends its left-out scores to a sigmoid. Several classifiers form a panel:
its probabilities are the mixture ``sum_k w_k P_k`` that makes the labels most likely, each label judged by models that
had not seen it. A judge that knows nothing of the data gets no vote, judges that err on different rows correct each
other, and nothing has to be tuned on labels that may be wrong. The rate at which a class loses its
label is read off where the models are surest of the class: among those rows the classes hardly overlap, so a
different label is noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _check_sample_weight, _num_samples, column_or_1d

from softmargin.probability import couple, fit_sigmoid, two_columns

__all__ = ["audit_labels"]

Array = NDArray[np.floating[Any]]

_SURE_SHARE, _SURE_LEAST = 0.1, 20
_MAX_ROUNDS, _SETTLED = 1000, 1e-6  # of the likelihood of a panel, which is concave in its votes


def audit_labels(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    n_repeats: int = 1,
    sample_weight: Any = None,
    level: float = 0.95,
    random_state: Any = None,
) -> Any:
    """Rank the rows by how little their labels can be trusted.

    Parameters
    ----------
    estimator : classifier or list of classifiers
        Anything with ``predict_proba`` or ``decision_function``: softmargin's classifiers, or a pipeline of one. A
        classifier that resists wrong labels judges them best. A list is a panel: linear and kernel machines of several
        ``C``, say, that vote with the weights under which the labels are most likely.
    X, y : data
        Rows and the labels under suspicion.
    cv : int or splitter, default=5
        Folds; each row is judged by models that did not see it.
    n_repeats : int, default=1
        Number of random splits to average over (for an int ``cv``).
    sample_weight : array of shape (n,), optional
        Passed to ``fit``.
    level : float, default=0.95
        Of the intervals of the noise rates.
    random_state : int, RandomState or None
        Of the splits.

    Returns
    -------
    pandas.DataFrame
        One row per row of ``X``, least trusted first, indexed as ``X`` is: ``row`` (its position), ``given`` and
        ``suggested`` label, ``trust`` (the left-out probability of the given label), ``probability`` (of the
        suggested one), ``suspect`` (they differ). ``attrs["noise_rate"]`` holds for each class the estimated share of
        its members that carry another label: ``estimate``, ``low``, ``high`` and the number of rows behind it;
        ``attrs["votes"]`` the weight of each classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from softmargin import MarginClassifier, audit_labels, datasets
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> noisy, flipped = datasets.flip_labels(y, 0.1, random_state=0)
    >>> report = audit_labels(MarginClassifier(C=0.1), scale(X), noisy, random_state=0)
    >>> worst = report["row"][:40]
    >>> bool(flipped[worst].mean() > 0.9)
    True
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("audit_labels needs pandas: pip install pandas") from error
    y = column_or_1d(y, warn=True)
    if _num_samples(X) != len(y):
        raise ValueError(f"X and y must have one length; got {_num_samples(X)} and {len(y)}.")
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1; got {n_repeats!r}.")
    if not 0 < level < 1:
        raise ValueError(f"level must be strictly between 0 and 1; got {level!r}.")
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes[0]!r}); there is no other label a row could deserve.")
    weight = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, np.empty((len(y), 1)), dtype=np.float64, ensure_non_negative=True)
    judges = list(estimator) if isinstance(estimator, (list, tuple)) else [estimator]
    if not judges:
        raise ValueError("estimator is an empty list; name at least one classifier to judge the labels.")
    splits = _splits(cv, n_repeats, codes, random_state)
    opinions = np.array(
        [np.mean([_left_out(judge, X, y, classes, weight, folds) for folds in splits], axis=0) for judge in judges]
    )
    every = np.arange(len(y))
    votes = _votes(opinions[:, every, codes], weight)
    P = np.tensordot(votes, opinions, axes=1)
    suggested = P.argmax(axis=1)
    table = pd.DataFrame(
        {
            "row": every,
            "given": y,
            "suggested": classes[suggested],
            "trust": P[every, codes],
            "probability": P[every, suggested],
            "suspect": suggested != codes,
        },
        index=getattr(X, "index", None),
    )
    table = table.sort_values("trust", kind="stable")
    table.attrs["noise_rate"] = _noise_rates(P, codes, classes, level)
    table.attrs["votes"] = votes.tolist()
    return table


def _splits(cv: Any, n_repeats: int, codes: NDArray[np.intp], random_state: Any) -> list[list[Any]]:
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


def _left_out(estimator: Any, X: Any, y: Any, classes: Any, weight: Array | None, folds: list[Any]) -> Array:
    """Probabilities of every row from models that did not see it."""
    direct = hasattr(estimator, "predict_proba")
    columns = len(classes) if direct or len(classes) > 2 else 1
    out = np.full((len(y), columns), np.nan)
    for train, test in folds:
        part, labels = _safe_split(estimator, X, y, train)
        held, _ = _safe_split(estimator, X, y, test, train)
        given = {} if weight is None else {"sample_weight": weight[train]}
        model = clone(estimator).fit(part, labels, **given)
        seen = np.searchsorted(classes, model.classes_)
        values = np.asarray(model.predict_proba(held) if direct else model.decision_function(held), dtype=float)
        if values.ndim == 1:
            out[test, 0] = values
        else:
            out[np.ix_(test, seen)] = values
            absent = np.setdiff1d(np.arange(columns), seen)
            out[np.ix_(test, absent)] = 0.0 if direct else values.min()
    if np.isnan(out).any():
        raise ValueError("cv leaves some rows out of every test part; use a splitter whose test parts cover all rows.")
    return out if direct else _calibrated(out, y, classes)


def _votes(trust: Array, weight: Array | None) -> Array:
    """The mixture of judges (rows of ``trust``) of largest likelihood, by expectation-maximisation."""
    votes = np.full(len(trust), 1 / len(trust))
    trust = np.maximum(trust, np.finfo(float).tiny)
    share = np.full(trust.shape[1], 1 / trust.shape[1]) if weight is None else weight / weight.sum()
    for _ in range(_MAX_ROUNDS):
        last = votes
        votes = votes * (trust / (votes @ trust) @ share)
        if np.abs(votes - last).max() <= _SETTLED:
            break
    return votes / votes.sum()


def _calibrated(scores: Array, y: Any, classes: Any) -> Array:
    if scores.shape[1] == 1:
        f = scores[:, 0]
        odds = fit_sigmoid(f, np.where(y == classes[1], 1.0, -1.0)).log_odds(f)
        return two_columns(expit(odds), odds)
    odds = np.column_stack(
        [
            fit_sigmoid(scores[:, j], np.where(y == label, 1.0, -1.0)).log_odds(scores[:, j])
            for j, label in enumerate(classes)
        ]
    )
    return couple(expit(odds), odds)


def _noise_rates(P: Array, codes: NDArray[np.intp], classes: Any, level: float) -> dict[Any, dict[str, float]]:
    """For each class, the share of other labels among the rows surest to belong to it, with Wilson's interval."""
    z = float(ndtri(0.5 + level / 2))
    rates = {}
    for code, label in enumerate(classes):
        members = int((P.argmax(axis=1) == code).sum())
        size = min(len(codes), max(_SURE_LEAST, int(np.ceil(_SURE_SHARE * members))))
        surest = np.argsort(-P[:, code], kind="stable")[:size]
        wrong = int((codes[surest] != code).sum())
        share, room = wrong / size, z * z / size
        centre = (share + room / 2) / (1 + room)
        reach = z / (1 + room) * np.sqrt(share * (1 - share) / size + room / (4 * size))
        rates[label] = {
            "estimate": share,
            "low": max(centre - reach, 0.0),
            "high": min(centre + reach, 1.0),
            "rows": size,
        }
    return rates
