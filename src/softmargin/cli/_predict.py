"""``softmargin predict``, ``explain``, ``report`` and ``export``: a saved model, on the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import softmargin
from softmargin import export, report
from softmargin.cli._columns import column_kinds, plain_columns
from softmargin.cli._prepare import prepare
from softmargin.cli._read import BadInput, read_batches, read_table
from softmargin.cli._write import FrameWriter, write_whole

__all__ = ["explain_row", "export_model", "features", "load_model", "predict_file", "report_file"]

_LABELS = {"b": "boolean", "i": "number", "u": "number", "f": "number"}


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

    X = features(model, frame, source)
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
        if id in part.columns:
            raise BadInput(f"--id {id!r} is the name of an answer as well; rename the column in {source}.")
        part.insert(0, id, frame[id].to_numpy())
    return part


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
    """What moved the prediction of one row, and how far, the largest first: columns with their values, or rules."""
    model = load_model(model_path)
    frame = read_table(source, column_kinds(model))
    if not hasattr(model, "explain") or getattr(model, "learner", "rules") != "rules":
        raise BadInput(
            f"{model_path} holds a {_name(model)}, which does not explain single rows; fit --model auto or "
            "RuleBoostClassifier for that."
        )
    if not 0 <= row < len(frame):
        raise BadInput(f"--row must be between 0 and {len(frame) - 1}; got {row}.")
    X = features(model, frame, source)
    if isinstance(model, softmargin.AutoClassifier):
        return model.explain(X, row=row).rename(columns={"share": "moves the log odds by"})
    return _points(model, X[row : row + 1])


def _name(model: Any) -> str:
    """The classifier in what was made around it."""
    for inner in ("best_estimator_", "estimator_", "estimator"):
        if hasattr(model, inner):
            return _name(getattr(model, inner))
    return _name(model.steps[-1][1]) if hasattr(model, "steps") else type(model).__name__


def _points(model: Any, X: Any) -> Any:
    """The rules that hold for a row, with the points that they give the class predicted."""
    P = model.predict_proba(X)[0]
    winner = int(P.argmax())
    told = model.explain(X)
    if len(model.classes_) == 2:
        share = told["contribution"] * (1 if winner else -1)
    else:
        share = told.iloc[:, 2 + winner]
    told = told[["rule"]].assign(**{"moves the score by": share})
    told.attrs |= {"label": model.classes_[winner], "probability": float(P[winner])}
    return told


def report_file(model_path: str, source: str, target: str, output: Path) -> None:
    """Write a report about a saved model on the labelled rows of a file."""
    model = load_model(model_path)
    classes = {str(label): label for label in model.classes_}
    kinds = column_kinds(model) | {target: _LABELS.get(model.classes_.dtype.kind, "text")}
    rows = prepare(read_table(source, kinds), target)
    unknown = sorted({str(label) for label in rows.y} - set(classes))
    if unknown:
        raise BadInput(f"--target {target!r} has the class {unknown[0]!r}, which the model was not fitted with.")
    y = np.array([classes[str(label)] for label in rows.y])
    X = features(model, rows.X, source)
    output.parent.mkdir(parents=True, exist_ok=True)
    report.build(model, X, y, output, title=f"{target} in {Path(source).name}")


def features(model: Any, frame: Any, source: str) -> Any:
    """The columns that a model reads, as it reads them."""
    names = list(getattr(model, "feature_names_in_", []))
    absent = [name for name in names if name not in frame.columns]
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise BadInput(f"{source} lacks the column {absent[0]!r}{more}, which the model was fitted with.")
    try:
        return plain_columns(model, frame[names] if names else frame)
    except ValueError as error:
        raise BadInput(str(error)) from None
