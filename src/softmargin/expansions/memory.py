"""Is there memory for a matrix of all pairs of rows? Asked before it is allocated, because afterwards it is too late.

An allocation beyond what is free either fails with a bare MemoryError or, worse, succeeds and makes the machine swap or
the operating system end the process when the pages are written. What is free is the least of: memory the system
calls available, what the control group of the process has left, and what its address-space limit leaves.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_bytes", "fits", "require_memory", "require_square"]

_SMALL = 1 << 27  # bytes not worth asking about
_MEMINFO, _OWN_SIZE = Path("/proc/meminfo"), Path("/proc/self/statm")
_GROUPS = (  # control groups, version 2 and 1: what is allowed, what is used, how much of it is files that may go
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


def require_square(n_rows: int, itemsize: int = 8) -> None:
    """Refuse, with the size and the remedy, a square matrix of ``n_rows`` rows that does not fit in memory."""
    remedy = (
        'Use n_components="auto" (some hundred to some thousand landmark rows represent the kernel), fewer rows, or '
        "kernel=None."
    )
    what = f"The {n_rows} x {n_rows} matrix of similarities between all training rows"
    require_memory(n_rows * n_rows * itemsize, what, remedy)


def require_memory(wanted: int, what: str, remedy: str = "Use fewer landmarks (n_components) or rows.") -> None:
    """Refuse, with the size and the remedy, an array of ``wanted`` bytes that does not fit in memory."""
    if not fits(wanted):
        free = available_bytes()
        raise MemoryError(f"{what} takes {_size(wanted)}, and {_size(free or 0)} of memory are available. {remedy}")


def fits(wanted: int, share: float = 1.0) -> bool:
    """Whether so many bytes are within a share of what may still be allocated, as far as the system says."""
    if wanted <= _SMALL:
        return True
    free = available_bytes()
    return free is None or wanted <= share * free


def available_bytes() -> int | None:
    """How much may still be allocated; None where the system does not say."""
    limits = [_system(), _address_space(), *(_group(*group) for group in _GROUPS)]
    known = [limit for limit in limits if limit is not None]
    return max(min(known), 0) if known else None


def _system() -> int | None:
    found = _entry(_MEMINFO, "MemAvailable:")
    if found is not None:
        return 1024 * found
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _address_space() -> int | None:
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        used = int(_OWN_SIZE.read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None
    return None if limit == resource.RLIM_INFINITY else limit - used


def _group(folder: Path, allowed: str, used: str, files: str) -> int | None:
    try:
        limit, now = (folder / allowed).read_text().strip(), (folder / used).read_text().strip()
    except OSError:
        return None
    if not (limit.isdigit() and now.isdigit()):
        return None
    return int(limit) - int(now) + (_entry(folder / "memory.stat", files) or 0)


def _entry(path: Path, name: str) -> int | None:
    """The number after a name that starts a line."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    found = (line.split() for line in lines if line.startswith(name))
    return next((int(words[1]) for words in found if words[0] == name and words[1].isdigit()), None)


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GiB"
