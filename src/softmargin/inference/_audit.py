"""Which labels look wrong? A row's label judged by models that never saw the row.

Out-of-fold class probabilities (:mod:`softmargin.inference._opinions`) meet a model of how labels go wrong
(:mod:`softmargin.inference._noise_model`): the trust in a label is the probability that it is right, given what models
of the other rows say and how often labels of its class turn out wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_y

from softmargin._constraints import (
    LEVEL,
    RANDOM_STATE,
    as_array,
    check_one_type,
    class_codes,
    count_rows,
    integer,
    real_numbers,
    said_of,
)
from softmargin._parameters import FOLDS
from softmargin.expansions import ChunkedRows, with_rows
from softmargin.inference._annotators import dawid_skene, encode_answers, recode
from softmargin.inference._chunk_opinions import chunked_data, left_out_opinions_of_chunks
from softmargin.inference._label_audit import JUDGES, AuditedRows, LabelAudit
from softmargin.inference._neighbours import look_around
from softmargin.inference._noise_model import fit_noise
from softmargin.inference._opinions import Opinions, cheap_panel, default_panel, left_out_opinions, splits
from softmargin.inference._second_look import second_look
from softmargin.probability import row_weights

__all__ = ["audit_labels"]

Array = NDArray[np.floating[Any]]

_SURE_SHARE, _SURE_LEAST = 0.1, 20


def audit_labels(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    annotators: Any = None,
    probabilities: Any = None,
    cv: Any = 5,
    n_repeats: int = 1,
    sample_weight: Any = None,
    level: float = 0.95,
    random_state: Any = None,
) -> LabelAudit:
    """Rank the rows by how little their labels can be trusted.

    Parameters
    ----------
    estimator : classifier, list of classifiers, "auto" or None
        Anything with ``predict_proba`` or ``decision_function``: softmargin's classifiers, or a pipeline of one. A
        classifier that resists wrong labels judges them best. A list is a panel: linear and kernel machines of several
        ``C``, say, that vote with the weights under which the labels are most likely. "auto" is a panel of a linear
        machine, an rbf machine on landmarks, trees and neighbours, the cheap ones of which take a second look without
        the rows they distrust most. None where ``probabilities`` are given.
    X, y : data
        Rows, in memory or in chunks, and the labels under suspicion; ``y`` of shape (n, k) with rows that add up to
        one are soft labels (the likeliest class is the label given). Labels may be left out where annotators are
        given: their consensus is audited.
    groups : array of shape (n,), optional
        Slices to report on in ``health``.
    annotators : array of shape (n, n_annotators), optional
        The labels of several people, None or NaN where one gave none.
    probabilities : array of shape (n, k), optional
        Out-of-fold class probabilities made elsewhere, columns in the order of the sorted labels.
    cv : int or splitter, default=5
        Folds; each row is judged by models that did not see it.
    n_repeats : int, default=1
        Number of random splits to average over (for an int ``cv``).
    sample_weight : array of shape (n,), optional
        Passed to ``fit``; a pipeline hands it to its last step.
    level : float, default=0.95
        Of the intervals.
    random_state : int, RandomState or None
        Of the splits.

    Returns
    -------
    LabelAudit
        Its ``table`` has one row per row of ``X``, least trusted first, indexed as ``X`` is: ``row`` (its position),
        ``given`` and ``suggested`` label, ``trust`` (the probability that the given label is right), ``probability``
        (the left-out probability of the suggested one), ``left_out`` (that of the given one), ``suspect`` (they
        differ), ``duplicate``, ``conflict`` and ``outlier`` for rows of numbers. ``attrs["noise_rate"]`` holds for
        each class the share of other labels among the rows surest to belong to it, ``attrs["votes"]`` the weight of
        each classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from softmargin import MarginClassifier, audit_labels, datasets
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> noisy, flipped = datasets.flip_labels(y, 0.1, random_state=0)
    >>> report = audit_labels(MarginClassifier(C=0.1), scale(X), noisy, random_state=0)
    >>> bool(flipped[report["row"][:40]].mean() > 0.9)
    True
    """
    integer(1, 1000).check("n_repeats", n_repeats)
    LEVEL.check("level", level)
    RANDOM_STATE.check("random_state", random_state)
    FOLDS.check("cv", cv)
    chunks = chunked_data(X, y, sample_weight)
    if chunks is not None:
        (X, y), sample_weight = chunks, None
    X = with_rows(X)
    n = count_rows("X", X)
    if not n:
        raise ValueError("X has no rows; there are no labels to audit.")
    answers = None if annotators is None else _answers(annotators, n)
    labels = _labels(y, answers, n)
    classes, codes = class_codes("y", labels)
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes[0]!r}); there is no other label a row could deserve.")
    weight = None
    if sample_weight is not None:
        weight = row_weights(sample_weight, n)
    if probabilities is not None:
        opinions = Opinions(_given_probabilities(probabilities, n, classes), np.ones(1))
    elif chunks is not None:
        seed = 0 if random_state is None else int(check_random_state(random_state).randint(1 << 30))
        opinions = left_out_opinions_of_chunks(_judges(estimator, X), *chunks, cv, seed)
    else:
        rows_ = _rows(X)
        judges, parts = _judges(estimator, rows_), splits(cv, n_repeats, codes, random_state)
        opinions = left_out_opinions(judges, rows_, codes, weight, parts)
    noise, consensus = fit_noise(opinions.P, codes, level=level), None
    if isinstance(estimator, str) and probabilities is None:
        noise = second_look(cheap_panel(rows_), rows_, codes, weight, parts, noise)
    if answers is not None:
        consensus = dawid_skene(recode(*answers, classes), len(classes), prior=opinions.P)
        noise = noise.informed(consensus.probability, codes)
    rows = AuditedRows(estimator, X, labels, weight, _check_groups(groups, n))
    table = _table(rows, classes, codes, opinions.P, noise.posterior)
    table.attrs["noise_rate"] = _noise_rates(opinions.P, codes, classes, level)
    table.attrs["votes"] = opinions.votes.tolist()
    return LabelAudit(table, rows, classes, noise, consensus)


def _rows(X: Any) -> Any:
    """Rows that folds can index; a list of strings is an array of them."""
    return X if hasattr(X, "shape") else np.asarray(X, dtype=object if _holds_text(X) else None)


def _holds_text(X: Any) -> bool:
    return len(X) > 0 and isinstance(X[0], str)


def _answers(annotators: Any, n: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    names, codes = encode_answers(annotators)
    if len(codes) != n:
        raise ValueError(f"X and annotators must have one length; got {n} and {len(codes)}.")
    return names, codes


def _labels(y: Any, answers: tuple[NDArray[Any], NDArray[np.intp]] | None, n: int) -> NDArray[Any]:
    if y is None and answers is not None:
        names, codes = answers
        return names[dawid_skene(codes, len(names)).codes]
    if y is None:
        raise ValueError("y is missing; give the labels to audit, or annotators whose consensus is audited.")
    check_one_type("y", y)
    y = as_array("y", y)
    if y.ndim == 2 and y.shape[1] > 1:
        soft = np.issubdtype(y.dtype, np.number) and np.all(y >= 0) and np.allclose(y.sum(axis=1), 1)
        if not soft:
            raise ValueError(
                f"y has shape {y.shape} and rows that do not add up to one: several labels per row are not audited. "
                "Audit each label by itself, or give soft labels as probabilities."
            )
        y = y.argmax(axis=1)
    with said_of("y"):
        y = _check_y(y)
    if len(y) != n:
        raise ValueError(f"X and y must have one length; got {n} and {len(y)}.")
    return y


def _judges(estimator: Any, X: Any) -> list[Any]:
    if estimator is None:
        raise ValueError("estimator is None and no probabilities were given; name a classifier, a list, or 'auto'.")
    if isinstance(estimator, str):
        if estimator == "auto" and isinstance(X, ChunkedRows):
            raise ValueError("estimator='auto' judges rows in memory; name a classifier that fits chunked rows.")
        JUDGES.check("estimator", estimator)
        return default_panel(_of_columns(X))
    JUDGES.check("estimator", estimator)
    return list(estimator) if isinstance(estimator, (list, tuple)) else [estimator]


def _of_columns(X: Any) -> Any:
    if getattr(X, "ndim", 0) != 2:
        raise ValueError("estimator='auto' judges rows of numbers; give text or images as a matrix, or a pipeline.")
    return X


def _given_probabilities(probabilities: Any, n: int, classes: NDArray[Any]) -> Array:
    P = real_numbers("probabilities", probabilities)
    if P.shape != (n, len(classes)):
        raise ValueError(f"probabilities must have shape {(n, len(classes))}, a column per class; got {P.shape}.")
    if not (np.all(np.isfinite(P)) and np.all(P >= 0) and np.allclose(P.sum(axis=1), 1, atol=1e-3)):
        raise ValueError("probabilities must be nonnegative numbers that add up to one in every row.")
    return P


def _check_groups(groups: Any, n: int) -> NDArray[Any] | None:
    if groups is None:
        return None
    groups = as_array("groups", groups)
    if groups.shape != (n,):
        raise ValueError(f"groups must hold one value per row; got shape {groups.shape} for {n} rows.")
    return groups


def _table(rows: AuditedRows, classes: Any, codes: NDArray[np.intp], P: Array, posterior: Array) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("audit_labels needs pandas: pip install pandas") from error
    every = np.arange(len(codes))
    suggested = P.argmax(axis=1)
    columns = {
        "row": every,
        "given": rows.y,
        "suggested": classes[suggested],
        "trust": posterior[every, codes],
        "probability": P[every, suggested],
        "left_out": P[every, codes],
        "suspect": suggested != codes,
    }
    if rows.groups is not None:
        columns["group"] = rows.groups
    around = None if isinstance(rows.X, ChunkedRows) else look_around(rows.X, codes)
    if around is not None:
        columns |= {"duplicate": around.duplicate, "conflict": around.conflict, "outlier": around.outlier}
    table = pd.DataFrame(columns, index=rows.X.index if hasattr(rows.X, "iloc") else None)
    return table.sort_values(["trust", "left_out"], kind="stable")


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
