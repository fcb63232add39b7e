"""Tables of many rows: machines on matrices learn from a sample of them and are judged on all.

The log loss of ``p`` coefficients fitted to ``n`` rows exceeds the best one of their kind by about ``p / (2 n)``: .001
for 100 coefficients and 50000 rows, less than the mixture can tell apart. Beyond that many rows the encoder, linear,
spline and kernel machines see a sample, so that no matrix of all rows is ever made; the rows left out of it are rows
that the machine has not seen, which judge it without any approximation. Trees read bytes and take all rows; so do
matrices of words, which are sparse and have too many columns for that sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softmargin.estimators._auto.members import FittedMember, Judging, Labels, fit_logistic
from softmargin.expansions import Expansion

__all__ = ["SampledRows", "in_blocks"]

_MOST_ROWS = 50_000
_BLOCK = 20_000  # rows that are features at the same time


@dataclass
class SampledRows:
    """A table or matrix with its labels, and the ``rows`` of it that matrices are made of."""

    X: Any
    labels: Labels
    rows: NDArray[np.intp]
    encoder: Any = None

    @classmethod
    def of(cls, X: Any, labels: Labels, *, whole: bool) -> SampledRows:
        """All rows, or a sample of many with some of each class."""
        return cls(X, labels, np.arange(len(labels.codes)) if whole else labels.sample(_MOST_ROWS))

    def learn(self, encoder: Any) -> Any:
        """The encoder, fitted to the rows."""
        self.encoder = encoder.fit(self.part(""), self.labels.weight[self.rows])
        return self.encoder

    def are_all(self, form: str) -> bool:
        """Whether a form is made of every row."""
        return form == "words" or len(self.rows) == len(self.labels.codes)

    def part(self, form: str) -> Any:
        """The rows that a form is made of."""
        return self.X if self.are_all(form) else self.X[self.rows]

    def labels_of(self, form: str) -> Labels:
        """Their labels."""
        return self.labels if self.are_all(form) else self.labels.take(self.rows)

    def features(self, form: str) -> Any:
        """Their features."""
        return self.encoder.transform(self.part(form), form)

    def fit_logistic(self, name: str, form: str, expansion: Expansion, judging: Judging) -> FittedMember:
        """Logistic regression on an expansion of the features, with ``left_out``, log loss and error of all rows."""
        if self.are_all(form):
            return fit_logistic(name, form, expansion, self.labels, judging)
        folds = None if judging.folds is None else judging.folds[self.rows]
        member = fit_logistic(name, form, expansion, self.labels_of(form), replace(judging, folds=folds))
        left_out = np.empty((len(self.labels.codes), self.labels.n_classes))
        left_out[self.rows] = member.left_out
        others = np.setdiff1d(np.arange(len(left_out)), self.rows, assume_unique=True)
        left_out[others] = in_blocks(lambda rows: member.predict(self.encoder.transform(self.X[rows], form)), others)
        log_loss, error = self.labels.log_loss(left_out), self.labels.error(left_out)
        return replace(member, left_out=left_out, log_loss=log_loss, error=error)


def in_blocks(predict: Callable[[NDArray[np.intp]], Any], rows: NDArray[np.intp]) -> Any:
    """``predict(rows)``, some of them at a time."""
    if len(rows) <= _BLOCK:
        return predict(rows)
    return np.concatenate([predict(rows[first : first + _BLOCK]) for first in range(0, len(rows), _BLOCK)])
