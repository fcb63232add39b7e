"""A small language for what an argument may be: each constraint tests a value and completes "NAME must be ...".

A bool is no number here, and an array no scalar: ``C=True`` and ``C=[1.0]`` are slips, not settings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from numbers import Integral
from typing import Any

import numpy as np

__all__ = [
    "AXES",
    "BOOLEAN",
    "CLASSIFIER",
    "COUNT",
    "JOBS",
    "LEVEL",
    "NONE",
    "NUMBER",
    "PATH",
    "POSITIVE",
    "RANDOM_STATE",
    "RESAMPLES",
    "TEXT",
    "Constraint",
    "as_array",
    "check_each",
    "check_fitted",
    "check_labels",
    "check_lengths",
    "check_named",
    "check_one_type",
    "check_rows",
    "check_table",
    "check_training_rows",
    "check_unmasked",
    "class_codes",
    "count_rows",
    "finite_numbers",
    "having",
    "instance",
    "integer",
    "is_number",
    "mapping",
    "number",
    "one_of",
    "random_generator",
    "real_numbers",
    "said_of",
    "settle_numbers",
    "several",
    "within_doubles",
]


_LONGEST = 300  # letters of a value that an error shows


@dataclass(frozen=True)
class Constraint:
    """What is allowed, in words and as a test; ``a | b`` allows either."""

    words: str
    allows: Callable[[Any], bool]

    def __or__(self, other: Constraint) -> Constraint:
        return Constraint(f"{self.words} or {other.words}", lambda value: self.allows(value) or other.allows(value))

    def check(self, name: str, value: Any) -> None:
        """Raise a ValueError that names the parameter, the value seen and what is allowed."""
        if _is_narrow(value):
            raise ValueError(
                f"{name} is a {type(value).__name__}, whose numbers wrap round or lose digits; give it as "
                f"{name.partition(' ')[0]}={float(value):g}."
            )
        if not self.allows(value):
            raise ValueError(f"{name} must be {self.words}; got {_shown(value)}.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _is_narrow(value: Any) -> bool:
    """Whether a scalar of NumPy's is unsigned, of fewer than four bytes, or of no type that compiled loops take."""
    if not isinstance(value, (np.integer, np.floating)):
        return False
    return isinstance(value, (np.unsignedinteger, np.float16)) or not 4 <= value.dtype.itemsize <= 8


def is_number(value: Any) -> bool:
    """A real scalar that is no bool and no NaN, and within the range of double precision (or infinite)."""
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
        return False
    try:
        return float(value) == float(value)
    except OverflowError:
        return False


def number(words: str, allows: Callable[[Any], bool]) -> Constraint:
    """A real number with a condition, such as ``number("a positive number", lambda v: v > 0)``."""
    return Constraint(words, lambda value: is_number(value) and bool(allows(value)))


def integer(low: int, high: int | None = None) -> Constraint:
    """An integer from ``low`` on, up to ``high`` where given."""
    words = f"an integer of at least {low}" if high is None else f"an integer from {low} to {high}"
    top = np.inf if high is None else high

    def allows(value: Any) -> bool:
        return isinstance(value, Integral) and is_number(value) and low <= int(value) <= top

    return Constraint(words, allows)


def one_of(*choices: Any) -> Constraint:
    """One of a few names, numbers, None or False."""
    words = repr(choices[0]) if len(choices) == 1 else f"one of {', '.join(map(repr, choices))}"
    return Constraint(words, lambda value: any(_equal(value, choice) for choice in choices))


def several(words: str, allows: Callable[[Any], bool] = lambda one: True, least: int = 1) -> Constraint:
    """A list, tuple, range or array of at least so many values, all of which are allowed."""

    def all_allowed(value: Any) -> bool:
        listed = value.tolist() if hasattr(value, "tolist") else value
        return isinstance(listed, (list, tuple, range)) and len(listed) >= least and all(map(allows, listed))

    return Constraint(words, all_allowed)


def instance(words: str, *kinds: type) -> Constraint:
    """An object of some classes (not a class itself)."""
    return Constraint(words, lambda value: isinstance(value, kinds))


def having(words: str, *names: str) -> Constraint:
    """An object with some attributes."""
    return Constraint(words, lambda value: all(hasattr(value, name) for name in names))


def random_generator(name: str, given: Any) -> np.random.Generator:
    """The generator that a seed, a RandomState, another generator or None stands for."""
    (RANDOM_STATE | instance("a numpy.random.Generator", np.random.Generator)).check(name, given)
    if isinstance(given, np.random.RandomState):
        return np.random.Generator(given._bit_generator)
    return np.random.default_rng(given)


def mapping(words: str) -> Constraint:
    """A dict; what it holds is checked where it is used."""
    return instance(words, Mapping)


def check_each(constraints: Mapping[str, Constraint], **given: Any) -> None:
    """Refuse the first argument whose value is not allowed."""
    for name, value in given.items():
        constraints[name].check(name, value)


def settle_numbers(made: Any) -> None:
    """Check the fields of a dataclass that are declared as numbers, and keep them as numbers of Python's.

    Arithmetic with a scalar of NumPy's is done in its type, whose whole numbers wrap round and have no negative powers.
    """
    for field in fields(made) if is_dataclass(made) else ():
        kind, _, rest = (field.type if isinstance(field.type, str) else field.type.__name__).partition(" | ")
        if kind not in ("float", "int") or not field.init:
            continue
        value = getattr(made, field.name)
        (NONE | NUMBER if rest == "None" else NUMBER).check(field.name, value)
        if isinstance(value, np.number):
            object.__setattr__(made, field.name, value.item())


def check_fitted(name: str, model: Any) -> None:
    """Refuse what is no classifier, by the name of its argument, and a classifier before its fit (NotFittedError)."""
    from sklearn.utils.validation import check_is_fitted  # losses need none of it, and read this module

    CLASSIFIER.check(name, model)
    check_is_fitted(model)


def check_labels(y: Any, classes: Any, n: int, names: tuple[str, str] = ("y", "X")) -> np.ndarray:
    """Labels of ``n`` rows, one of ``classes`` each; ``names`` are those of the labels and of the rows."""
    check_one_type(names[0], y)
    y, known = as_array(names[0], y), np.asarray(classes).tolist()
    if y.shape != (n,):
        raise ValueError(f"{names[0]} must hold one label per row of {names[1]}; got shape {y.shape} for {n} rows.")
    unknown = [label for label in dict.fromkeys(y.tolist()) if label not in known]
    if unknown:
        shown = f"{known[:10]}{' and more' if len(known) > 10 else ''}"
        raise ValueError(f"{names[0]} must hold labels that the model was fitted to, {shown}; got {unknown[0]!r}.")
    return y


def as_array(name: str, value: Any) -> np.ndarray:
    """An array of whatever holds values of one shape; lists of several lengths are refused by the argument's name."""
    try:
        return np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} must hold one value per row; got lists of several lengths.") from None


def count_rows(name: str, X: Any) -> int:
    """The number of rows of a table of any kind; what is none is refused by the argument's name."""
    from sklearn.utils.validation import _num_samples

    with said_of(name):
        return int(_num_samples(X))


def check_unmasked(name: str, value: Any) -> None:
    """Refuse an array with masked values, which NumPy's own functions would read as if they were not."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} is an array with masked values; fill them, or remove their rows.")


def real_numbers(name: str, value: Any) -> np.ndarray:
    """An array in double precision of whatever holds numbers; what does not is refused by the name of its argument."""
    check_unmasked(name, value)
    with within_doubles(name):
        try:
            return _as_doubles(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers; got {_shown(value)} ({error}).") from None


def _as_doubles(value: Any) -> np.ndarray:
    array = value.toarray() if hasattr(value, "toarray") else np.asarray(value)
    if array.dtype.kind not in "biufO" or (array.dtype == object and any(one is None for one in array.flat)):
        raise TypeError(f"values of type {'None' if array.dtype == object else array.dtype.name}")
    return np.asarray(array, dtype=np.float64)


def finite_numbers(name: str, value: Any, *shape: int | None) -> np.ndarray:
    """Such an array without NaN and infinite values, of a shape; None stands for any length."""
    array = real_numbers(name, value)
    fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
    if not fits:
        wanted = ", ".join("n" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} must be an array of shape ({wanted}); got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} contains NaN or infinite values; fill or remove them.")
    return array


@contextmanager
def within_doubles(name: str) -> Iterator[None]:
    """Whole numbers that no double holds are refused by the name of the argument they come from."""
    try:
        yield
    except OverflowError:
        raise ValueError(f"{name} holds a number beyond the range of double precision; scale or remove it.") from None


def check_rows(name: str, X: Any, n_columns: int | None = None, **options: Any) -> Any:
    """Rows as scikit-learn checks them, with ``n_columns`` columns where that is known; ``name`` is the argument's."""
    from sklearn.utils import check_array

    check_unmasked(name, X)
    with said_of(name):
        check_table(X)
        X = check_array(X, input_name=name, **options)
    if n_columns is not None and X.shape[1] != n_columns:
        raise ValueError(f"{name} must have the {n_columns} columns that the model was fitted to; got {X.shape[1]}.")
    return X


@contextmanager
def said_of(name: str) -> Iterator[None]:
    """Errors of checks that others make begin with the name of the argument, where they do not hold it."""
    try:
        with within_doubles(name):
            yield
    except (TypeError, ValueError) as error:
        if re.search(rf"\b{re.escape(name)}\b", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else ValueError
        if "setting an array element with a sequence" in str(error):
            raise ValueError(f"{name}: some cells hold several values; give one in each.") from None
        text = "could not convert string" in str(error)
        remedy = ". Encode text as numbers, or use AutoClassifier, which takes such tables as they are." if text else ""
        raise kind(f"{name}: {error}{remedy}") from None


def check_table(X: Any) -> None:
    """Refuse dates, which NumPy would make numbers of, and rows of several lengths."""
    kinds = [X.dtype] if hasattr(X, "dtype") else getattr(X, "dtypes", ())
    if any(getattr(kind, "kind", None) in ("M", "m") for kind in kinds):
        raise ValueError("dates are no numbers; convert them (days since one of them, say).")
    check_lengths(X)


def check_lengths(X: Any) -> None:
    """Refuse a list of rows of several lengths, which is no table."""
    if isinstance(X, (list, tuple)):
        lengths = {len(row) for row in X if hasattr(row, "__len__") and not isinstance(row, str)}
        if len(lengths) > 1:
            raise ValueError(f"all rows must have one length; got lengths {sorted(lengths)[:5]}.")


def check_one_type(name: str, labels: Any) -> None:
    """Refuse masked labels, and a list of text and other labels, which NumPy would make text of: 0 and "0" differ."""
    check_unmasked(name, labels)
    if isinstance(labels, (list, tuple)):
        kinds = {type(label).__name__: isinstance(label, str) for label in labels}
        if len(set(kinds.values())) > 1:
            raise TypeError(
                f"{name} must hold labels of one type; got {', '.join(sorted(kinds))}. Drop rows without a label, and "
                "convert the others to text."
            )


def class_codes(name: str, labels: Any) -> tuple[Any, Any]:
    """The labels in their order and the number of each row's label among them."""
    check_one_type(name, labels)
    found = as_array(name, labels)
    if found.ndim != 1:
        raise ValueError(f"{name} must hold one label per row; got shape {found.shape}.")
    if found.dtype.kind in "fcMm" and np.any(found != found):
        raise ValueError(f"{name} contains NaN; drop rows without a label.")
    try:
        return np.unique(found, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in found.tolist()}))
        raise ValueError(
            f"{name} must hold labels of one type; got {kinds}. Drop rows without a label, and convert the others to "
            "text."
        ) from error


def check_named(name: str, values: Any, n: int, what: str) -> list[Any]:
    """The names given to ``n`` things, one each."""
    is_list = hasattr(values, "__iter__") and not isinstance(values, (str, bytes)) and getattr(values, "ndim", 1) == 1
    listed = list(values) if is_list else None
    if listed is None or len(listed) != n:
        got = repr(values) if listed is None else str(len(listed))
        raise ValueError(f"{name} must be one for each of the {n} {what}; got {got}.")
    return listed


def check_training_rows(X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
    """Rows and their labels as scikit-learn checks them."""
    from sklearn.utils import check_X_y

    X = check_rows("X", X, **options)
    check_one_type("y", y)
    with said_of("y"):
        n, found = X.shape[0], np.shape(y)
        if len(found) == 1 and found != (n,):
            raise ValueError(f"y must hold one label per row of X; got {found[0]} labels for {n} rows.")
        return X, check_X_y(np.zeros((n, 1)), y)[1]


def _classifies(value: Any) -> bool:
    """A classifier or a pipeline of one, whether its fit decides which methods it has or not."""
    named = any(hasattr(one, "predict") for one in (value, type(value)))
    return named and hasattr(value, "fit") and not isinstance(value, type)


def _equal(value: Any, choice: Any) -> bool:
    if choice is None or isinstance(choice, bool):
        return value is choice or (isinstance(value, np.bool_) and bool(value) is choice)
    if isinstance(choice, str):
        return isinstance(value, str) and value == choice
    return is_number(value) and bool(value == choice)


NONE = Constraint("None", lambda value: value is None)
BOOLEAN = Constraint("True or False", lambda value: isinstance(value, (bool, np.bool_)))
CLASSIFIER = Constraint("a classifier (an object with fit and predict)", _classifies)
TEXT = instance("a string", str)
PATH = instance("a path", str, os.PathLike)
COUNT = integer(1)
NUMBER = number("a number", lambda value: True)
JOBS = NONE | Constraint("an integer other than 0", lambda value: integer(-(2**31)).allows(value) and value != 0)
AXES = NONE | having("matplotlib axes", "spines", "tick_params", "figure")
RESAMPLES = integer(2, 100_000)  # more would tell apart no interval that fewer do not
RANDOM_STATE = NONE | integer(0, 2**32 - 1) | instance("a numpy.random.RandomState", np.random.RandomState)
POSITIVE = number("a positive, finite number", lambda value: 0 < value < np.inf)
LEVEL = number("strictly between 0 and 1", lambda value: 0 < value < 1)
