"""The nouns of the papers: an experiment is run, an exhibit (a table or a figure) is one view of its results.

An ``Experiment`` has parts (a data set, a flip rate: whatever one replication measures together), and replication ``r``
of a part is a function of ``r`` alone that returns one number per key. An ``Exhibit`` arranges keys as published: its
columns are parts, its rows are the keys with a given beginning. Published numbers are JSON files beside this module.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any
from zlib import crc32

import numpy as np

__all__ = ["Cell", "Exhibit", "Experiment", "Note", "Part", "Results", "generator", "published_numbers"]

Results = Mapping[str, Mapping[str, Sequence[float]]]  # part -> key -> one number per replication


@dataclass(frozen=True)
class Part:
    """What one replication measures together; ``unavailable`` says why a part cannot be run at all."""

    name: str
    replicate: Callable[[int], dict[str, float]] | None
    unavailable: str = ""


@dataclass(frozen=True)
class Experiment:
    """Replications as in the paper; one that is not random (an official split) has a single one."""

    name: str
    parts: tuple[Part, ...]
    replications: int

    def part(self, name: str) -> Part:
        """The part of that name."""
        return next(part for part in self.parts if part.name == name)


@dataclass(frozen=True)
class Cell:
    """A published number with its standard error, or None where the paper gives none."""

    value: float
    error: float | None
    digits: int

    @property
    def rounding(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self.digits


@dataclass(frozen=True)
class Note:
    """Why cells differ, with the evidence: applies to parts and rows that match two patterns."""

    parts: str
    rows: str
    text: str

    def covers(self, part: str, row: str) -> bool:
        """Whether the note speaks of this cell."""
        return bool(re.fullmatch(self.parts, part) and re.fullmatch(self.rows, row))


@dataclass(frozen=True)
class Exhibit:
    """One table or figure: the experiment behind it, what was measured and how, and what may be said of differences.

    ``draw`` makes a matplotlib figure of the results of the experiment and ``summary`` a table (columns and rows) where
    nothing was published to compare with; ``beginning`` selects the keys of the experiment that are rows of this table
    (and is cut off). ``alternatives`` are other readings of a protocol the paper leaves open, measured in the same
    replications: pairs of a description and the beginning of their keys.
    """

    name: str
    title: str
    metric: str
    protocol: str
    experiment: Experiment | None = None
    beginning: str = ""
    notes: tuple[Note, ...] = ()
    alternatives: tuple[tuple[str, str], ...] = ()
    draw: Callable[[Results], Any] | None = None
    summary: Callable[[Results], tuple[list[str], list[list[str]]]] | None = None
    published: Mapping[str, Mapping[str, Cell]] = field(default_factory=dict)

    @property
    def paper(self) -> str:
        """The paper, the first word of the name."""
        return self.name.split("-", maxsplit=1)[0]

    def note(self, part: str, row: str) -> str:
        """What is to be said of a cell that differs."""
        return " ".join(note.text for note in self.notes if note.covers(part, row))


@cache
def _file(paper: str) -> dict[str, Any]:
    path = resources.files("softmargin.papers") / "published" / f"{paper}.json"
    return dict(json.loads(path.read_text(encoding="utf-8")))


def published_numbers(name: str) -> dict[str, dict[str, Cell]]:
    """The published cells of one exhibit, by part and row; spreads become standard errors.

    The file says of each table whether its spreads are standard errors ("se"), standard deviations over replications
    ("sd") or absent (null); ``se_rows`` are the rows of an "sd" table that were printed with standard errors.
    """
    table = _file(name.split("-", maxsplit=1)[0])["exhibits"][name]
    root = float(np.sqrt(table["replications"]))

    def error(row: str, spread: float | None) -> float | None:
        if spread is None or table["spread"] is None:
            return None
        return spread if table["spread"] == "se" or row in table.get("se_rows", ()) else spread / root

    return {
        part: {row: Cell(value, error(row, spread), table["digits"]) for row, (value, spread) in rows.items()}
        for part, rows in table["cells"].items()
    }


def generator(experiment: str, part: str, replication: int) -> np.random.Generator:
    """The random numbers of one replication, the same on every machine and in every order of running."""
    return np.random.default_rng([crc32(experiment.encode()), crc32(part.encode()), replication])
