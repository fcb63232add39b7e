"""A few long-lived threads for loops that release the interpreter lock: starting threads costs more than a pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["in_threads"]

_POOLS: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # a forked child inherits the pool but not its threads
    os.register_at_fork(after_in_child=_POOLS.clear)


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> list[Any]:
    """``[function(item) for item in items]`` on some threads; exceptions are raised here. Tasks must not nest."""
    if n_threads <= 1:
        return [function(item) for item in items]
    pool = _POOLS.get(n_threads)
    if pool is None:
        pool = _POOLS.setdefault(n_threads, ThreadPoolExecutor(n_threads, thread_name_prefix="softmargin"))
    return list(pool.map(function, items))
