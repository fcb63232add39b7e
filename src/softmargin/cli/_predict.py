"""``softmargin predict`` and ``softmargin explain``: a saved model on the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import softmargin
from softmargin.cli._read import BadInput, read_batches, read_table
from softmargin.cli._write import write_frame

__all__ = ["explain_row", "load_model", "predict_file"]


def load_model(path: str) -> Any:
    """The model of a file, or one line about why not."""
    try:
        return softmargin.load(path)
    except FileNotFoundError:
        raise BadInput(f"{path} does not exist; give a model written by 'softmargin fit'.") from None
    except (softmargin.InvalidModelFile, IsADirectoryError) as error:
        raise BadInput(str(error)) from None


def predict_file(model_path: str, source: str, output: Path, id: str | None) -> int:
    """Write label and probabilities of every row, a part of the file at a time; the number of rows."""
    import pandas as pd

    model, parts = load_model(model_path), []
    for frame in read_batches(source):
        X = _features(model, frame, source)
        P = model.predict_proba(X)
        part = pd.DataFrame({"predicted": model.classes_[P.argmax(axis=1)]})
        for label, column in zip(model.classes_, P.T, strict=True):
            part[f"p({label})"] = column
        if id is not None:
            if id not in frame.columns:
                raise BadInput(f"--id {id!r} is no column of {source}.")
            part.insert(0, id, frame[id].to_numpy())
        parts.append(part)
    write_frame(output, pd.concat(parts, ignore_index=True))
    return sum(len(part) for part in parts)


def explain_row(model_path: str, source: str, row: int) -> Any:
    """The shares of the columns in the prediction of one row."""
    model, frame = load_model(model_path), read_table(source)
    if not hasattr(model, "explain"):
        raise BadInput(f"{model_path} holds a {type(model).__name__}, which does not explain single rows.")
    if not 0 <= row < len(frame):
        raise BadInput(f"--row must be between 0 and {len(frame) - 1}; got {row}.")
    return model.explain(_features(model, frame, source), row=row)


def _features(model: Any, frame: Any, source: str) -> Any:
    names = list(getattr(model, "feature_names_in_", []))
    absent = [name for name in names if name not in frame.columns]
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise BadInput(f"{source} lacks the column {absent[0]!r}{more}, which the model was fitted with.")
    try:
        return frame[names] if names else frame
    except ValueError as error:
        raise BadInput(str(error)) from None
