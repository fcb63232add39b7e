"""A chunk as its source gives it: rows, labels and weights that belong together, and columns in the order of the first.

What a fit in memory refuses is refused here too, by the same rules: names of columns are those of a data frame whose
names are all text, and they must be the same in the same order; labels are text, numbers or dates, never a mixture that
NumPy would make text of.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import _get_feature_names

from softmargin._constraints import check_one_type, check_unmasked, real_numbers
from softmargin.expansions.chunks.chunk import Chunk

__all__ = ["check_same_names", "column_names", "given_chunk", "given_rows", "one_label_type"]

Names = Sequence[str] | NDArray[Any]

_MOST_NAMES = 12  # that an error shows
_FAMILIES = {**dict.fromkeys("biuf", "number"), "U": "text", "M": "date", "m": "time span"}


def given_chunk(X: Any, y: Any, weight: Any, names: Names | None, where: str, first: int = 0) -> Chunk:
    """Rows with their labels and weights; ``names`` are the columns of the first chunk, ``where`` is used by errors."""
    rows = given_rows(X, names, where)
    n = rows.shape[0]
    check_one_type(f"y of {where}", y)
    labels = None if y is None else _labels(_column("y", y, n, where), where)
    if weight is not None:
        weight = real_numbers(f"weight of {where}", _column("weight", weight, n, where))
    return Chunk(rows, labels, weight, first)


def given_rows(X: Any, names: Names | None, where: str = "a chunk") -> Any:
    """The rows of a chunk as a matrix of numbers."""
    check_same_names(names, column_names(X), f"X of {where}", "the first chunk", strict=True)
    check_unmasked(f"X of {where}", X)
    _check_columns_are_numbers(X, where)
    matrix = X if sparse.issparse(X) else np.asarray(X)
    if matrix.ndim != 2:
        raise ValueError(f"X of {where} must have two dimensions, rows and columns; got {matrix.ndim}.")
    is_float = matrix.dtype in (np.float32, np.float64)
    if sparse.issparse(matrix):
        return sparse.csr_array(matrix if is_float else matrix.astype(np.float64))
    return matrix if is_float else real_numbers(f"X of {where}", matrix)


def column_names(X: Any) -> NDArray[Any] | None:
    """The names of a data frame's columns where all of them are text, as scikit-learn reads them."""
    names: NDArray[Any] | None = _get_feature_names(getattr(X, "_meta", X))  # a Dask frame has an empty one of pandas
    return names


def check_same_names(known: Names | None, names: Names | None, what: str, who: str, strict: bool = False) -> None:
    """Refuse columns of other names or in another order, as scikit-learn does; names on one side only are a warning.

    ``strict`` refuses those too.
    """
    if known is None and names is None:
        return
    if known is None or names is None:
        has, lacks = (what, who) if known is None else (who, what)
        text = f"{has} has feature names, but {lacks} has none; name the columns in both, or in neither."
        if strict:
            raise ValueError(text)
        warnings.warn(text, UserWarning, stacklevel=3)
        return
    if list(known) == list(names):
        return
    unseen, absent = sorted(set(names) - set(known)), sorted(set(known) - set(names))
    differ = [f"{_listed(unseen)} {who} did not see"] if unseen else []
    differ += [f"{_listed(absent)} are missing"] if absent else []
    raise ValueError(
        f"The feature names of {what} should match those that {who} saw, in the same order: "
        f"{'; '.join(differ) or 'the order differs'}. {who} saw {_listed(known)}; the columns of {what} are "
        f"{_listed(names)}."
    )


def one_label_type(found: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The labels of several chunks in one array, unless they are of types that NumPy can only join by changing them."""
    families = {_FAMILIES[labels.dtype.kind] for labels in found}
    dates = {labels.dtype for labels in found if labels.dtype.kind in "Mm"}
    if len(families) > 1 or len(dates) > 1:
        kinds = sorted({"text" if labels.dtype.kind == "U" else labels.dtype.name for labels in found})
        raise TypeError(
            f"y must hold labels of one type in every chunk; got {', '.join(kinds)}. Convert all of them to text."
        )
    joined = np.concatenate(found)
    if joined.dtype.kind == "f" and any(labels.dtype.kind in "iu" for labels in found):
        apart = {label for labels in found for label in labels.tolist()}
        if len(apart) > len(np.unique(joined)):
            raise TypeError(
                f"y holds whole numbers that {joined.dtype} cannot tell apart, in chunks of different types; give all "
                "of them one type of integers."
            )
    return joined


def _listed(names: Names) -> str:
    return f"{', '.join(names[:_MOST_NAMES])}{', ...' if len(names) > _MOST_NAMES else ''}"


def _check_columns_are_numbers(X: Any, where: str) -> None:
    """Name the columns of a frame of pandas that hold no numbers; an array of all would only say that one does."""
    kinds: Any = getattr(X, "dtypes", None)
    if hasattr(kinds, "items"):
        odd = [str(name) for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "biuf"]
        if odd:
            raise ValueError(f"Columns {_listed(odd)} of {where} are not numbers; encode them before fit.")


def _column(name: str, values: Any, n: int, where: str) -> NDArray[Any]:
    """One value per row, given as a vector or as a matrix of one column."""
    check_unmasked(f"{name} of {where}", values)
    found = np.asarray(values)
    if found.shape not in ((n,), (n, 1)):
        count = " x ".join(map(str, found.shape)) or "no list of"
        raise ValueError(f"{name} of {where} has {count} values for {n} rows; give one value per row.")
    return found.ravel()


def _labels(y: NDArray[Any], where: str) -> NDArray[Any]:
    if y.dtype.kind == "T":
        return y.astype(str)
    if y.dtype.kind in _FAMILIES:
        if np.any(y != y):
            raise ValueError(f"y of {where} contains missing labels (NaN); drop those rows.")
        return y
    kinds = {type(label).__name__ for label in y.tolist()}
    if all(isinstance(label, str) for label in y.tolist()):
        return y.astype(str)
    raise TypeError(
        f"y of {where} must hold labels of one type, text or numbers; got {', '.join(sorted(kinds))}. Drop rows "
        "without a label, and convert the others to text."
    )
