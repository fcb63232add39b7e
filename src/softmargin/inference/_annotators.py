"""Several annotators: a consensus label and the quality of each, by expectation-maximisation (Dawid and Skene 1979).

Each annotator has a matrix ``pi_a[t, s]``, the probability of answering ``s`` on a row of class ``t``. Given those and
the class shares, the answers on a row give a distribution over its true class; given the distributions, the matrices
are weighted counts, with half a row of prior on each diagonal entry and a little everywhere. Class probabilities of a
model that has not seen the row are its prior, so a model speaks where annotators are few or disagree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin._constraints import class_codes

__all__ = ["Consensus", "dawid_skene", "encode_answers", "recode"]

Array = NDArray[np.floating[Any]]

_ROUNDS, _SETTLED = 200, 1e-6


@dataclass(frozen=True)
class Consensus:
    """The probability of each class for every row, each annotator's accuracy and agreement with the consensus."""

    probability: Array
    confusion: Array
    accuracy: Array
    agreement: Array

    @property
    def codes(self) -> NDArray[np.intp]:
        return self.probability.argmax(axis=1)


def encode_answers(annotators: Any) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes and the code of every answer, -1 where an annotator gave none (None or NaN)."""
    answers = np.asarray(annotators, dtype=object)
    if answers.ndim != 2:
        raise ValueError(f"annotators must have a row per row of X and a column per annotator; got {answers.shape}.")
    if 0 in answers.shape:
        raise ValueError(f"annotators has no answer; got shape {answers.shape}.")
    given = np.array([[_is_answer(value) for value in row] for row in answers])
    if not given.any(axis=1).all():
        raise ValueError("annotators holds a row without any answer; give every row at least one.")
    codes = np.full(answers.shape, -1)
    classes, codes[given] = class_codes("annotators", answers[given].tolist())
    return classes, codes


def _is_answer(value: Any) -> bool:
    try:
        return value is not None and bool(value == value)
    except (TypeError, ValueError):  # a missing value of pandas has no truth
        return False


def recode(names: NDArray[Any], codes: NDArray[np.intp], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Answers as codes of the audited ``classes``; an answer that is none of them counts as none."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    known = np.array([place.get(name, -1) for name in names.tolist()] + [-1])
    return known[codes]


def dawid_skene(codes: NDArray[np.intp], k: int, prior: Array | None = None) -> Consensus:
    """The consensus of answers ``codes`` (rows by annotators, -1 for none) on ``k`` classes."""
    answered = codes >= 0
    votes = np.array([np.bincount(row[row >= 0], minlength=k) for row in codes], dtype=float)
    silent = votes.sum(axis=1) == 0
    votes[silent] = 1.0
    R = votes / votes.sum(axis=1, keepdims=True)
    indicator = (codes[:, :, None] == np.arange(k)).astype(float)
    for _ in range(_ROUNDS):
        last = R
        confusion = np.einsum("it,ias->ats", R, indicator) + 0.5 * np.eye(k) + 0.05
        confusion /= confusion.sum(axis=2, keepdims=True)
        base = np.log(R.mean(axis=0) + 1e-12) if prior is None else np.log(np.maximum(prior, 1e-6))
        L = base + np.einsum("ias,ats->it", indicator, np.log(confusion))
        R = np.exp(L - L.max(axis=1, keepdims=True))
        R /= R.sum(axis=1, keepdims=True)
        if np.abs(R - last).max() <= _SETTLED:
            break
    share = R.mean(axis=0)
    accuracy = np.einsum("t,att->a", share, confusion)
    same = np.where(answered, codes == R.argmax(axis=1)[:, None], False)
    return Consensus(R, confusion, accuracy, same.sum(axis=0) / np.maximum(answered.sum(axis=0), 1))
