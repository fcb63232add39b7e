"""What is made from a fitted model, or fits it otherwise: influence, sensitivity, pages, exports, rows in chunks."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import softmargin
from softmargin import chunks, export, inference, losses, report

from .data import Data, Rng, draw_data
from .faults import Fault, judged
from .oracles import solutions_of
from .parameters import CONVEX, ROBUST

__all__ = ["DERIVED"]

Say = Callable[[str], None]


def _model(rng: Rng) -> Any:
    """A machine of one margin loss, on features or a kernel."""
    C = float(10 ** rng.uniform(-2, 2))
    options: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5} if rng.random() < 0.4 else {}
    if rng.random() < 0.3:
        return softmargin.RobustSVC(loss=str(rng.choice(ROBUST)), C=C, random_state=0, **options)
    return softmargin.MarginClassifier(loss=str(rng.choice(CONVEX)), C=C, random_state=0, **options)


def _fitted(rng: Rng, say: Say, what: str, k: int | None = None) -> tuple[Any, Data]:
    model, data = _model(rng), draw_data(rng, large=False, k=k)
    say(f"{what}({' '.join(repr(model).split())}) {data}")
    with judged():
        return model.fit(data.dense, data.codes), data


def influence(rng: Rng, say: Say) -> None:
    """What each row did to the fit: finite, one number a row."""
    model, data = _fitted(rng, say, "influence")
    with judged():
        found = inference.influence(model, data.dense, data.codes)
    for name, values in vars(found).items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and np.isnan(values).any():
            raise Fault("influence is NaN", name)


def sensitivity(rng: Rng, say: Say) -> None:
    """How far one more row moves the fit, wherever it lies: one finite number a row."""
    model, data = _fitted(rng, say, "sensitivity", k=2)
    X = data.dense[:2] * float(rng.choice([0.0, 1.0, 10.0]))
    with judged():
        moved = np.asarray(inference.sensitivity(model, data.dense, data.codes, X, data.codes[:2]))
    if moved.shape[0] != 2 or not np.isfinite(moved).all():
        raise Fault("sensitivity not finite", f"{moved}")


def checked_loss(rng: Rng, say: Say) -> None:
    """Every loss of the menu keeps its word."""
    name = str(rng.choice(losses.available()))
    say(f"check_loss({name})")
    with judged():
        found = losses.check_loss(losses.get(name))
    if not found.ok:
        raise Fault(f"loss {name} is not what it says", str(found)[:300])


def exported(rng: Rng, say: Say) -> None:
    """A model as JSON is JSON."""
    model, _ = _fitted(rng, say, "to_json")
    with judged():
        text = export.to_json(model)
    json.loads(text)


def page(rng: Rng, say: Say) -> None:
    """A report is written whole, and holds no markup of the data's."""
    model, data = _fitted(rng, say, "report.build")
    names = np.array(["<b>one</b>", "two & three", "'four'", '"five"', "<script>", "six"])[: data.k]
    with judged():
        model.fit(data.dense, names[data.codes])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        with judged():
            report.build(model, data.dense, names[data.codes], path)
        text = path.read_text()
    if "</html>" not in text or "<b>one</b>" in text or "<script></" in text:
        raise Fault("report: not whole or not escaped", f"{len(text)} characters")


def in_chunks(rng: Rng, say: Say) -> None:
    """Rows in chunks are the rows."""
    data = draw_data(rng, large=False, trouble=0.3, k=2)
    loss = str(rng.choice(["logistic", "squared_hinge", "huberized_hinge", "hinge"]))
    model = softmargin.MarginClassifier(loss=loss, l1_ratio=0.0 if loss == "hinge" else float(rng.choice([0, 0.5])))
    size = int(rng.integers(10, 60))
    say(f"chunks of {size} rows: {' '.join(repr(model).split())} {data}")

    def make() -> Iterator[Any]:
        for start in range(0, len(data.codes), size):
            yield data.dense[start : start + size], data.codes[start : start + size]

    with judged():
        whole = softmargin.MarginClassifier(**model.get_params()).fit(data.dense, data.codes)
        parts = model.fit(*chunks.from_arrays(make))
    (first,), (second,) = solutions_of(whole), solutions_of(parts)
    allowed = (first.gap + second.gap + 1e-6) * max(abs(first.objective), abs(second.objective))
    # not the scores: the intercept of a hinge may be any of an interval
    if data.level in ("tame", "awkward") and abs(first.objective - second.objective) > allowed:
        raise Fault("chunks differ from the rows", f"objectives {first.objective!r} and {second.objective!r}")


DERIVED: tuple[tuple[Callable[[Rng, Say], None], float], ...] = (
    (influence, 1), (sensitivity, 0.5), (checked_loss, 0.2), (exported, 0.5), (page, 0.2), (in_chunks, 1),
)  # fmt: skip
