"""Cases in processes of their own: fork, limits, a line back.

The parent has imported everything and computes nothing, so a fork costs milliseconds and starts clean. A child
works under ``Limits`` and writes lines of JSON to a pipe, what it is about to do and what came of it; a child that dies
without a verdict crashed, one stopped by its limit hung.
"""

from __future__ import annotations

import gc
import json
import math
import os
import resource
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .case import Case
from .faults import Fault, remember_sources

__all__ = ["Limits", "Outcome", "run_cases", "run_here"]

_WALL = 300  # seconds after which a child that sleeps is ended


@dataclass(frozen=True)
class Limits:
    """Seconds of processor time for a case, and bytes of memory beyond those of the parent (0: no limit)."""

    seconds: int = 20
    memory: int = 3 << 30

    def impose(self) -> None:
        """Bind this process to them."""
        if self.memory:
            with open("/proc/self/statm") as stream:
                size = int(stream.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + self.memory, size + self.memory))
        last = math.ceil(time.process_time()) + self.seconds
        resource.setrlimit(resource.RLIMIT_CPU, (last, last + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


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

    @property
    def repeat(self) -> str:
        """The command that runs the case again."""
        return f"python -m tests.fuzz --seed {self.seed} --case {self.number}"


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
    return Outcome(case.seed, case.number, verdict, kind, message[:500], case.text, time.process_time() - start)


def _child(seed: int, number: int, pipe: int, limits: Limits) -> None:
    case = Case(seed, number, listener=lambda text: _send(pipe, {"text": text}))

    def hung(signum: int, frame: Any) -> None:
        stack = [f for f in traceback.extract_stack(frame) if "softmargin/" in f.filename]
        place = f"{stack[-1].filename.rpartition('softmargin/')[2]}:{stack[-1].name}" if stack else "?"
        kind, message = f"hang at {place}", f"more than {limits.seconds} s of processor time"
        _send(pipe, vars(Outcome(seed, number, "fault", kind, message, case.text, limits.seconds)))
        os._exit(0)

    signal.signal(signal.SIGXCPU, hung)
    limits.impose()
    _send(pipe, vars(run_here(case)))


def _send(pipe: int, facts: dict[str, Any]) -> None:
    os.write(pipe, json.dumps(facts, default=str).encode() + b"\n")


@dataclass
class _Running:
    number: int
    process: int
    started: float
    read: bytes = b""


def run_cases(
    seed: int,
    numbers: Iterator[int],
    jobs: int = 1,
    going_on: Callable[[], bool] = lambda: True,
    limits: Limits | None = None,
) -> Iterator[Outcome]:
    """Outcomes in the order they come; no new case starts once ``going_on`` says no."""
    limits = limits or Limits()
    selector = selectors.DefaultSelector()
    remember_sources()
    gc.collect()
    gc.freeze()
    running = 0
    while True:
        while running < jobs and going_on() and (number := next(numbers, None)) is not None:
            _start(seed, number, selector, limits)
            running += 1
        if running == 0:
            return
        for key, _ in selector.select(timeout=1.0):
            child: _Running = key.data
            part = os.read(key.fd, 65536)
            child.read += part
            if not part:
                selector.unregister(key.fd)
                os.close(key.fd)
                running -= 1
                yield _finished(seed, child, limits)
        for key in list(selector.get_map().values()):
            if time.monotonic() - key.data.started > _WALL:
                os.kill(key.data.process, signal.SIGKILL)


def _start(seed: int, number: int, selector: selectors.BaseSelector, limits: Limits) -> None:
    here, there = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(here)
        try:
            _child(seed, number, there, limits)
        finally:
            os._exit(0)
    os.close(there)
    selector.register(here, selectors.EVENT_READ, _Running(number, process, time.monotonic()))


def _finished(seed: int, child: _Running, limits: Limits) -> Outcome:
    _, status = os.waitpid(child.process, 0)
    facts = [json.loads(line) for line in child.read.splitlines() if line.endswith(b"}")]
    if facts and "verdict" in facts[-1]:
        return Outcome(**facts[-1])
    text = facts[-1]["text"] if facts else ""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        kind = "hang in compiled code" if number in (signal.SIGKILL, signal.SIGXCPU) else f"crash, signal {number}"
    else:
        kind = f"process ended without a word, status {os.WEXITSTATUS(status)}"
    return Outcome(seed, child.number, "fault", kind, "", text, float(limits.seconds))
