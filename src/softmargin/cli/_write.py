"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["FrameWriter", "write_frame", "write_whole"]


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


class FrameWriter:
    """Parquet, CSV or JSON lines in parts, by the ending of the path; a context that gives a function of frames."""

    def __init__(self, path: Path) -> None:
        self.path, self.kind = path, path.suffix.lower()
        self._parquet: Any = None

    def __call__(self, frame: Any) -> None:
        """Add the rows of a frame."""
        if self.kind == ".parquet":
            import pyarrow
            import pyarrow.parquet as pq

            part = pyarrow.Table.from_pandas(frame, preserve_index=False)
            self._parquet = self._parquet or pq.ParquetWriter(self.path, part.schema)
            self._parquet.write_table(part.cast(self._parquet.schema))
        elif self.kind == ".jsonl":
            frame.to_json(self.path, orient="records", lines=True, mode="a")
        else:
            frame.to_csv(self.path, index=False, mode="a", header=not self.path.stat().st_size)

    def close(self) -> None:
        """Finish the file."""
        if self._parquet is not None:
            self._parquet.close()


def write_frame(path: Path, frame: Any) -> None:
    """Parquet, CSV or JSON lines, by the ending of the path."""
    writers = {
        ".parquet": lambda file: frame.to_parquet(file, index=False),
        ".jsonl": lambda file: frame.to_json(file, orient="records", lines=True),
    }
    write_whole(path, writers.get(path.suffix.lower(), lambda file: frame.to_csv(file, index=False)))
