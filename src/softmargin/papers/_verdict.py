"""Published beside ours: a cell agrees within two combined standard errors (and half a unit of the last digit).

Where a paper gives no standard error, ours at its number of replications stands in; fewer than five replications of
ours are taken to spread at least as the published ones did. A cell that differs is explained if another reading of what
the paper leaves open, measured in the same replications, agrees, or if a note says why; one whose part has no data
cannot be run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from softmargin.papers._exhibit import Cell, Exhibit, Results
from softmargin.papers._run import Store

__all__ = ["VERDICTS", "Verdict", "compare", "tally"]

_FEW = 5  # replications whose own spread is not yet to be trusted
VERDICTS = ("agrees", "explained", "differs", "cannot be run", "not run")


@dataclass(frozen=True)
class Verdict:
    """One cell: the published number, ours with its standard error over replications, and what follows."""

    part: str
    row: str
    published: Cell
    mean: float
    error: float
    replications: int
    verdict: str
    why: str = ""


def compare(exhibit: Exhibit, store: Store) -> list[Verdict]:
    """Every published cell of an exhibit with its verdict."""
    if exhibit.experiment is None:
        return []
    results = store.results(exhibit.experiment)
    return list(_cells(exhibit, results, store))


def _cells(exhibit: Exhibit, results: Results, store: Store) -> Iterator[Verdict]:
    experiment = exhibit.experiment
    assert experiment is not None
    for part, rows in exhibit.published.items():
        reason = next((known.unavailable for known in experiment.parts if known.name == part), "")
        reason = reason or store.missing.get((experiment.name, part), "")
        for row, cell in rows.items():
            values = np.array(results.get(part, {}).get(exhibit.beginning + row, ()), dtype=float)
            values = values[np.isfinite(values)]
            if len(values) == 0:
                verdict = "cannot be run" if reason else "not run"
                yield Verdict(part, row, cell, np.nan, np.nan, 0, verdict, reason)
                continue
            mean, error, close = _close(cell, values, experiment.replications)
            why = "" if close else _other_reading(exhibit, results.get(part, {}), row, cell) or exhibit.note(part, row)
            verdict = "agrees" if close else "explained" if why else "differs"
            yield Verdict(part, row, cell, mean, error, len(values), verdict, why)


def _close(cell: Cell, values: np.ndarray, replications: int) -> tuple[float, float, bool]:
    """Mean, standard error, and whether the mean agrees with a published cell."""
    mean = float(values.mean())
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if len(values) < min(_FEW, replications) and cell.error is not None:
        spread = max(spread, cell.error * float(np.sqrt(replications)))
    error = spread / np.sqrt(len(values))
    theirs = spread / np.sqrt(replications) if cell.error is None else cell.error
    return mean, error, bool(abs(mean - cell.value) <= 2 * np.hypot(error, theirs) + cell.rounding)


def _other_reading(exhibit: Exhibit, keys: Mapping[str, Sequence[float]], row: str, cell: Cell) -> str:
    """The first alternative that agrees, in words."""
    assert exhibit.experiment is not None
    for description, beginning in exhibit.alternatives:
        values = np.array(keys.get(beginning + row, ()), dtype=float)
        if len(values) and _close(cell, values, exhibit.experiment.replications)[2]:
            return f"The paper leaves this open; it agrees {description}."
    return ""


def tally(verdicts: list[Verdict]) -> dict[str, int]:
    """How many cells have each verdict."""
    return {name: sum(one.verdict == name for one in verdicts) for name in VERDICTS}
