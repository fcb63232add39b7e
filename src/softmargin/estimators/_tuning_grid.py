"""The candidates of a grid: every combination of all parameters but ``C``, and the costs to try with each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

from sklearn.pipeline import Pipeline

from softmargin._constraints import several

__all__ = ["Grid"]

_AUTO_LOSSES = ("logistic", "coherence", "squared_hinge", "huberized_hinge", "modified_huber")
_VALUES = several("a list of at least one value")


@dataclass(frozen=True)
class Grid:
    """What the user gave for a classifier, or a pipeline that calls its parameters ``prefix...``."""

    given: Any
    probe: Any
    prefix: str

    def candidates(self) -> list[tuple[dict[str, Any], Any]]:
        """The combinations of all parameters but ``C``, and the costs to try with each."""
        known, grids = self.probe.get_params(), [self._with_full_names(grid) for grid in self._grids()]
        names = list(dict.fromkeys(name for grid in grids for name in grid if name != f"{self.prefix}C"))
        for name in names:
            if name not in known:
                raise ValueError(f"grid names {name!r}, which {type(self.probe).__name__} does not have.")
        own = {name: [known[name]] for name in names}
        found = []
        for grid in grids:
            values = {name: grid.get(name, own[name]) for name in names}
            losses = values.get(f"{self.prefix}loss")
            if isinstance(losses, str) and losses == "auto":
                values[f"{self.prefix}loss"] = _AUTO_LOSSES
            for name in names:
                _VALUES.check(f"grid[{name!r}]", values[name])
            costs = grid.get(f"{self.prefix}C", "auto")
            found += [(dict(zip(names, combined, strict=True)), costs) for combined in product(*values.values())]
        return found

    def _with_full_names(self, grid: dict[str, Any]) -> dict[str, Any]:
        own = self.probe[-1].get_params() if isinstance(self.probe, Pipeline) else {}
        return {f"{self.prefix}{name}" if name in own else name: values for name, values in grid.items()}

    def _grids(self) -> list[dict[str, Any]]:
        if isinstance(self.given, dict):
            return [self.given]
        return list(self.given) if isinstance(self.given, (list, tuple)) else [{"C": self.given}]
