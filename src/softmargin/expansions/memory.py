"""Is there memory for a matrix of all pairs of rows? Asked before it is allocated, because afterwards it is too late.

An allocation beyond what is free either fails with a bare MemoryError or, worse, succeeds and makes the machine swap or
the operating system end the process when the pages are written. What is free is the least of: memory the system
calls available, what the control group of the process has left, and what its address-space limit leaves.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_bytes", "require_square"]

_SMALL = 1 << 27  # bytes not worth asking about
_MEMINFO = Path("/proc/meminfo")
_GROUP_LIMITS = (  # control groups, version 2 and 1: what is allowed, what is used
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes")),
)


def require_square(n_rows: int, itemsize: int = 8) -> None:
    """Refuse, with the size and the remedy, a square matrix of ``n_rows`` rows that does not fit in memory."""
    wanted = n_rows * n_rows * itemsize
    if wanted <= _SMALL:
        return
    free = available_bytes()
    if free is not None and wanted > free:
        raise MemoryError(
            f"The {n_rows} x {n_rows} matrix of similarities between all training rows takes {_size(wanted)}, and "
            f"{_size(free)} of memory are available. Set n_components (some hundred to some thousand landmark rows "
            "represent the kernel), use fewer rows, or kernel=None."
        )


def available_bytes() -> int | None:
    """How much may still be allocated; None where the system does not say."""
    limits = [_system(), *(_group(allowed, used) for allowed, used in _GROUP_LIMITS)]
    known = [limit for limit in limits if limit is not None]
    return max(min(known), 0) if known else None


def _system() -> int | None:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _group(allowed: Path, used: Path) -> int | None:
    try:
        limit, now = allowed.read_text().strip(), used.read_text().strip()
    except OSError:
        return None
    return int(limit) - int(now) if limit.isdigit() and now.isdigit() else None


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GiB"
