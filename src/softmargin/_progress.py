"""Where ``verbose`` goes: one reporter for estimators and solvers, built on ``logging``.

``report`` sends one line to the logger ``softmargin`` at level INFO, so an application that configures logging gets it
in its own log. Where nothing is configured, somebody who asked for ``verbose=1`` still wants to see it: the line then
goes to standard error. ``track`` counts the parts of a longer job, as a bar where standard error is a terminal and
``rich`` is installed, as lines otherwise.

``verbose`` means the same everywhere: 0 is silent, 1 reports the steps of a fit, 2 those of its inner fits too.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["report", "track"]

LOGGER = logging.getLogger("softmargin")


class _StandardError(logging.Handler):
    """Writes to whatever standard error is at the moment, which tests and notebooks replace."""

    def emit(self, record: logging.LogRecord) -> None:
        sys.stderr.write(self.format(record) + "\n")


def report(message: str) -> None:
    """One line of progress; call it where ``verbose`` asks for it."""
    if not LOGGER.hasHandlers():
        LOGGER.addHandler(_StandardError())
    if LOGGER.level == logging.NOTSET:
        LOGGER.setLevel(logging.INFO)
    LOGGER.info(message)


@contextmanager
def track(label: str, total: int, verbose: int) -> Iterator[Callable[[str], None]]:
    """A function to call after each of ``total`` parts with a word about it."""
    bar = _bar() if verbose == 1 else None
    if bar is not None:
        with bar:
            task = bar.add_task(label, total=total)
            yield lambda message: bar.update(task, advance=1, description=f"{label}: {message}")
        return
    done = 0

    def step(message: str) -> None:
        nonlocal done
        done += 1
        if verbose:
            report(f"{label} {done}/{total}: {message}")

    yield step


def _bar() -> Any:
    """A bar of rich, or None where there is no terminal to draw it on or no rich."""
    if not sys.stderr.isatty():
        return None
    try:
        from rich.console import Console
        from rich.progress import Progress
    except ImportError:
        return None
    return Progress(console=Console(file=sys.stderr), transient=True)
