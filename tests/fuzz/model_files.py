"""Models as files: what was saved answers as before, and a damaged file is refused, never run or half read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import softmargin

from .data import Data, Rng
from .faults import Fault, Refusal, judged
from .oracles import near, scores_of

__all__ = ["check_file"]


def _damaged(rng: Rng, content: bytes) -> bytes:
    """Bytes flipped, cut off, repeated or put in, at random."""
    raw = bytearray(content)
    kind, place = int(rng.integers(4)), int(rng.integers(len(raw)))
    if kind == 0:
        for i in rng.integers(len(raw), size=rng.integers(1, 5)):
            raw[i] ^= int(rng.integers(1, 256))
    elif kind == 1:
        del raw[place:]
    elif kind == 2:
        raw += raw[place:]
    else:
        raw[place:place] = rng.bytes(int(rng.integers(1, 40)))
    return bytes(raw)


def check_file(rng: Rng, model: Any, data: Data) -> None:
    """Save, load, compare; then damage the file and try again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            with judged():
                softmargin.save(model, path)
                again = softmargin.load(path)
        except Refusal as refusal:
            settings = model.get_params()
            kernels = [value for name, value in settings.items() if name.rpartition("__")[2] == "kernel"]
            if any(map(callable, kernels)):
                return  # functions of one's own need consent
            if not type(settings.get("estimator", model)).__module__.startswith(("softmargin.", "sklearn.")):
                return  # a class of one's own is for pickle
            raise Fault("a model cannot be saved", str(refusal)) from refusal
        near(scores_of(model, data.X), scores_of(again, data.X), 0.0, "a loaded model differs")
        whole = path.read_bytes()
        hurt = _damaged(rng, whole)
        path.write_bytes(hurt)
        try:
            with judged():
                other = softmargin.load(path)
        except Refusal:
            return
        if hurt != whole:
            near(scores_of(model, data.X), scores_of(other, data.X), 0.0, "a damaged file is read as another model")
