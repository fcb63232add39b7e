"""Parameters of estimators: checked and documented in one place.

An estimator documents and constrains the parameters of its own (``_constraints``, and the section "Parameters" of its
docstring); all others are found by name among those it shares (:mod:`softmargin._parameters`). ``check_parameters`` is
the one place where values are looked at, also those of parameters that the rest of the settings make idle (``degree``
without a kernel), and ``document`` completes the docstring of a class in the order of its constructor.
"""

from __future__ import annotations

import inspect
import re
from functools import cache
from typing import Any, TypeVar

from softmargin._constraints import Constraint
from softmargin._parameters import FOLDS, LOSS, NONNEGATIVE, POSITIVE, SHARE, SHARED, Parameter

__all__ = [
    "FOLDS",
    "LOSS",
    "NONNEGATIVE",
    "POSITIVE",
    "SHARE",
    "SHARED",
    "Parameter",
    "check_parameters",
    "constraint_of",
    "document",
]

T = TypeVar("T")


def constraint_of(cls: type, name: str) -> Constraint | None:
    """What a parameter of a class may be: as the class says, else its bases, else the shared meaning."""
    for kind in cls.__mro__:
        own = vars(kind).get("_constraints", {})
        if name in own:
            return own[name]
    return SHARED[name].constraint if name in SHARED else None


@cache
def _constraints_of(cls: Any) -> tuple[tuple[str, Constraint], ...]:
    """The parameters of a class with what they may be, read from its constructor once."""
    found = ((name, constraint_of(cls, name)) for name in cls._get_param_names())
    return tuple((name, constraint) for name, constraint in found if constraint is not None)


def check_parameters(estimator: Any) -> None:
    """Refuse the first parameter whose value is not allowed."""
    kind: Any = type(estimator)
    for name, constraint in _constraints_of(kind):
        constraint.check(name, getattr(estimator, name))


def document(cls: type[T]) -> type[T]:
    """Complete the section "Parameters" of a docstring with the shared texts, in the order of the constructor."""
    text = inspect.cleandoc(cls.__doc__ or "")
    found = re.search(r"Parameters\n-{10}\n(.*?)(?=\n\n[^\n]+\n-{3,}\n|\Z)", text, re.DOTALL)
    if found is None:
        return cls
    own = _entries(found.group(1))
    signature = inspect.signature(cls.__init__).parameters
    made = {name: own.get(name) or _entry(name, signature[name].default) for name in signature if name != "self"}
    body = "\n".join(entry for entry in made.values() if entry)
    cls.__doc__ = text[: found.start(1)] + body + text[found.end(1) :]
    return cls


def _entries(section: str) -> dict[str, str]:
    """The entries of a section by name; one that starts with several names counts for each of them, once."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        names = entry.split(":")[0].split(",")
        found[names[0].strip()] = entry
        found |= {name.strip(): "" for name in names[1:]}
    return found


def _entry(name: str, default: Any) -> str:
    if name not in SHARED:
        return ""
    shared = SHARED[name]
    shown = f'"{default}"' if isinstance(default, str) else repr(default)
    lines = "\n".join("    " + line for line in shared.text.split("\n"))
    return f"{name} : {shared.kind}, default={shown}\n{lines}"
