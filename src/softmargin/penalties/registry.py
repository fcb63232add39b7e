"""Penalties by name; ``ElasticNet`` has none, because it is what estimators use when none is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from softmargin.penalties.penalty import Penalty

__all__ = ["available", "get", "register"]

_KNOWN: dict[str, type[Penalty]] = {}
P = TypeVar("P", bound=type[Penalty])


def register(name: str) -> Callable[[P], P]:
    """Make a penalty known by name."""

    def keep(kind: P) -> P:
        if name in _KNOWN:
            raise ValueError(f"A penalty called {name!r} exists already.")
        _KNOWN[name] = kind
        return kind

    return keep


def get(name: Any, **parameters: Any) -> Penalty:
    """The penalty called ``name`` (one of ``available()``); a penalty object is returned as it is.

    Examples
    --------
    >>> from softmargin import penalties
    >>> penalties.get("mcp", shape=2.0).l1_ratio
    1.0
    """
    if isinstance(name, Penalty):
        return name
    if not isinstance(name, str) or name not in _KNOWN:
        raise ValueError(f"penalty must be None, a penalty object or one of {available()}; got {name!r}.")
    return _KNOWN[name](**parameters)


def available() -> list[str]:
    """The names of all penalties."""
    return sorted(_KNOWN)
