"""Losses by name, so that a loss can be a string in a grid or on the command line."""

from __future__ import annotations

from dataclasses import fields
from difflib import get_close_matches
from typing import Any

from softmargin._constraints import one_of
from softmargin.losses._base import Loss
from softmargin.losses._soundness import ensure_sound

__all__ = ["available", "get", "register"]

_LOSSES: dict[str, type[Loss]] = {}
_ALIASES = {"tanh": "tanh_hinge"}


def register(*classes: type[Loss]) -> None:
    """Make losses known under their ``name``."""
    for cls in classes:
        _LOSSES[cls.name] = cls


def available(family: str | None = None) -> list[str]:
    """The names ``get`` understands, sorted; of one family (convex, robust, truncated, likelihood, entropy) if given.

    Examples
    --------
    >>> from softmargin import losses
    >>> "coherence" in losses.available()
    True
    """
    one_of(None, *sorted({cls.family for cls in _LOSSES.values()})).check("family", family)
    return sorted(name for name, cls in _LOSSES.items() if family in (None, cls.family))


def get(loss: str | Loss, **params: Any) -> Loss:
    """The loss called ``loss`` with the given parameters; a ``Loss`` is returned as it is.

    Examples
    --------
    >>> from softmargin import losses
    >>> losses.get("coherence", temperature=0.5)
    Coherence(temperature=0.5, cost=1.0, scale='C')
    """
    if isinstance(loss, Loss):
        if params:
            raise ValueError(f"loss is already made: {loss!r}; parameters {sorted(params)} cannot be added to it.")
        ensure_sound(loss)
        return loss
    if not isinstance(loss, str):
        hint = " Make one from functions with losses.make_loss." if callable(loss) else ""
        raise ValueError(f"loss must be a name or a Loss; got {loss!r}.{hint}")
    key = loss.strip().lower().replace("-", "_").replace(" ", "_")
    cls = _LOSSES.get(_ALIASES.get(key, key))
    if cls is None:
        raise ValueError(_unknown("loss", loss, key, available()))
    known = [field.name for field in fields(cls)]  # type: ignore[arg-type]
    for name in params:
        if name not in known:
            owned = f"it has {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{cls.__name__} has no parameter {name!r}; {owned}.")
    return cls(**params)


def _unknown(what: str, seen: str, key: str, names: list[str]) -> str:
    near = get_close_matches(key, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(repr(name) for name in near)}?" if near else f"known: {', '.join(names)}."
    return f"Unknown {what} {seen!r}; {hint}"
