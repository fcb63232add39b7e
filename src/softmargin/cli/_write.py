"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["write_frame", "write_whole"]


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Let ``write`` fill a temporary file beside ``path``, then give it its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_frame(path: Path, frame: Any) -> None:
    """Parquet, CSV or JSON lines, by the ending of the path."""
    writers = {
        ".parquet": lambda file: frame.to_parquet(file, index=False),
        ".jsonl": lambda file: frame.to_json(file, orient="records", lines=True),
    }
    write_whole(path, writers.get(path.suffix.lower(), lambda file: frame.to_csv(file, index=False)))
