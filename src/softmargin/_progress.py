"""Where the steps of a fit are told: to ``logging`` as far as ``verbose`` asks for it, and to whoever listens.

``report`` sends one line to the logger ``softmargin`` at level INFO, so an application that configures logging gets it
in its own log. Where nothing is configured, somebody who asked for ``verbose=1`` still wants to see it: the line then
goes to standard error. A listener, such as scikit-learn's callbacks, is told the name of every step of the fits within
``listening``, whatever ``verbose`` is.

Loops that are not handed ``verbose`` are as loud as the fit they run in (``speaking``).

``verbose`` means the same everywhere: 0 is silent, 1 reports the steps of a fit, 2 those of its inner fits too.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["is_heard", "listening", "report", "speaking"]

LOGGER = logging.getLogger("softmargin")
_VERBOSE: ContextVar[int] = ContextVar("verbose", default=0)
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


class _StandardError(logging.Handler):
    """Writes to whatever standard error is at the moment, which tests and notebooks replace."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Tell the names of steps reported meanwhile, in this thread, to a listener."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


@contextmanager
def speaking(verbose: int) -> Iterator[None]:
    """As loud as ``verbose`` meanwhile, in this thread, whatever a fit around it said."""
    if _VERBOSE.get() == verbose:
        yield
        return
    before = _VERBOSE.set(verbose)
    try:
        yield
    finally:
        _VERBOSE.reset(before)


def is_heard(verbose: int = 0) -> bool:
    """Whether anybody wants to know of a step; ask before composing a report in a hot loop."""
    return bool(verbose) or bool(_VERBOSE.get()) or _LISTENER.get() is not None


def report(step: str, message: str, verbose: int = 0) -> None:
    """One step of a fit: its name to a listener, the whole line to the log where ``verbose`` asks for it."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(step)
    if not verbose and not _VERBOSE.get():
        return
    if not LOGGER.hasHandlers():
        LOGGER.addHandler(_StandardError())
    if LOGGER.level == logging.NOTSET:
        LOGGER.setLevel(logging.INFO)
    LOGGER.info("%s: %s", step, message)
