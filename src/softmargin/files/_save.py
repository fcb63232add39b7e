"""``save`` and ``load``: a fitted model to one file and back, with the same predictions to the last bit."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Iterator, Set
from importlib.metadata import version
from pathlib import Path
from typing import Any

from softmargin._constraints import PATH, TEXT, check_each, number, several
from softmargin.files._container import InvalidModelFile, read_members, write_members
from softmargin.files._decode import Decoder
from softmargin.files._encode import Encoder

__all__ = ["load", "save"]

_GRAPH = "graph.json"
_MAX_BYTES = 1 << 32
_ARGUMENTS = {
    "path": PATH,
    "trusted": several("a list of functions' names", TEXT.allows, least=0),
    "max_bytes": number("a positive number", lambda value: value > 0),
}
_DAMAGE = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, OverflowError, MemoryError)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file.

    The file appears whole or not at all: an interrupt, a full disk or a crash leaves what was at ``path`` before.

    Parameters
    ----------
    model : estimator, pipeline or path
        A classifier of this library, a scikit-learn pipeline of usual transformers that ends in one, a calibrator, a
        tuned classifier or a solution path. What a file cannot hold is refused here, with its place in the model.
    path : str or path-like
        Where to write; an existing file is replaced.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_breast_cancer
    >>> import softmargin
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = softmargin.CoherenceClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.softmargin"
    ...     softmargin.save(model, file)
    ...     again = softmargin.load(file)
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    PATH.check("path", path)
    encoder = Encoder()
    graph = encoder.encode(model, type(model).__name__)
    if not isinstance(graph, dict) or "object" not in graph:
        raise TypeError(f"model must be a fitted estimator, pipeline or path; got {type(model).__name__}.")
    members = {_GRAPH: json.dumps(graph, allow_nan=False, separators=(",", ":")).encode()}
    members |= {f"arrays/{number}.npy": content for number, content in enumerate(encoder.arrays)}
    write_members(Path(path), members, _versions())


def load(path: str | os.PathLike[str], *, trusted: Iterable[str] = (), max_bytes: int = _MAX_BYTES) -> Any:
    """Read a model written by :func:`save`; nothing in the file is run or imported.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str
        Functions that are not this library's, such as the parts of a user's own loss, as ``"package.module:name"``.
        The error that refuses one tells its name.
    max_bytes : int
        The largest model to make, in bytes of arrays; a small file can claim to be a large one.

    Raises
    ------
    InvalidModelFile
        The file is no model, is damaged, was written by a later version in a form this one cannot read, is larger
        than ``max_bytes``, or needs code that was not trusted.
    """
    trusted = list(trusted) if isinstance(trusted, Set | Iterator) else trusted
    check_each(_ARGUMENTS, path=path, trusted=trusted, max_bytes=max_bytes)
    path = Path(path)
    members = read_members(path, max_bytes)
    try:
        graph = json.loads(members.pop(_GRAPH))
        arrays = [members.pop(f"arrays/{number}.npy") for number in range(len(members))]
        if not isinstance(graph, dict) or "object" not in graph:
            raise InvalidModelFile("it holds no model.")
        return Decoder(arrays, frozenset(trusted)).decode(graph)
    except InvalidModelFile as error:
        raise InvalidModelFile(f"{path}: {error}") from None
    except _DAMAGE as error:
        raise InvalidModelFile(f"{path} does not describe a model ({type(error).__name__}: {error}).") from error


def _versions() -> dict[str, str]:
    libraries = ("softmargin", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}
