"""From what a user passes to ``fit`` to what a solver sees: class codes, positive weights, and where rows came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_consistent_length

from softmargin._constraints import check_one_type, check_unmasked
from softmargin.solvers import Solution

__all__ = [
    "TrainingSet",
    "check_class_weight",
    "check_collected",
    "check_labels",
    "check_present",
    "check_targets",
    "culprit",
    "encode_labels",
    "unweighted",
    "weigh_classes",
]


@dataclass
class TrainingSet:
    """What a fit sees: rows of positive weight only, class codes, and where those rows came from.

    ``counts`` are the sample weights as given, ``weight`` holds the class weights as well. ``shared`` is what
    all binary fits have in common (an expansion, a Gram matrix), ``start`` the solution of a nearby problem of two
    classes on the same rows, where one is known.
    """

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    rows: np.ndarray
    n_rows: int
    shared: Any = None
    start: Solution | None = None

    def signs(self, positive: int = 1) -> np.ndarray:
        """+1 for the class of code ``positive``, -1 for all others, in the dtype of ``X``."""
        return np.where(self.codes == positive, self.X.dtype.type(1), self.X.dtype.type(-1))

    @property
    def is_resident(self) -> bool:
        """The rows are in memory."""
        return True

    def numbered(self, chosen: np.ndarray) -> np.ndarray:
        """Row numbers of ``fit`` from those of the rows of positive weight."""
        return self.rows[chosen]

    def typical(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Rows in memory with their class codes and weights, from which widths of kernels are measured."""
        return self.X, self.codes, self.counts

    def typical_weight(self) -> np.ndarray:
        """The weights of those rows, class weights included."""
        return self.weight

    def expand(self, values: np.ndarray, fill: float) -> np.ndarray:
        """Per-row results for all rows given to ``fit``, ``fill`` where the weight was zero."""
        if len(self.rows) == self.n_rows:
            return values
        full = np.full(self.n_rows, fill, dtype=np.asarray(values).dtype)
        full[self.rows] = values
        return full


def check_labels(X: Any, y: Any) -> np.ndarray:
    """The labels of rows that are passed on as they are, as scikit-learn's checks of rows and labels leave them."""
    check_collected(X)
    check_present(y)
    y = _check_y(y)
    check_consistent_length(X, y)
    if not len(y):
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    check_targets(y)
    return y


def check_present(y: Any) -> None:
    """Refuse labels with missing ones, masked or of a type that no comparison takes (``pandas.NA``)."""
    check_one_type("y", y)
    if hasattr(y, "isna") and not isinstance(getattr(y, "dtype", np.dtype(object)), np.dtype) and np.any(y.isna()):
        raise ValueError("y contains missing labels (NA); drop those rows.")


def culprit(message: str, y: Any) -> str:
    """The name of what an error of scikit-learn's checks of rows and labels is about."""
    if "inconsistent numbers" in message:
        return "X and y"
    try:
        _check_y(y if y is not None else [0])
    except (TypeError, ValueError):
        return "y"
    return "X"


def check_collected(X: Any) -> None:
    """Refuse a lazy frame, which is a plan of a table and has no rows yet, and rows with masked values."""
    check_unmasked("X", X)
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise TypeError(f"X is a {type(X).__name__}, which has no rows before it is collected; give X.collect().")


def check_targets(y: np.ndarray) -> None:
    """Refuse what are no labels: numbers with fractions, and values of types that cannot be told apart by order."""
    try:
        check_classification_targets(y)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise TypeError(
            f"y must hold labels of one type; got {kinds}. Drop rows without a label, and convert the others to text."
        ) from None


def encode_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes, checked, and the code of each label; whole numbers are told apart without sorting.

    scikit-learn's check takes longer than a small fit; what it says of two whole numbers, or of integers that repeat
    on average, is known.
    """
    if y.dtype.kind in "biuf":
        ends = np.array([y.min(), y.max()])
        upper = y == ends[1]
        if ends[0] != ends[1] and np.all(upper | (y == ends[0])):
            if not np.array_equal(ends, np.floor(ends)):
                check_targets(ends)
            return ends, upper.astype(np.intp)
        if y.dtype.kind in "iu" and int(ends[1]) - int(ends[0]) < len(y) // 2:
            codes = y.astype(np.intp) - ends[0].astype(np.intp)  # small, even where both wrap around
            seen = np.bincount(codes) > 0
            return np.flatnonzero(seen).astype(y.dtype) + ends[0], (np.cumsum(seen) - 1)[codes]
    check_targets(y)
    return np.unique(y, return_inverse=True)


def check_class_weight(class_weight: Any, labels: np.ndarray) -> None:
    """Refuse weights that are not finite and nonnegative numbers, and labels that ``y`` does not hold."""
    if not isinstance(class_weight, Mapping):
        return
    for label, weight in class_weight.items():
        number = isinstance(weight, Real) and not isinstance(weight, (bool, np.bool_))
        if not number or not 0 <= weight < np.inf:
            raise ValueError(f"class_weight must hold finite, nonnegative numbers; got {weight!r} for class {label!r}.")
    known = set(np.unique(labels).tolist())
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown!r}, but the classes in y are {sorted(known, key=str)!r}; use those labels as "
            "keys (classes left out weigh 1)."
        )


def weigh_classes(class_weight: Any, classes: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weight of each class; "balanced" counts a row of weight two as two rows."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        totals = np.bincount(codes, weights=counts)
        return totals.sum() / (len(totals) * totals)
    return np.array([class_weight.get(label, 1.0) for label in classes.tolist()], dtype=np.float64)


def unweighted(probability: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Class probabilities of the population sampled, from those where classes weigh ``weights`` (Bayes' formula).

    A population with class j counted ``w_j`` times has ``P_w(j | x) = w_j P(j | x) / sum_i w_i P(i | x)``.
    """
    ratio = probability / weights
    return ratio / ratio.sum(axis=1, keepdims=True)
