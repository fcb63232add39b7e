"""From a tree of nodes back to objects, trusting nothing.

Every node must be exactly what :mod:`softmargin.files._encode` writes. Instances are made without their constructors
and filled with attributes that their class may have; the table of classes is ours. A function of the user's own is
imported only if the caller named it.
"""

from __future__ import annotations

import importlib
import io
import math
from collections.abc import Collection
from tokenize import TokenError
from typing import Any

import numpy as np
from scipy import sparse

from softmargin.files._container import InvalidModelFile
from softmargin.files._registry import CONSTRUCTED, class_of, known_value

__all__ = ["Decoder"]


class Decoder:
    """Builds the objects of one file."""

    def __init__(self, arrays: list[bytearray], trusted: Collection[str]) -> None:
        self._members, self._trusted = arrays, trusted
        self._arrays: dict[int, np.ndarray] = {}
        self._instances: dict[int, Any] = {}

    def decode(self, node: Any) -> Any:
        """The value of a node."""
        if node is None or isinstance(node, bool | int | str):
            return node
        if isinstance(node, float):
            if not math.isfinite(node):
                raise InvalidModelFile("a number is not finite.")
            return node
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict) or not node:
            raise InvalidModelFile(f"a node is a {type(node).__name__}.")
        kind = next(iter(node))
        build = getattr(self, f"_build_{kind}") if kind in _KINDS else None
        if build is None or set(node) - _KINDS[kind] or _KINDS[kind] - set(node) - {"state", "items"}:
            raise InvalidModelFile(f"a node has the unknown form {sorted(map(str, node))[:5]}.")
        return build(node)

    # -- containers and numbers ----------------------------------------------------------------------------------

    def _build_float(self, node: dict[str, Any]) -> float:
        if node["float"] not in ("nan", "inf", "-inf"):
            raise InvalidModelFile(f"{node['float']!r} is no float.")
        return float(node["float"])

    def _list_of(self, value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise InvalidModelFile("a container has no list of items.")
        return [self.decode(item) for item in value]

    def _build_tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self._list_of(node["tuple"]))

    def _build_set(self, node: dict[str, Any]) -> set[Any]:
        return set(self._list_of(node["set"]))

    def _build_frozenset(self, node: dict[str, Any]) -> frozenset[Any]:
        return frozenset(self._list_of(node["frozenset"]))

    def _build_slice(self, node: dict[str, Any]) -> slice:
        return slice(*self._list_of(node["slice"]))

    def _build_dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        pairs = self._list_of(node["dict"])
        found: dict[Any, Any] = dict(pairs)
        if len(found) != len(pairs):
            raise InvalidModelFile("a dictionary has a key twice.")
        return found

    # -- NumPy and SciPy -----------------------------------------------------------------------------------------

    def _build_array(self, node: dict[str, Any]) -> np.ndarray:
        number = node["array"]
        if type(number) is not int or not 0 <= number < len(self._members):
            raise InvalidModelFile(f"there is no array {number!r}.")
        if number not in self._arrays:
            self._arrays[number] = _read_array(self._members[number])
        return self._arrays[number]

    def _build_objects(self, node: dict[str, Any]) -> np.ndarray:
        items, shape = self._list_of(node["objects"]), _shape(node["shape"])
        if math.prod(shape) != len(items):
            raise InvalidModelFile("an array of objects does not have its shape.")
        found = np.empty(len(items), dtype=object)
        found[:] = items
        return found.reshape(shape)

    def _build_scalar(self, node: dict[str, Any]) -> np.generic:
        dtype = self._build_dtype({"dtype": node["dtype"]})
        if dtype.kind not in "biufU":
            raise InvalidModelFile(f"{dtype} is no dtype of a single number.")
        value = self.decode(node["scalar"])
        if not isinstance(value, bool | int | float | str):
            raise InvalidModelFile("a NumPy number is none.")
        return dtype.type(value)

    def _build_dtype(self, node: dict[str, Any]) -> np.dtype[Any]:
        name = node["dtype"]
        if not isinstance(name, str) or len(name) > 16 or "," in name or "(" in name:
            raise InvalidModelFile(f"{str(name)[:40]!r} is no dtype.")
        return np.dtype(name)

    def _build_sparse(self, node: dict[str, Any]) -> Any:
        maker = {
            ("csr", True): sparse.csr_array,
            ("csc", True): sparse.csc_array,
            ("csr", False): sparse.csr_matrix,
            ("csc", False): sparse.csc_matrix,
        }[node["sparse"], bool(node["new"])]
        data, indices, indptr = self._list_of(node["parts"])
        shape = _shape(node["shape"])
        if any(not isinstance(part, np.ndarray) or part.ndim != 1 for part in (data, indices, indptr)):
            raise InvalidModelFile("a sparse matrix is not made of three vectors.")
        if indices.dtype.kind != "i" or indptr.dtype.kind != "i":
            raise InvalidModelFile("the indices of a sparse matrix are not integers.")
        matrix = maker((data, indices, indptr), shape=shape)
        matrix.check_format(full_check=True)
        return matrix

    def _build_random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        state = np.random.RandomState()
        state.set_state(tuple(self._list_of(node["random_state"])))
        return state

    # -- functions and instances ---------------------------------------------------------------------------------

    def _build_known(self, node: dict[str, Any]) -> Any:
        return known_value(node["known"])

    def _build_function(self, node: dict[str, Any]) -> Any:
        path = node["function"]
        if not isinstance(path, str) or path.count(":") != 1:
            raise InvalidModelFile(f"{str(path)[:80]!r} names no function.")
        if path not in self._trusted:
            raise InvalidModelFile(
                f"the model needs {path!r}, code that is not softmargin's. If you trust it, pass trusted=[{path!r}]."
            )
        module, name = path.split(":")
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _build_ref(self, node: dict[str, Any]) -> Any:
        return self._instances[node["ref"]]

    def _build_object(self, node: dict[str, Any]) -> Any:
        cls = class_of(node["object"])
        number = node["id"]
        if type(number) is not int or number in self._instances:
            raise InvalidModelFile("an instance has no number of its own.")
        if node["object"] in CONSTRUCTED or issubclass(cls, tuple):
            made = self._instances[number] = cls(*self._list_of(node["items"]))
            return made
        made = self._instances[number] = cls.__new__(cls)
        state = self.decode(node["state"])
        if not isinstance(state, dict):
            raise InvalidModelFile(f"the state of a {cls.__name__} is no dictionary.")
        if isinstance(made, dict):
            dict.update(made, state)
        elif "__setstate__" in dir(cls):
            made.__setstate__(_attributes(cls, state))
        else:
            for name, value in _attributes(cls, state).items():
                object.__setattr__(made, name, value)
        return made


def _attributes(cls: type, state: dict[Any, Any]) -> dict[str, Any]:
    """The state, if its names are names of attributes and hide no method of the class."""
    for name in state:
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            raise InvalidModelFile(f"{str(name)[:40]!r} is no attribute of a {cls.__name__}.")
        if callable(getattr(cls, name, None)) or isinstance(getattr(cls, name, None), property):
            raise InvalidModelFile(f"{name!r} would hide a method of {cls.__name__}.")
    return state


def _shape(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or len(value) > 32 or any(type(n) is not int or n < 0 for n in value):
        raise InvalidModelFile("a shape is no list of sizes.")
    return tuple(value)


def _read_array(content: bytearray) -> np.ndarray:
    """An array in NumPy's format whose size is that of its bytes; it shares their memory."""
    buffer = io.BytesIO(content)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise InvalidModelFile("an array has an unknown format.")
    try:
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer, max_header_size=1000)
    except (SyntaxError, ValueError, TokenError) as error:  # NumPy parses it as Python says a dict
        raise InvalidModelFile(f"the header of an array says nothing ({error}).") from None
    if dtype.hasobject or dtype.fields is not None:
        raise InvalidModelFile(f"an array has dtype {dtype}.")
    start = buffer.tell()
    if math.prod(shape) * dtype.itemsize != len(content) - start:
        raise InvalidModelFile("an array does not have its size.")
    flat = np.frombuffer(content, dtype=dtype, offset=start) if math.prod(shape) else np.empty(0, dtype=dtype)
    if start % max(dtype.alignment, 1):
        flat = flat.copy()
    return flat.reshape(shape, order="F" if fortran else "C")


_KINDS: dict[str, set[str]] = {
    "float": {"float"},
    "tuple": {"tuple"},
    "set": {"set"},
    "frozenset": {"frozenset"},
    "slice": {"slice"},
    "dict": {"dict"},
    "array": {"array"},
    "objects": {"objects", "shape"},
    "scalar": {"scalar", "dtype"},
    "dtype": {"dtype"},
    "sparse": {"sparse", "new", "shape", "parts"},
    "random_state": {"random_state"},
    "known": {"known"},
    "function": {"function"},
    "object": {"object", "state", "items", "id"},
    "ref": {"ref"},
}
