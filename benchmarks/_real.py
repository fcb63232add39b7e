"""Real tables for the races: read once, encoded as a user would, cut down for quick runs.

Tables are one-hot encoded and standardised, sparse sets and texts (tf-idf) are taken as they are. A binary task
sets the largest class against the rest. A set that is not on this machine is skipped by name.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks._harness import Absent, Contest, Entry, _above, markdown_table, race
from softmargin.datasets import DataNotFound, load

__all__ = ["binary", "limited", "several", "table_of"]

SLOWEST = 30.0  # processor seconds after which a fit is recorded as not done
HOPELESS, LEAST = 10.0, 4.0  # a peer is given up after so many times our seconds, but not before so many
PATIENCE = 1.0  # seconds of a first call after which it counts and is not repeated
_RUNS = 5


@lru_cache(maxsize=4)
def _read(name: str) -> tuple[Any, np.ndarray]:
    try:
        plain = load(name, download=False)
        data = load(name, download=False, encode=True, standardize=hasattr(plain.X, "iloc"))
    except DataNotFound as reason:
        raise Absent(f"{name} is not in the data directory") from reason
    assert data.y is not None
    X = data.X.tocsr() if hasattr(data.X, "tocsr") else data.X
    return X, np.unique(data.y, return_inverse=True)[1]


def several(name: str, rows: int | None = None) -> tuple[Any, np.ndarray]:
    """Features and class codes, of at most ``rows`` rows drawn at random."""
    X, codes = _read(name)
    order = np.random.default_rng(0).permutation(len(codes))[:rows]
    kept = codes[order]
    return X[order], np.unique(kept, return_inverse=True)[1]


def binary(name: str, rows: int | None = None) -> tuple[Any, np.ndarray]:
    """Features and labels in {0, 1}: the largest class is 1."""
    X, codes = several(name, rows)
    return X, (codes == np.bincount(codes).argmax()).astype(int)


def limited(call: Callable[[], Any], seconds: float = SLOWEST) -> Callable[[], Any]:
    """The same call, given up (as absent, with the reason) after some processor seconds.

    An alarm on the wall looks at the processor's clock: while an alarm on that clock itself is set, Linux moves it by
    ticks of 4 ms.
    """
    began = 0.0

    def look(number: int, frame: Any) -> None:
        left = seconds - (time.process_time() - began)
        if left <= 0:
            raise Absent(f"not done in {seconds:g} s")
        signal.setitimer(signal.ITIMER_REAL, max(left, 0.01))

    def run() -> Any:
        nonlocal began
        before, began = signal.signal(signal.SIGALRM, look), time.process_time()
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            return call()
        except MemoryError as error:
            raise Absent(f"out of memory: {str(error)[:60]}") from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    return run


def _row(name: str, one: Contest, entries: list[Entry]) -> list[Any]:
    ours, rivals = entries[0], [entry for entry in entries[1:] if entry.times]
    equal = [entry for entry in rivals if one.objective is None or _above(entry, ours) <= one.tolerance]
    leader = min(equal or rivals, key=lambda entry: entry.best, default=None)
    if not ours.times:
        return [
            name,
            ours.reason,
            "",
            "" if leader is None else leader.best,
            "" if leader is None else leader.name,
            "",
        ]
    if leader is None:
        late = [entry for entry in entries[1:] if entry.reason]
        return [name, ours.best, "", late[0].reason if late else "", late[0].name if late else "no peer", ""]
    ratio = ours.best / leader.best
    verdict = f"**{ratio:.2f}**" if one.bar is not None and ratio > one.bar else f"{ratio:.2f}"
    above = "" if one.objective is None else f"{_above(ours, leader):.1e}"
    return [name, ours.best, verdict, leader.best, leader.name, above]


def table_of(
    names: Iterable[str],
    make: Callable[[Any, np.ndarray], Contest],
    read: Callable[[str], tuple[Any, np.ndarray]],
    quick: bool,
) -> str:
    """One line per set: our time, the ratio to the best peer (bold above the bar), and whose objective is lower."""
    rows = []
    for name in names:
        try:
            X, y = read(name)
        except Absent as reason:
            rows.append([name, str(reason), "", "", "", ""])
            continue
        one = make(X, y)
        one.ours = limited(one.ours)
        given = _patience_with_peers(one)
        one.peers = {key: limited(call, given) for key, call in one.peers.items()}
        size = f"{name} {X.shape[0]} x {X.shape[1]}"
        rows.append(_row(size, one, race(one, 1 if quick else _RUNS, PATIENCE)))
    head = ["data", "ours (s)", "ours / best", "best peer (s)", "best peer", "ours above its objective"]
    return markdown_table(head, rows)


def _patience_with_peers(one: Contest) -> float:
    """Processor seconds after which a peer has lost."""
    start = time.perf_counter()
    try:
        one.ours()
    except Absent:
        return SLOWEST
    return min(max(HOPELESS * (time.perf_counter() - start), LEAST), SLOWEST)


def doubling(values: Iterable[float], seconds: Iterable[float]) -> Iterator[tuple[float, float]]:
    """For each step of a doubling series, the value and the exponent of the growth of the time."""
    pairs = list(zip(values, seconds, strict=True))
    for (first, early), (second, late) in pairwise(pairs):
        yield second, math.log(late / early) / math.log(second / first)
