"""Decisions about labels, as the page of a report downloads them: a CSV with columns row, decision and label.

``decision`` is keep, drop, relabel (the new label stands in ``label``) or a label itself; ``row`` counts the rows of
the data file from 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin.cli._read import BadInput, read_table

__all__ = ["decided"]


def decided(frame: Any, target: str, source: str) -> tuple[Any, str]:
    """The table with labels changed and rows dropped, and what was done in words."""
    decisions = read_table(source)
    for name in ("row", "decision"):
        if name not in decisions.columns:
            raise BadInput(f"--decisions {source!r} lacks the column {name!r}; it needs row, decision and label.")
    decisions = decisions[decisions["decision"].notna()]
    rows = decisions["row"].to_numpy()
    if len(rows) and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(frame)):
        raise BadInput(f"--decisions {source!r} names rows outside 0 to {len(frame) - 1} of the data.")
    words = decisions["decision"].astype(str).to_numpy()
    labels = decisions["label"].to_numpy() if "label" in decisions.columns else np.full(len(rows), None, dtype=object)
    known = {str(label): label for label in frame[target].dropna().unique()}
    frame, changed = frame.copy(), 0
    for row, word, label in zip(rows, words, labels, strict=True):
        if word in ("keep", "drop"):
            continue
        new = str(label) if word == "relabel" else word
        if new not in known:
            raise BadInput(f"--decisions {source!r} gives row {row} the label {new!r}, which {target} does not have.")
        frame.loc[frame.index[row], target] = known[new]
        changed += 1
    dropped = rows[words == "drop"]
    return frame.drop(index=frame.index[dropped]), f"decisions: {changed} labels changed, {len(dropped)} rows dropped"
