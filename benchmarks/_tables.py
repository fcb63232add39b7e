"""Raw tables for the races of quality: read once, split once, every result remembered.

A table is split by class into at most 3000 rows to train and at most 3000 to test. Whoever reads names and gaps is
given the table as it is; others get indicators, medians and standard units, learnt from the training rows. Seconds are
those of one processor. A result is kept in a cache directory under a digest of the code that made it, so that a long
race may be interrupted and only what changed is run again.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks._harness import Absent
from benchmarks._real import limited
from softmargin.datasets import load

__all__ = ["DEVELOPMENT", "REPORTED", "Contestant", "Memory", "Score", "digest_of", "encoded", "judge", "read", "split"]

# fmt: off
DEVELOPMENT = (  # rules were settled on these
    "australian", "balance", "banana", "bupa_liver", "churn", "cleveland", "ecoli", "german", "glass", "heart_statlog",
    "magic", "page_blocks", "phoneme", "spambase", "splice", "vehicle",
)
REPORTED = (
    "adult", "appendicitis", "bands", "breast_ljubljana", "breast_w", "car", "cells", "cmc", "credit_a", "credit_data",
    "dermatology", "esl_mixture", "haberman", "hayes_roth", "hepatitis", "higgs7k", "house_votes84", "hpc", "htru2",
    "ionosphere", "kr_vs_kp", "led7digit", "lending_club", "lymphography", "mammographic", "monks2", "monks3", "musk1",
    "newthyroid", "nursery", "pendigits", "pima_diabetes_na", "saheart", "segment", "sonar", "soybean", "spect", "tae",
    "tic_tac_toe", "titanic", "twonorm", "vowel", "waveform_40", "wdbc", "yeast", "zoo",
)
# fmt: on
_MOST, _RAREST = 3000, 8
_LIMIT = 900.0


@dataclass(frozen=True)
class Contestant:
    """How a line is made, and which form of the table it reads: "raw", "category", "names" or "numbers"."""

    make: Callable[[], Any]
    reads: str = "numbers"
    options: Callable[[Any], dict[str, Any]] = lambda frame: {}


@dataclass(frozen=True)
class Score:
    """Log loss and error on test rows, processor seconds to fit."""

    log_loss: float
    error: float
    seconds: float


def read(name: str) -> tuple[Any, np.ndarray]:
    """The frame as it is and class codes, classes of fewer than eight rows left out."""
    import pandas as pd

    try:
        data = load(name, download=False)
    except LookupError as reason:
        raise Absent(f"{name} is not in the data directory") from reason
    frame = data.X if hasattr(data.X, "iloc") else pd.DataFrame(data.X)
    codes = np.unique(np.asarray(data.y), return_inverse=True)[1]
    often = np.bincount(codes)[codes] >= _RAREST
    return frame[often].reset_index(drop=True), np.unique(codes[often], return_inverse=True)[1]


def split(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows."""
    n = len(codes)
    train = min(int(0.7 * n), _MOST)
    splitter = StratifiedShuffleSplit(1, train_size=train, test_size=min(n - train, _MOST), random_state=0)
    return next(splitter.split(np.zeros(n), codes))


def encoded(frame: Any, train: np.ndarray) -> np.ndarray:
    """Indicators of names, medians for gaps, standard units, as learnt from the training rows."""
    names = list(frame.select_dtypes(exclude="number").columns)
    numbers = [column for column in frame.columns if column not in names]
    transform = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), names),
    )
    words = _words(frame, names)
    return np.asarray(transform.fit(words.iloc[train]).transform(words), dtype=float)


def _words(frame: Any, names: list[str]) -> Any:
    return frame.assign(
        **{name: frame[name].astype(object).where(frame[name].notna(), "?").astype(str) for name in names}
    )


def _form(frame: Any, reads: str, train: np.ndarray) -> Any:
    names = list(frame.select_dtypes(exclude="number").columns)
    forms: dict[str, Callable[[], Any]] = {
        "raw": lambda: frame,
        "category": lambda: frame.astype(dict.fromkeys(names, "category")),
        "names": lambda: _words(frame, names),
        "numbers": lambda: encoded(frame, train),
    }
    return forms[reads]()


def judge(one: Contestant, frame: Any, codes: np.ndarray) -> Score:
    """Fit and judge."""
    train, test = split(codes)
    X = _form(frame, one.reads, train)
    part, new = (X.iloc[train], X.iloc[test]) if hasattr(X, "iloc") else (X[train], X[test])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = one.make().fit(part, codes[train], **one.options(frame))
        seconds = time.process_time() - start
        P = np.zeros((len(test), codes.max() + 1))
        P[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(new)
    P = np.clip(P, 1e-6, None)
    P /= P.sum(axis=1, keepdims=True)
    loss = log_loss(codes[test], P, labels=np.arange(P.shape[1]))
    return Score(float(loss), float((P.argmax(axis=1) != codes[test]).mean()), seconds)


class Memory:
    """Results on disk, by table, line and a digest of what made them."""

    def __init__(self, path: Path | None = None) -> None:
        home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
        self.path = home / "softmargin" / "quality.jsonl" if path is None else path
        self._known: dict[tuple[str, str, str], Any] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                table, name, digest, value = json.loads(line)
                self._known[table, name, digest] = value

    def recall(self, table: str, line: str, digest: str, work: Callable[[], Any]) -> Any:
        """The result, from disk or by doing the work; a failure is a result too, a sentence."""
        key = (table, line, digest)
        if key not in self._known:
            try:
                score = limited(work, _LIMIT)()
                value = [score.log_loss, score.error, score.seconds]
            except Absent as reason:
                value = str(reason)
            except Exception as error:
                value = f"{type(error).__name__}: {error}"[:120]
            self._known[key] = value
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([*key, value]) + "\n")
        return self._known[key]


def digest_of(package: Any) -> str:
    """Of the sources of an imported package."""
    found = hashlib.sha256()
    for path in sorted(Path(package.__file__).parent.rglob("*.py*")):
        if path.suffix in (".py", ".pyx"):
            found.update(path.read_bytes())
    return found.hexdigest()[:12]
