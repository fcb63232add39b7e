"""``softmargin predict`` and ``softmargin explain``: a saved model on the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import softmargin
from softmargin import export
from softmargin.cli._read import BadInput, read_batches, read_table
from softmargin.cli._write import FrameWriter, write_whole

__all__ = ["explain_row", "export_model", "load_model", "predict_file"]


def load_model(path: str) -> Any:
    """The model of a file, or of a directory that ``softmargin fit`` wrote, or one line about why not."""
    file = Path(path) / "model.softmargin" if Path(path).is_dir() else Path(path)
    try:
        return softmargin.load(file)
    except FileNotFoundError:
        raise BadInput(f"{file} does not exist; give a model written by 'softmargin fit'.") from None
    except softmargin.InvalidModelFile as error:
        raise BadInput(str(error)) from None


def predict_file(model_path: str, source: str, output: Path, id: str | None) -> int:
    """Write label and probabilities of every row, a part of the file at a time; the number of rows."""
    model, rows = load_model(model_path), 0

    def write(temporary: Path) -> None:
        nonlocal rows
        writer = FrameWriter(temporary)
        try:
            for frame in read_batches(source, column_kinds(model)):
                writer(_answers(model, frame, source, id))
                rows += len(frame)
        finally:
            writer.close()
        if not rows:
            raise BadInput(f"{source} has no rows.")

    write_whole(output, write)
    return rows


def _answers(model: Any, frame: Any, source: str, id: str | None) -> Any:
    """Label, one probability per class and, where the model has one, an interval of the second class."""
    import pandas as pd

    X = _features(model, frame, source)
    if not hasattr(model, "predict_proba"):
        part = pd.DataFrame({"predicted": model.predict(X)})
    else:
        P = model.predict_proba(X)
        part = pd.DataFrame({"predicted": model.classes_[P.argmax(axis=1)]})
        for label, column in zip(model.classes_, P.T, strict=True):
            part[f"p({label})"] = column
        if len(model.classes_) == 2 and hasattr(model, "predict_interval_proba"):
            ends = model.predict_interval_proba(X)
            part[f"p({model.classes_[1]}) from"], part[f"p({model.classes_[1]}) to"] = ends.T
    if id is not None:
        if id not in frame.columns:
            raise BadInput(f"--id {id!r} is no column of {source}.")
        part.insert(0, id, frame[id].to_numpy())
    return part


def column_kinds(model: Any) -> dict[str, str]:
    """What the columns of a model of tables are; none are known of others."""
    kinds, names = getattr(model, "_kinds", None), getattr(model, "feature_names_in_", None)
    dates = getattr(getattr(model, "encoder_", None), "dates", ())
    if kinds is None or names is None or len(dates):
        return {}
    booleans = {name for name, kind in _boolean_columns(model)}
    found = {str(name): "text" if kind else "number" for name, kind in zip(names, kinds, strict=True)}
    return {name: kind for name, kind in found.items() if name not in booleans}


def _boolean_columns(model: Any) -> list[tuple[str, str]]:
    """Columns of truth values, whose words a reader of CSV knows better than we do."""
    onehot = getattr(getattr(model, "encoder_", None), "onehot", None)
    if onehot is None:
        return []
    names = [one.name for one in model.encoder_.decisions if one.kind == "category"]
    levels = zip(names, onehot.categories_, strict=True)
    return [(name, "boolean") for name, found in levels if {str(one) for one in found} <= {"True", "False", ""}]


def export_model(model_path: str, to: str, output: Path, words: dict[str, Any]) -> None:
    """Write a saved model as ONNX, SQL or JSON."""
    if to not in ("onnx", "sql", "json"):
        raise BadInput(f"--to must be onnx, sql or json; got {to!r}.")
    model = load_model(model_path)
    output.parent.mkdir(parents=True, exist_ok=True)
    try:
        if to == "onnx":
            export.to_onnx(model, output, dtype=words["dtype"])
        elif to == "json":
            export.to_json(model, output)
        else:
            query = export.to_sql(model, words["table"], dialect=words["dialect"], key=words["key"])
            write_whole(output, lambda file: file.write_text(query + ";\n", encoding="utf-8"))
    except ImportError as error:
        raise BadInput(str(error)) from None


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
