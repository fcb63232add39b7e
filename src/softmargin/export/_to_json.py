"""``to_json``: a fitted model as a scorecard that people and their tools can read."""

from __future__ import annotations

import json
import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from softmargin._constraints import NONE, PATH
from softmargin.export._formula import NotExportable
from softmargin.files import write_atomically

__all__ = ["to_json"]


def to_json(model: Any, path: str | os.PathLike[str] | None = None) -> str:
    """A fitted classifier as a JSON scorecard: columns, weights or rules with points, links, certificate.

    It says what a model is, not all it needs to predict: kernels are named with the number of their support rows. Use
    :func:`to_onnx` or :func:`softmargin.save` for files that answer.

    Parameters
    ----------
    model : classifier or pipeline
        A fitted classifier of this library, or a pipeline that ends in one.
    path : str or path-like, optional
        Where to write it as well.

    Examples
    --------
    >>> import json
    >>> from softmargin import MarginClassifier, export
    >>> card = json.loads(export.to_json(MarginClassifier().fit([[0.0], [1.0], [2.0]], ["a", "a", "b"])))
    >>> card["classes"], list(card["score"]["terms"][0])
    (['a', 'b'], ['x0'])
    """
    (NONE | PATH).check("path", path)
    text = json.dumps({"softmargin": version("softmargin"), **_card(model)}, indent=1, allow_nan=False) + "\n"
    if path is not None:
        write_atomically(Path(path), text.encode())
    return text


def _card(model: Any) -> dict[str, Any]:
    if isinstance(model, Pipeline):
        steps = [f"{name}: {type(step).__name__}" for name, step in model.steps[:-1]]
        return {"steps": steps, **_card(model.steps[-1][1])}
    if isinstance(model, type) or not hasattr(model, "_card"):
        shown = repr(model) if isinstance(model, type) else type(model).__name__
        raise NotExportable(f"{shown} has no scorecard; model must be a fitted classifier of softmargin.")
    found: dict[str, Any] = model._card()
    return found
