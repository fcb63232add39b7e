"""``softmargin fit`` of Parquet files too large for memory: the rows stay in their files and are read in chunks.

A linear classifier with its ``C`` tuned and a hundred rules are fitted by passes over all rows but a fold; the one with
the smaller log loss on a sample of that fold is kept and reported on. Columns of numbers without gaps are used, so that
``softmargin predict`` reads the same columns from any file; others are named and left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

import softmargin
from softmargin import chunks
from softmargin.cli._prepare import refuse_target
from softmargin.cli._read import BadInput
from softmargin.expansions import FileFacts, part_of

__all__ = ["fit_parts", "is_large"]

_LARGE = 1 << 31  # bytes of numbers beyond which a table is not read whole


def is_large(files: list[Path]) -> bool:
    """Whether these are Parquet files with more numbers than should be in memory at once."""
    if not all(file.suffix.lower() == ".parquet" for file in files):
        return False
    return sum(sum(about.groups) * len(about.kinds) * 8 for about in map(_about, files)) > _LARGE


def fit_parts(options: Any, files: list[Path], say: Callable[[str], None]) -> tuple[Any, Any, np.ndarray, Any]:
    """Fit by passes; the model, and rows of the fold held out with their labels, and those of the others."""
    features = _features(options, files, say)
    try:
        X, y = chunks.from_parquet(
            list(map(str, files)), target=options.target, features=features, weight=options.weight
        )
        n_folds = max(2, round(1 / options.test_size))
        train, test = (part_of(X, y, n_folds, 0, held=held, seed=options.seed) for held in (False, True))
        say(f"{X.shape[0]} rows in chunks, {len(features)} columns of numbers")
        held, labels = _frame(*test)
        scored = []
        for model in _candidates(options.model):
            started = time.perf_counter()
            say(f"fitting {_name(model)} by passes")
            model.fit(*train)
            loss = float(log_loss(labels, model.predict_proba(held), labels=model.classes_))
            say(f"{_name(model)}: log loss {loss:.4f}, {time.perf_counter() - started:.0f} s")
            scored.append((loss, model))
    except BadInput:
        raise
    except (ValueError, OSError) as error:
        raise BadInput(str(error).splitlines()[0]) from error
    best = min(scored, key=lambda pair: pair[0])[1]
    return best, held, labels, _frame(*train)


def _candidates(name: str) -> list[Any]:
    linear = softmargin.TunedClassifier(softmargin.MarginClassifier())
    models = {"marginclassifier": linear, "ruleboostclassifier": softmargin.RuleBoostClassifier()}
    if name.lower() == "auto":
        return list(models.values())
    if name.lower() not in models:
        raise BadInput(
            f"--model {name!r} does not fit tables in chunks; give auto, MarginClassifier or RuleBoostClassifier."
        )
    return [models[name.lower()]]


def _name(model: Any) -> str:
    return type(getattr(model, "estimator", model)).__name__


def _features(options: Any, files: list[Path], say: Callable[[str], None]) -> list[str]:
    all_files = list(map(_about, files))
    known = list(all_files[0].kinds)
    for word, column in (("--target", options.target), ("--weight", options.weight), ("--id", options.id)):
        if column is not None and column not in known:
            raise BadInput(f"{word} {column!r} is no column; the columns are {', '.join(known)}.")
    refuse_target(options.target, options.weight, options.id, options.drop)
    apart = {options.target, options.weight, options.id, *options.drop}
    numbers: list[str] = []
    left: list[str] = []
    for name in all_files[0].names:
        if name not in apart:
            whole = all(about.is_number(name) and name not in about.gappy for about in all_files if name in about.kinds)
            (numbers if whole else left).append(name)
    if left:
        say(f"left out, as they are not numbers without gaps: {', '.join(left)}")
    if not numbers:
        raise BadInput(
            f"{files[0]} has no column of numbers without gaps beside the target; fill or encode some first."
        )
    return numbers


def _about(file: Path) -> FileFacts:
    try:
        return FileFacts.of(str(file))
    except ValueError as error:
        raise BadInput(str(error).splitlines()[0][:200]) from error


def _frame(X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """A sample of the rows as a frame, with their labels."""
    import pandas as pd

    sample = X.sample.chunk
    labels = sample.labels if y.coded is None else y.coded[sample.labels]
    return pd.DataFrame(np.asarray(sample.X), columns=list(X.feature_names)), np.asarray(labels)
