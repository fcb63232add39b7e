"""Threads: a few long-lived ones for loops that release the interpreter lock, and one alone for small BLAS calls.

A BLAS call shared by several threads ends when the last of them has had its turn. On a machine with other work that is
a time slice per call, hundreds of times what a small call takes: a 1000 x 1000 Cholesky factorisation took .036 s on
one thread and .1 to 1.8 s on two, the Gram matrix of 100000 x 50 features .046 s and .67 to 4.5 s. Only products of
seconds gain. ``one_blas_thread`` therefore wraps every fit whose largest product is smaller than that.

The number of BLAS threads belongs to the process, and only the thread that set it may be trusted to restore it. So the
first block to be entered owns it until it is left; blocks inside it, and those of other threads meanwhile, do nothing.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["in_threads", "interruptible", "one_blas_thread", "usable_cores"]

_WORTH_THREADS = 1e11  # multiplications of a product that takes seconds: the factor of 7000 kernel rows
_POOLS: dict[int, ThreadPoolExecutor] = {}
_limiting = threading.Lock()


def usable_cores() -> int:
    """The processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(function: Callable[[Any], Any], items: Iterable[Any], n_threads: int) -> list[Any]:
    """``[function(item) for item in items]`` on some threads; exceptions are raised here. Tasks must not nest."""
    if n_threads <= 1:
        return [function(item) for item in items]
    pool = _POOLS.get(n_threads)
    if pool is None:
        pool = _POOLS.setdefault(n_threads, ThreadPoolExecutor(n_threads, thread_name_prefix="softmargin"))
    return list(pool.map(function, items))


def interruptible(function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)`` for one long call that releases the interpreter lock: signals are served meanwhile."""
    if threading.current_thread() is not threading.main_thread():  # signals belong to the main thread
        return function(*arguments)
    worker = ThreadPoolExecutor(1, thread_name_prefix="softmargin")
    try:
        return worker.submit(function, *arguments).result()
    finally:
        worker.shutdown(wait=False)


def _forget() -> None:
    """A forked child inherits pools and the lock but not the threads that own them."""
    global _limiting
    _POOLS.clear()
    _limiting = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@cache
def _libraries() -> list[Any]:
    """Found once, as looking through the loaded libraries takes milliseconds; scipy brings a BLAS of its own."""
    import scipy.linalg  # noqa: F401

    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


@contextmanager
def one_blas_thread(n_rows: float = 0, n_columns: float = 0) -> Iterator[None]:
    """Run BLAS on one thread inside the block, unless products of an (n_rows, n_columns) matrix take seconds."""
    lock = _limiting
    if n_rows * n_columns * min(n_rows, n_columns) >= _WORTH_THREADS or not lock.acquire(blocking=False):
        yield
        return
    limited = []
    try:
        for library in _libraries():
            threads = library.num_threads
            if threads is not None and threads > 1:
                limited.append((library, threads))
                library.set_num_threads(1)
        yield
    finally:
        for library, threads in limited:
            library.set_num_threads(threads)
        lock.release()
