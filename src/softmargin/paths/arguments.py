"""What a path is asked: arguments are refused by name, as those of estimators are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from softmargin._constraints import COUNT, NONE, Constraint, check_each, integer, number
from softmargin._parameters import LOSS, NONNEGATIVE, SHARED

__all__ = ["check_given"]


def _are_costs(value: Any) -> bool:
    try:
        values = np.asarray(value)
    except ValueError:  # lists of several lengths
        return False
    return (
        values.ndim == 1
        and values.dtype.kind in "iuf"
        and len(values) > 0
        and bool(np.all((values > 0) & (values < np.inf)))
    )


_ALLOWED = {
    **{name: parameter.constraint for name, parameter in SHARED.items()},
    "C_min": NONNEGATIVE,
    "C_max": number("a positive number below 1e20, or inf", lambda value: 0 < value < 1e20 or value == np.inf),
    "Cs": integer(1, 10_000) | Constraint("an array of positive, finite numbers", _are_costs),
    "eps": number("a number from 1e-15 to below 1", lambda value: 1e-15 <= value < 1),
    "loss": LOSS,
    "jitter": NONE | NONNEGATIVE,
    "max_events": NONE | COUNT,
}


def check_given(arguments: Mapping[str, Any]) -> None:
    """Refuse the first argument whose value is not allowed; rows, labels and weights are looked at where used."""
    check_each(_ALLOWED, **{name: value for name, value in arguments.items() if name in _ALLOWED})
