"""From objects to a tree of nodes.

A JSON ``null``, truth value, integer, finite float, string or list stands for itself. Everything else is an object with
one tag:

| node | stands for |
| --- | --- |
| ``{"float": "nan"}`` | a float that JSON has no word for |
| ``{"tuple": [...]}``, ``{"set": [...]}``, ``{"frozenset": [...]}``, ``{"slice": [...]}`` | that container |
| ``{"dict": [[key, value], ...]}`` | a dictionary, in its order |
| ``{"array": 3}`` | the array in ``arrays/3.npy`` |
| ``{"objects": [...], "shape": [...]}`` | an array of objects |
| ``{"scalar": 1.5, "dtype": "<f4"}`` | a NumPy number, truth value or string |
| ``{"dtype": "<f8"}`` | a NumPy dtype |
| ``{"sparse": "csr", "new": true, "shape": [...], "parts": [...]}`` | a SciPy sparse array (``new``) or matrix |
| ``{"random_state": [...]}`` | a ``RandomState`` |
| ``{"known": "numpy.log1p"}`` | a type or function of the table in :mod:`softmargin.files._registry` |
| ``{"function": "package.module:name"}`` | a function of the user's own |
| ``{"object": "softmargin.RobustSVC", "state": ..., "id": 5}`` | an instance of a class of that table |
| ``{"object": "...", "items": [...], "id": 6}`` | a named tuple, or an instance made from arguments |
| ``{"ref": 5}`` | the same instance again |
"""

from __future__ import annotations

import importlib
import io
import math
from typing import Any

import numpy as np
from scipy import sparse

from softmargin.files._registry import CONSTRUCTED, known_name, tag_of

__all__ = ["Encoder"]

_PLAIN_KINDS = "biufSUMmV"


class Encoder:
    """Visits the parts of an object once; ``arrays`` collects what goes to members of its own."""

    def __init__(self) -> None:
        self.arrays: list[bytes] = []
        self._array_numbers: dict[int, int] = {}
        self._object_numbers: dict[int, int] = {}
        self._kept_alive: list[Any] = []

    def encode(self, value: Any, where: str) -> Any:
        """The node of a value; ``where`` says what to call it in an error."""
        if value is None or (isinstance(value, bool | str) and type(value) in (bool, str)):
            return value
        if type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            return self._items(value, where)
        for kind in (tuple, frozenset, set):
            if type(value) is kind:
                return {kind.__name__: self._items(value, where)}
        if type(value) is slice:
            return {"slice": self._items([value.start, value.stop, value.step], where)}
        if type(value) is dict:
            return self._dictionary(value, where)
        return self._library(value, where)

    def _library(self, value: Any, where: str) -> Any:
        """What NumPy and SciPy make, functions and instances."""
        if isinstance(value, np.ndarray) and type(value) is np.ndarray:
            return self._array(value, where)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.dtype):
            return {"dtype": _plain_dtype(value, where)}
        if sparse.issparse(value):
            return self._sparse(value, where)
        if isinstance(value, np.random.RandomState):
            return {"random_state": self._items(value.get_state(), where)}
        name = known_name(value)
        if name is not None:
            return {"known": name}
        if callable(value) and hasattr(value, "__qualname__"):
            return {"function": _import_path(value, where)}
        return self._instance(value, where)

    def _items(self, values: Any, where: str) -> list[Any]:
        return [self.encode(item, f"{where}[{i}]") for i, item in enumerate(values)]

    def _dictionary(self, value: dict[Any, Any], where: str) -> Any:
        pairs = [
            [self.encode(key, f"a key of {where}"), self.encode(item, f"{where}[{key!r}]")]
            for key, item in value.items()
        ]
        return {"dict": pairs}

    def _array(self, value: np.ndarray, where: str) -> Any:
        if value.dtype.kind == "O":
            return {"objects": self._items(value.ravel().tolist(), where), "shape": list(value.shape)}
        _plain_dtype(value.dtype, where)
        number = self._array_numbers.get(id(value))
        if number is None:
            number = self._array_numbers[id(value)] = len(self.arrays)
            self._kept_alive.append(value)
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, value, version=(1, 0), allow_pickle=False)
            self.arrays.append(buffer.getvalue())
        return {"array": number}

    def _scalar(self, value: np.generic, where: str) -> Any:
        if value.dtype.kind not in "biufU" or (value.dtype.itemsize > 8 and value.dtype.kind != "U"):
            raise TypeError(f"{where} is a {type(value).__name__}, which a model file cannot hold.")
        return {"scalar": self.encode(value.item(), where), "dtype": value.dtype.str}

    def _sparse(self, value: Any, where: str) -> Any:
        if value.format not in ("csr", "csc"):
            raise TypeError(f"{where} is a sparse matrix in {value.format} format; convert it with .tocsr().")
        parts = [self._array(part, where) for part in (value.data, value.indices, value.indptr)]
        new = isinstance(value, sparse.sparray)
        return {"sparse": value.format, "new": new, "shape": list(value.shape), "parts": parts}

    def _instance(self, value: Any, where: str) -> Any:
        number = self._object_numbers.get(id(value))
        if number is not None:
            return {"ref": number}
        tag = tag_of(type(value))
        if tag is None:
            raise TypeError(
                f"{where} is a {type(value).__module__}.{type(value).__qualname__}, which a model file cannot hold. "
                "Files hold softmargin's classifiers, paths and calibrators and scikit-learn's usual transformers; "
                "use pickle where you trust whoever wrote the file."
            )
        number = self._object_numbers[id(value)] = len(self._object_numbers)
        self._kept_alive.append(value)
        if tag in CONSTRUCTED:
            value = tuple(getattr(value, name) for name in CONSTRUCTED[tag])
        if isinstance(value, tuple):
            return {"object": tag, "items": self._items(value, where), "id": number}
        if isinstance(value, dict):
            return {"object": tag, "state": self._dictionary(dict(value), where), "id": number}
        return {"object": tag, "state": self._state(value, where), "id": number}

    def _state(self, value: Any, where: str) -> Any:
        state = value.__getstate__()
        if isinstance(state, tuple):  # a class with slots: what is in them, and what is not
            state = {**(state[0] or {}), **state[1]}
        if not isinstance(state, dict | None):
            raise TypeError(f"{where} keeps its state in a {type(state).__name__}, which a model file cannot hold.")
        return {"dict": [[key, self.encode(item, f"{where}.{key}")] for key, item in (state or {}).items()]}


def _plain_dtype(dtype: np.dtype[Any], where: str) -> str:
    if dtype.kind not in _PLAIN_KINDS or dtype.fields is not None or dtype.subdtype is not None:
        if dtype.kind == "O":
            return "|O"
        raise TypeError(f"{where} has dtype {dtype}, which a model file cannot hold.")
    return dtype.str


def _import_path(function: Any, where: str) -> str:
    """``module:name`` of a function that can be found there again."""
    module, name = getattr(function, "__module__", None) or "", function.__qualname__
    remedy = (
        "Define it with def at the top level of a module that the reader can import, or build the model without it."
    )
    if "<" in name:
        raise TypeError(f"{where} is {name}: a lambda or local function has no name to be found by. {remedy}")
    if module in ("__main__", "__mp_main__", ""):
        raise TypeError(f"{where} is {name}, defined in a script or notebook ({module or 'no module'}). {remedy}")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not function:
        raise TypeError(f"{where} is {module}:{name}, but that name now means something else. {remedy}")
    return f"{module}:{name}"
