"""Cases in processes of their own: fork, limits, a line back.

The parent has imported everything and computes nothing, so a fork starts clean. A child takes a few cases, one after
the other, each under ``Limits`` of its own, and writes lines of JSON to a pipe: what it is about to do and what came of
it. A fault ends the child, and so does whatever it does not survive: a child that dies without a verdict crashed, one
stopped by its limit hung. The cases it had not come to go to the next child.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import os
import resource
import selectors
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pandas
import polars
from sklearn.utils import check_array

from .case import EVERYTHING, Case, Focus
from .faults import Fault, remember_sources
from .tables import read_tables

__all__ = ["Limits", "Outcome", "run_cases", "run_here"]

_WALL = 300  # seconds after which a child that sleeps is ended
_TOGETHER = 12  # cases of a child: a fork copies 30 ms worth of pages, as much as half of all cases take
_MISUSE = "On entry to"  # what BLAS and LAPACK say of arguments that no caller may give; results are then undefined
_GRACE = 2.0  # seconds for the report of a hang; then it is one in compiled code


@dataclass(frozen=True)
class Limits:
    """Seconds of processor time for a case, and bytes of memory beyond those of the parent (0: no limit)."""

    seconds: int = 20
    memory: int = 3 << 30

    def impose_memory(self) -> None:
        """Bind this process to the memory, for good."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if self.memory:
            with open("/proc/self/statm") as stream:
                size = int(stream.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + self.memory, size + self.memory))

    def impose_seconds(self) -> None:
        """Bind this process to the seconds, counted from now: a signal that is reported, then one that ends it."""
        last = math.ceil(time.process_time()) + self.seconds
        resource.setrlimit(resource.RLIMIT_CPU, (last, resource.RLIM_INFINITY))
        signal.setitimer(signal.ITIMER_PROF, last + _GRACE - time.process_time())


@dataclass(frozen=True)
class Outcome:
    """What became of a case: "ok", "refused" or "fault", why, and the processor time it took."""

    seed: int
    number: int
    verdict: str
    kind: str
    message: str
    text: str
    seconds: float
    focus: Focus = EVERYTHING

    @property
    def repeat(self) -> str:
        """The command that runs the case again."""
        return f"python -m tests.fuzz --seed {self.seed} --case {self.number}{self.focus.options}"


def run_here(case: Case) -> Outcome:
    """Run a case in this process."""
    start = time.process_time()
    verdict, kind, message = "ok", "", ""
    try:
        answer = case.run()
        if answer != "ok":
            verdict, message = "refused", answer
    except Fault as fault:
        verdict, kind, message = "fault", fault.kind, str(fault)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        verdict, kind = "fault", f"{type(error).__name__} in the fuzzer ({place.name}:{place.lineno})"
        message = str(error)
    spent = time.process_time() - start
    return Outcome(case.seed, case.number, verdict, kind, message[:500], case.text, spent, case.focus)


def _child(seed: int, numbers: list[int], pipe: int, limits: Limits, focus: Focus) -> None:
    limits.impose_memory()
    with tempfile.TemporaryFile() as stream:
        os.dup2(stream.fileno(), 2)
    for number in numbers:
        case = Case(seed, number, listener=lambda text: _send(pipe, {"text": text}), focus=focus)
        if not _one(case, pipe, limits):
            return


def _one(case: Case, pipe: int, limits: Limits) -> bool:
    """Run a case and report it; whether the process is still as good as new."""

    def hung(signum: int, frame: Any) -> None:
        stack = [f for f in traceback.extract_stack(frame) if "softmargin/" in f.filename]
        place = f"{stack[-1].filename.rpartition('softmargin/')[2]}:{stack[-1].name}" if stack else "?"
        kind, message = f"hang at {place}", f"more than {limits.seconds} s of processor time"
        outcome = Outcome(case.seed, case.number, "fault", kind, message, case.text, limits.seconds, case.focus)
        _send(pipe, vars(outcome))
        os._exit(0)

    signal.signal(signal.SIGXCPU, hung)
    limits.impose_seconds()
    said_before = os.lseek(2, 0, os.SEEK_END)
    outcome = run_here(case)
    said = os.pread(2, 1 << 16, said_before).decode(errors="replace")
    if _MISUSE in said:
        outcome = replace(outcome, verdict="fault", kind="BLAS called wrongly", message=said.strip()[:200])
    _send(pipe, vars(outcome))
    return outcome.verdict != "fault"


def _send(pipe: int, facts: dict[str, Any]) -> None:
    os.write(pipe, json.dumps(facts, default=str).encode() + b"\n")


@dataclass
class _Running:
    left: list[int]
    process: int
    heard: float
    focus: Focus
    read: bytes = b""
    text: str = ""
    faulty: bool = False  # whether the last verdict was a fault, after which a child ends

    def take(self, part: bytes) -> Iterator[Outcome]:
        """The verdicts that have come in."""
        *lines, self.read = (self.read + part).split(b"\n")
        for line in lines:
            facts = json.loads(line)
            self.text = facts["text"]
            if "verdict" in facts:
                self.left.remove(facts["number"])
                self.text, self.heard, self.faulty = "", time.monotonic(), facts["verdict"] == "fault"
                yield Outcome(**facts | {"focus": self.focus})


def run_cases(
    seed: int,
    numbers: Iterator[int],
    jobs: int = 1,
    going_on: Callable[[], bool] = lambda: True,
    limits: Limits | None = None,
    focus: Focus = EVERYTHING,
) -> Iterator[Outcome]:
    """Outcomes in the order they come; no new child starts once ``going_on`` says no."""
    limits = limits or Limits()
    selector = selectors.DefaultSelector()
    waiting: list[int] = []
    _import_readers()
    if focus.tables:
        read_tables()
    remember_sources()
    gc.collect()
    gc.freeze()
    running = 0
    while True:
        while running < jobs and going_on():
            waiting += itertools.islice(numbers, _TOGETHER - len(waiting))
            if not waiting:
                break
            _start(seed, waiting[:_TOGETHER], selector, limits, focus)
            waiting = waiting[_TOGETHER:]
            running += 1
        if running == 0:
            return
        for key, _ in selector.select(timeout=1.0):
            child: _Running = key.data
            part = os.read(key.fd, 65536)
            yield from child.take(part)
            if not part:
                selector.unregister(key.fd)
                os.close(key.fd)
                running -= 1
                _, status = os.waitpid(child.process, 0)
                if child.left and not child.faulty:
                    yield _lost(seed, child, status, limits, focus)
                waiting = child.left + waiting
        for key in list(selector.get_map().values()):
            if time.monotonic() - key.data.heard > _WALL:
                os.kill(key.data.process, signal.SIGKILL)


def _import_readers() -> None:
    """What reads tables is imported by the first that comes; Python wraps an interrupt of that in a RuntimeError."""
    for make in (pandas.DataFrame, polars.DataFrame):
        check_array(make({"a": [0.0, 1.0]}))


def _start(seed: int, numbers: list[int], selector: selectors.BaseSelector, limits: Limits, focus: Focus) -> None:
    here, there = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(here)
        try:
            _child(seed, numbers, there, limits, focus)
        finally:
            os._exit(0)
    os.close(there)
    selector.register(here, selectors.EVENT_READ, _Running(list(numbers), process, time.monotonic(), focus))


def _lost(seed: int, child: _Running, status: int, limits: Limits, focus: Focus) -> Outcome:
    """The case that a child did not survive."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kind = "hang in compiled code" if number in (signal.SIGKILL, signal.SIGPROF) else f"crash, signal {number}"
    else:
        kind = f"process ended without a word, status {os.WEXITSTATUS(status)}"
    return Outcome(seed, child.left.pop(0), "fault", kind, "", child.text, float(limits.seconds), focus)
