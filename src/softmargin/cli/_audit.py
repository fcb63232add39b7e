"""``softmargin audit``: which labels of a table are probably wrong, how many, and between which classes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import softmargin
from softmargin.cli._prepare import prepare, without_copies
from softmargin.cli._read import BadInput, read_table
from softmargin.cli._write import write_frame, write_whole

__all__ = ["audit_file"]


def audit_file(data: str, target: str, output: Path, words: dict[str, Any], say: Any) -> dict[str, Any]:
    """Write ``suspects.csv``, which takes decisions for ``fit --decisions``, and ``audit.json``; its numbers."""
    seed, effort = words.pop("seed"), words.pop("effort")
    rows = without_copies(prepare(read_table(data), target, **words), target)
    for note in rows.notes:
        say(note)
    say(f"judging the labels of {len(rows.y)} rows, each by models that did not see it")
    judge = softmargin.AutoClassifier(effort=effort, random_state=seed)
    try:
        found = softmargin.audit_labels(judge, rows.X, rows.y, sample_weight=rows.weight, random_state=seed)
    except ValueError as error:
        raise BadInput(str(error)) from None
    suspects = found.suspects()
    table = suspects[["row", "given", "suggested", "trust", "probability"]].assign(decision="", label="")
    table["row"] = rows.X.index.to_numpy()[table["row"].to_numpy(dtype=int)]
    if rows.id is not None:
        table.insert(1, str(words["id"]), rows.id[suspects["row"].to_numpy(dtype=int)])
    numbers = _numbers(found, len(rows.y), len(table))
    output.mkdir(parents=True, exist_ok=True)
    write_frame(output / "suspects.csv", table)
    text = json.dumps(numbers, indent=2, ensure_ascii=False)
    write_whole(output / "audit.json", lambda file: file.write_text(text, encoding="utf-8"))
    return numbers | {"first": table.head(10).to_dict("records")}


def _numbers(found: Any, rows: int, suspects: int) -> dict[str, Any]:
    errors = found.n_errors
    joint = found.noise_matrix.conditional
    return {
        "rows": rows,
        "suspects": suspects,
        "errors": {"estimate": float(errors.value), "low": float(errors.low), "high": float(errors.high)},
        "labels_of_true_class": {
            str(true): {str(label): float(joint.loc[true, label]) for label in joint.columns} for true in joint.index
        },
    }
