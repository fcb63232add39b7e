"""What an object may not remember and what may not disturb it: refits, interrupts, threads."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.base import clone

from .data import Data, Rng
from .faults import Fault, Refusal
from .oracles import near, scores_of
from .relations import fit_plain

__all__ = ["check_interrupt", "check_refit", "check_threads"]

LATEST = 1.0  # seconds of processor time until an interrupt is served


def _compare(used: Any, fresh: Any) -> None:
    """Equal in every public attribute that is a number or an array of numbers."""
    names = [
        {key for key in dir(model) if key.endswith("_") and key[0] != "_" and hasattr(model, key)}
        for model in (used, fresh)
    ]
    if names[0] != names[1]:
        raise Fault("a refit keeps or loses attributes", f"{sorted(names[0] ^ names[1])}")
    for key in names[0]:
        first, second = getattr(used, key), getattr(fresh, key)
        numbers = isinstance(first, (int, float, np.ndarray)) and np.asarray(first).dtype.kind in "fiub"
        if numbers and not np.array_equal(first, second, equal_nan=True):
            raise Fault("a refit differs in an attribute", key)


def check_refit(rng: Rng, models: list[tuple[Any, Data]]) -> None:
    """Fits of one object under changing parameters and data end where a new object does."""
    used = clone(models[0][0])
    for model, data in models:
        used.set_params(**model.get_params(deep=False))
        try:
            fit_plain(used, data.X, data.y, data.weight)
        except Refusal:
            continue
        fresh = fit_plain(clone(model), data.X, data.y, data.weight)
        near(scores_of(fresh, data.X), scores_of(used, data.X), 0.0, "a refit differs from a new fit")
        _compare(used, fresh)


def check_interrupt(rng: Rng, model: Any, data: Data) -> None:
    """An interrupt is served within a second of processor time and leaves an object that can be fitted."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    delay = float(10 ** rng.uniform(-2.5, -0.3))
    signal.signal(signal.SIGVTALRM, interrupt)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, delay)
    try:
        fit_plain(model, data.X, data.y, data.weight)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        return
    except KeyboardInterrupt:
        late = time.process_time() - start - delay
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    if late > LATEST:
        raise Fault("interrupt served late", f"after {late:.1f} s of processor time")
    fresh = fit_plain(clone(model), data.X, data.y, data.weight)
    fit_plain(model, data.X, data.y, data.weight)
    near(scores_of(fresh, data.X), scores_of(model, data.X), 0.0, "a fit after an interrupt differs")


def check_threads(rng: Rng, models: list[tuple[Any, Data]]) -> None:
    """Fits in several threads at once are the fits one after the other."""

    def fit(pair: tuple[Any, Data]) -> np.ndarray | str:
        model, data = pair
        try:
            return scores_of(fit_plain(clone(model), data.X, data.y, data.weight), data.X)
        except Refusal as refusal:
            return str(refusal)

    alone = [fit(pair) for pair in models]
    with ThreadPoolExecutor(len(models)) as pool:
        together = list(pool.map(fit, models))
    for first, second in zip(alone, together, strict=True):
        if isinstance(first, str) or isinstance(second, str):
            if type(first) is not type(second):
                raise Fault("threads disturb a fit", f"{first!r:.100} against {second!r:.100}")
            continue
        near(first, second, 1e-12, "threads disturb a fit")
