"""Find the exhibits: every module of the papers' packages with ``EXHIBITS`` adds to the list."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from softmargin.papers._exhibit import Exhibit

__all__ = ["choose", "exhibits"]

_PACKAGES = ("coherence", "bracketing", "robust", "thesis", "uls")


@cache
def _all() -> tuple[Exhibit, ...]:
    found: list[Exhibit] = []
    for package in _PACKAGES:
        room = import_module(f"softmargin.papers.{package}")
        names = (module.name for module in iter_modules(room.__path__) if not module.name.startswith("_"))
        here = [exhibit for name in names for exhibit in import_module(f"{room.__name__}.{name}").EXHIBITS]
        found += sorted(here, key=_place)
    return tuple(found)


def _place(exhibit: Exhibit) -> tuple[bool, list[int]]:
    """Tables before figures, each by its number."""
    _, kind, number = exhibit.name.split("-")
    return kind == "figure", [int(part) for part in number.split(".")]


def exhibits() -> list[Exhibit]:
    """Every table and figure, paper by paper."""
    return list(_all())


def choose(names: Sequence[str]) -> list[Exhibit]:
    """The exhibits of these names; a name may be a beginning, such as "thesis" or "coherence-table"."""
    known = exhibits()
    for name in names:
        if not any(exhibit.name.startswith(name) for exhibit in known):
            near = difflib.get_close_matches(name, [exhibit.name for exhibit in known], n=3, cutoff=0.3)
            raise ValueError(f"no table or figure {name!r}; try {', '.join(near) or 'softmargin papers --list'}.")
    return [one for one in known if not names or any(_named(one.name, name) for name in names)]


def _named(full: str, name: str) -> bool:
    """A beginning that ends at a boundary: "thesis-table-2.1" does not mean "thesis-table-2.10"."""
    rest = full.removeprefix(name)
    return full.startswith(name) and (not rest or rest[0] in "-." or not name[-1].isdigit())
