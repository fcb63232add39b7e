"""When an error is a refusal and when it is a fault.

A refusal is raised on purpose (by a ``raise`` statement of softmargin or scikit-learn), is of a kind a caller can
expect and says what was wrong. Anything else came from the depths: the caller learns nothing from it.
"""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from sklearn.exceptions import NotFittedError

__all__ = ["Fault", "Refusal", "judged", "remember_sources"]

_EXPECTED = (ValueError, TypeError, NotFittedError, MemoryError, ImportError)
_CRYPTIC = (
    "broadcast", "operands", "not aligned", "shapes (", "dimension mismatch", "zero-size", "out of bounds", "matmul",
    "leading minor", "singular", "infs or nans", "truth value", "not supported between", "unhashable", "ufunc",
    "cannot convert float nan", "object is not", "must be real number", "has no attribute", "unexpected keyword",
    "only integer", "inhomogeneous", "not subscriptable", "unsupported operand", "buffer dtype", "got an unexpected",
)  # fmt: skip


_SOURCES: dict[str, list[str]] = {}


class Fault(AssertionError):
    """A claim that does not hold; ``kind`` groups faults of one cause."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Refusal(Exception):
    """The library declined, clearly; ``error`` is what it said."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.error = error


def _frames(tb: TracebackType | None) -> list[traceback.FrameSummary]:
    return list(traceback.extract_tb(tb))


def _place(frames: list[traceback.FrameSummary]) -> str:
    """The innermost line of softmargin, as module:function."""
    ours = [frame for frame in frames if "softmargin" in frame.filename.split("tests/fuzz")[0].rpartition("src/")[2]]
    if not ours:
        return "?"
    return f"{ours[-1].filename.rpartition('softmargin/')[2]}:{ours[-1].name}"


def _source(filename: str) -> list[str]:
    """The lines of a file as they were when first asked for: an edit during a run must not change the verdict."""
    if filename not in _SOURCES:
        _SOURCES[filename] = linecache.getlines(filename)
    return _SOURCES[filename]


def remember_sources() -> None:
    """Read the source of every module of softmargin that has been imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith("softmargin") and (getattr(module, "__file__", None) or "").endswith(".py"):
            _source(str(module.__file__))


def _deliberate(frames: list[traceback.FrameSummary]) -> bool:
    """Whether the innermost line is a ``raise`` of ours, or any line of scikit-learn's checks."""
    last = frames[-1]
    if "sklearn" in last.filename:
        return True
    lines = _source(last.filename)
    return 0 < (last.lineno or 0) <= len(lines) and lines[(last.lineno or 0) - 1].strip().startswith("raise")


def fault_of(error: Exception) -> Fault | None:
    """The fault an error amounts to, or None where it is a refusal."""
    frames = _frames(error.__traceback__)
    text = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
    kind = f"{type(error).__name__} at {_place(frames)}"
    if not isinstance(error, _EXPECTED):
        return Fault(f"cryptic {kind}", text)
    ours = str(error).partition(" raises ")[0].lower()  # what follows is said by a function that the caller gave
    if not ours.strip() or any(word in ours for word in _CRYPTIC) or not _deliberate(frames):
        return Fault(f"cryptic {kind}", text)
    return None


@contextmanager
def judged() -> Iterator[Any]:
    """Turn an error of the library into a Fault or a Refusal."""
    try:
        yield
    except (Fault, Refusal):
        raise
    except Exception as error:
        fault = fault_of(error)
        if fault is None:
            raise Refusal(error) from error
        raise fault from error
