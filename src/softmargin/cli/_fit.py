"""``softmargin fit``: a file and the name of its target in, a model, a report and predictions out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

import softmargin
from softmargin import report
from softmargin.cli._columns import kinds_of, plain_columns
from softmargin.cli._decisions import decided
from softmargin.cli._fit_chunks import fit_parts, is_large
from softmargin.cli._models import classifier
from softmargin.cli._prepare import Prepared, prepare, require_column, without_copies
from softmargin.cli._read import BadInput, read_table, table_files
from softmargin.cli._write import write_frame, write_whole
from softmargin.probability import weight_parameters

__all__ = ["FitOptions", "fit_file"]


@dataclass(frozen=True)
class FitOptions:
    """The words of the command."""

    data: str
    target: str
    output: Path
    effort: str = "balanced"
    time_limit: float | None = None
    test: str | None = None
    test_size: float = 0.2
    weight: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    seed: int = 0
    model: str = "auto"
    positive: str | None = None
    decisions: str | None = None


def fit_file(options: FitOptions, say: Any) -> dict[str, Any]:
    """Read, split, fit, judge on the held-out rows and write everything; the numbers of the report."""
    started = time.perf_counter()
    files = table_files(options.data)
    if options.test is None and options.decisions is None and options.positive is None and is_large(files):
        model, held, labels, (X, y) = fit_parts(options, files, say)
        train, test = Prepared(X, y, None, None), Prepared(held, labels, None, None)
    else:
        train, test = _rows(options, say)
        for note in train.notes:
            say(note)
        say(f"fitting {len(train.y)} rows, holding out {len(test.y)}")
        model = classifier(options.model, effort=options.effort, time_limit=options.time_limit, seed=options.seed)
        train.X = plain_columns(model, train.X)
        model.fit(train.X, train.y, **weight_parameters(model, train.weight))
        test.X = plain_columns(model, test.X)  # by what the columns were at fit
    say(f"judging {', '.join(getattr(model, 'mixture_', [type(model).__name__]))}")
    options.output.mkdir(parents=True, exist_ok=True)
    numbers = report.build(
        model,
        test.X,
        test.y,
        options.output / "report.html",
        title=f"{options.target} in {Path(options.data).name}",
        about=_about(options, started, len(train.y)),
        training=(train.X, train.y),
        random_state=options.seed,
    )
    softmargin.save(model, options.output / "model.softmargin")
    write_whole(options.output / "report.json", lambda file: file.write_text(report.to_json(numbers), encoding="utf-8"))
    write_frame(options.output / "predictions.parquet", _predictions(model, test, options))
    write_frame(options.output / "suspects.csv", _suspects(numbers))
    return numbers


def _rows(options: FitOptions, say: Any) -> tuple[Prepared, Prepared]:
    words: dict[str, Any] = {
        "weight": options.weight,
        "id": options.id,
        "drop": options.drop,
        "positive": options.positive,
    }
    frame = read_table(options.data)
    say(f"{options.data}: {len(frame)} rows, {frame.shape[1]} columns")
    require_column(frame, "--target", options.target)
    if options.decisions is not None:
        frame, done = decided(frame, options.target, options.decisions)
        say(done)
    data = without_copies(prepare(frame, options.target, **words), options.target)
    kinds = kinds_of(frame)
    del frame  # a large table should not be in memory twice while it is split
    if options.test is not None:
        test = prepare(read_table(options.test, kinds), options.target, **words)
        absent = [str(column) for column in data.X.columns if column not in test.X.columns]
        if absent:
            raise BadInput(f"--test {options.test!r} lacks the column {absent[0]!r}.")
        strange = np.setdiff1d(test.y, data.y)
        if len(strange):
            raise BadInput(f"--test {options.test!r} has the class {strange[0]!r}, which the data have not.")
        test.X = test.X[list(data.X.columns)]
        return data, test
    counts = np.unique(data.y, return_counts=True)[1]
    held = max(round(options.test_size * len(data.y)), len(counts))
    if held >= len(data.y) - len(counts):
        raise BadInput(f"{len(data.y)} rows are too few to hold out {options.test_size:.0%}; lower --test-size.")
    rows = train_test_split(
        np.arange(len(data.y)), test_size=held, stratify=data.y if counts.min() > 1 else None, random_state=options.seed
    )
    return data.take(np.sort(rows[0])), data.take(np.sort(rows[1]))


def _about(options: FitOptions, started: float, rows: int) -> dict[str, Any]:
    command = f"softmargin fit {Path(options.data).name} --target {options.target} --effort {options.effort}"
    return {
        "training rows": rows,
        "effort": options.effort,
        "seed": options.seed,
        "seconds": round(time.perf_counter() - started, 1),
        "command": f"{command} --seed {options.seed}",
    }


def _predictions(model: Any, test: Prepared, options: FitOptions) -> Any:
    import pandas as pd

    P = model.predict_proba(test.X)
    frame = pd.DataFrame({"row": test.X.index.to_numpy()})
    ours = {"row", "predicted", *(f"p({label})" for label in model.classes_)}
    if test.id is not None:
        frame[f"{options.id} (given)" if options.id in ours else options.id] = test.id
    frame[f"{options.target} (given)" if options.target in ours else options.target] = test.y
    frame["predicted"] = model.classes_[P.argmax(axis=1)]
    for label, column in zip(model.classes_, P.T, strict=True):
        frame[f"p({label})"] = column
    return frame


def _suspects(numbers: dict[str, Any]) -> Any:
    import pandas as pd

    found = numbers["labels"]["suspects"] if numbers["labels"] else []
    return pd.DataFrame(found, columns=["row", "given", "suggested", "trust", "stated", "doubted", "values"])
