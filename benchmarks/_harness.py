"""A race at equal objective, and the table it leaves behind.

A :class:`Contest` is one problem, our way of solving it, and each peer's. Everybody runs once to warm up (that time is
reported as the first call: it contains compilation, where there is any), then all take turns, ``runs`` times; the best
time of each counts. Processor time is shown too: it tells more than elapsed time on a busy machine.

A result is only worth its time at equal quality, so every result is valued by the same ``objective`` function (a
number, or one number per path value) and the table says how far each ends above the best of all, relative to it, at
worst. Peers stop by their own defaults unless the adapter says otherwise, so a peer may be sloppier than we are. The
verdict is against the fastest peer that ends within ``tolerance`` of our objective; a faster one that does not is named
with its ratio, and if none does the fastest of all counts. Where we are sloppier than the peer of the verdict by more
than ``tolerance`` the contest is marked "unequal".

Peers that are not installed are listed as absent, with the reason.
"""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Absent", "Contest", "Timed", "contest", "markdown_table", "peer", "run_topic", "table", "topics"]

RESULTS = Path(__file__).with_name("RESULTS.md")
_TOO_SLOW = 15.0  # seconds of a timed run after which one has to do
_PRELUDE = "# Benchmark results\n\nWritten by `python -m benchmarks`; each topic rewrites its own section only.\n"


class Absent(Exception):
    """A peer cannot run here; the message says why."""


@dataclass
class Timed:
    """A result whose time was measured elsewhere (in another process), without the cost of handing over the data."""

    result: Any
    seconds: float


@dataclass
class Contest:
    """One problem, our solution of it and each peer's; all callables take no argument and return a result."""

    title: str
    ours: Callable[[], Any]
    peers: dict[str, Callable[[], Any]]
    objective: Callable[[Any], Any] | None = None
    bar: float | None = None
    dream: float | None = None
    runs: int = 5
    tolerance: float = 1e-6
    note: str = ""


@dataclass
class Entry:
    """How one contestant did."""

    name: str
    first: float = math.nan
    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    value: np.ndarray | None = None
    reason: str = ""
    is_done: bool = False  # its first call counts

    @property
    def best(self) -> float:
        return min(self.times, default=math.inf)


def contest(make: Callable[[bool], Contest]) -> Callable[[bool], Contest]:
    """Mark ``make(quick) -> Contest`` as part of its module's topic."""
    make.kind = "contest"  # type: ignore[attr-defined]
    return make


def table(make: Callable[[bool], str]) -> Callable[[bool], str]:
    """Mark ``make(quick) -> markdown`` as part of its module's topic; its docstring becomes the heading."""
    make.kind = "table"  # type: ignore[attr-defined]
    return make


def peer(module: str, function: str, *args: Any, **kwargs: Any) -> Callable[[], Any]:
    """The call ``benchmarks.peers.<module>.<function>(*args, **kwargs)``, raising Absent where it cannot be made."""

    def call() -> Any:
        try:
            adapter = import_module(f"benchmarks.peers.{module}")
        except ImportError as error:
            raise Absent(f"not installed ({error.name})") from error
        return getattr(adapter, function)(*args, **kwargs)

    call.module = module  # type: ignore[attr-defined]
    return call


def markdown_table(head: list[str], rows: list[list[Any]]) -> str:
    """A markdown table; floats are shown to three significant digits."""

    def show(cell: Any) -> str:
        return f"{cell:.3g}" if isinstance(cell, float) else str(cell)

    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(show(cell) for cell in line) + " |" for line in lines)


def _run_once(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """Elapsed and processor seconds (nan for what ran in another process), and the result."""
    start, busy = time.perf_counter(), time.process_time()
    result = call()
    elapsed, busy = time.perf_counter() - start, time.process_time() - busy
    return (result.seconds, math.nan, result.result) if isinstance(result, Timed) else (elapsed, busy, result)


def race(one: Contest, runs: int, patience: float = math.inf) -> list[Entry]:
    """Warm everybody up, then take turns; ours is the first entry.

    Whose first call takes longer than ``patience`` is not called again: that call counts.
    """
    calls = {"softmargin": one.ours, **one.peers}
    entries = [Entry(name) for name in calls]
    for entry in entries:
        try:
            seconds, busy, result = _run_once(calls[entry.name])
        except Absent as reason:
            entry.reason = str(reason)
            continue
        entry.first = seconds
        if seconds > patience:
            entry.times, entry.cpu, entry.is_done = [seconds], [busy], True
        if one.objective is not None:
            entry.value = np.atleast_1d(np.asarray(one.objective(result), dtype=float))
    for _ in range(runs):
        for entry in entries:
            if not (entry.reason or entry.is_done) and max(entry.times, default=0.0) < _TOO_SLOW:
                seconds, busy, _ = _run_once(calls[entry.name])
                entry.times.append(seconds)
                entry.cpu.append(busy)
    return entries


def _above(entry: Entry, other: Entry) -> float:
    """How far one ends above another, relative to it, at worst; nothing where there is no objective."""
    if entry.value is None or other.value is None:
        return 0.0
    return float(np.max((entry.value - other.value) / np.maximum(np.abs(other.value), np.finfo(float).tiny)))


def _excess(entry: Entry, entries: list[Entry]) -> float:
    best = np.min([other.value for other in entries if other.value is not None], axis=0)
    return float(np.max((entry.value - best) / np.maximum(np.abs(best), np.finfo(float).tiny)))


def report(one: Contest, entries: list[Entry]) -> str:
    """One section: title, verdict, table."""
    ours, rivals = entries[0], [e for e in entries[1:] if e.times]
    lines = [f"### {one.title}", ""]
    if rivals:
        fastest = min(rivals, key=lambda e: e.best)
        equals = [e for e in rivals if _above(e, ours) <= one.tolerance]
        leader = min(equals, key=lambda e: e.best, default=fastest)
        verdict = f"**ours / best peer ({leader.name}): {ours.best / leader.best:.2f}**"
        if one.bar is not None:
            verdict += f" (bar {one.bar:g}, dream {one.dream:g})"
        if ours.value is not None and leader.value is not None:
            worse = _above(ours, leader)
            verdict += "; equal objective" if worse <= one.tolerance else f"; unequal: ours is {worse:.1e} above it"
            if not equals:
                verdict += f", and no peer comes within {one.tolerance:.0e} of ours"
        if fastest is not leader:
            ratio, above = ours.best / fastest.best, _above(fastest, ours)
            verdict += f"; {ratio:.2f} of {fastest.name}, which stops {above:.1e} above ours"
    else:
        verdict = "no peer present"
    lines += [verdict + ".", ""]
    rows: list[list[Any]] = []
    for entry in sorted(entries, key=lambda e: e.best):
        if entry.reason:
            rows.append([entry.name, f"absent: {entry.reason}", "", "", "", ""])
            continue
        above = "" if entry.value is None else f"{_excess(entry, entries):.1e}"
        busy = "" if math.isnan(min(entry.cpu)) else float(min(entry.cpu))
        rows.append([entry.name, entry.best, busy, entry.first, f"{entry.best / ours.best:.2f}", above])
    head = ["solver", "best time (s)", "processor time (s)", "first call (s)", "time / ours", "above best objective"]
    lines.append(markdown_table(head, rows))
    if one.note:
        lines += ["", one.note]
    return "\n".join(lines)


def _versions(names: set[str]) -> str:
    found = [f"python {platform.python_version()}"]
    for name in ["numpy", "scipy", "scikit-learn", *sorted(names)]:
        try:
            adapter = import_module(f"benchmarks.peers.{name}")
            found.append(adapter.version())
        except (ImportError, AttributeError, Absent):
            try:
                found.append(f"{name} {version(name)}")
            except ImportError:
                continue
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    return f"Versions: {', '.join(dict.fromkeys(found))}. {os.cpu_count()} cores, BLAS threads: {threads}."


def topics() -> list[str]:
    """The names of all topics: modules of this package that are not private."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def run_topic(
    name: str, quick: bool = False, runs: int | None = None, results: Path = RESULTS, only: list[str] | None = None
) -> str:
    """Run one topic, print it and rewrite its section of the results file.

    ``only`` names functions of the topic's module: the parts of the others stay as they were written last.
    """
    module = import_module(f"benchmarks.{name}")
    kept = _parts(_section(name, results)) if only else {}
    parts, peers_seen = [f"## {name}", "", (module.__doc__ or "").strip()], set()
    for make in [f for f in vars(module).values() if getattr(f, "kind", None) and f.__module__ == module.__name__]:
        title = make(quick).title if make.kind == "contest" and only else make.__doc__ or make.__name__
        heading = f"### {title.strip()}"
        if only and make.__name__ not in only:
            parts += ["", kept[heading]] if heading in kept else []
            continue
        if make.kind == "contest":
            one = make(quick)
            peers_seen |= {getattr(call, "module", "") for call in one.peers.values()} - {""}
            section = report(one, race(one, 1 if quick else runs or one.runs))
        else:
            section = f"{heading}\n\n{make(quick)}"
        print(section, end="\n\n", flush=True)
        parts += ["", section]
    parts += ["", _versions(peers_seen)]
    text = "\n".join(parts)
    if not quick:
        _write_section(name, text, results)
    return text


def _section(name: str, results: Path) -> str:
    """A topic's section as it stands."""
    page = results.read_text(encoding="utf-8") if results.exists() else ""
    return page.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]


def _parts(section: str) -> dict[str, str]:
    """The parts of a section by their headings."""
    body = section.rpartition("\nVersions: ")[0]
    parts = ["### " + part.strip() for part in body.split("\n### ")[1:]]
    return {part.partition("\n")[0]: part for part in parts}


def _write_section(name: str, text: str, results: Path) -> None:
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = results.read_text(encoding="utf-8") if results.exists() else _PRELUDE
    if begin in page:
        before, rest = page.split(begin, 1)
        page = before + f"{begin}\n{text}\n{end}" + rest.split(end, 1)[1]
    else:
        page = page.rstrip("\n") + f"\n\n{begin}\n{text}\n{end}\n"
    results.write_text(page, encoding="utf-8")
