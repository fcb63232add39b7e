"""Functions asked with one argument that is odd: they answer, or refuse it in words a caller understands."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import softmargin
from softmargin import datasets, inference, losses, paths, report

from .data import Rng
from .faults import Fault, Refusal, judged

__all__ = ["odd_argument"]

_ODD: tuple[Any, ...] = (
    None, True, 0, -1, 3, 0.5, 1e300, 5e-324, np.inf, np.nan, "text", "", b"x", [], [1.0], [0.5, 2.0], (), {}, {1: 2},
    [[1.0], [2.0, 3.0]], [None, None], ["a", "b"], np.zeros((3, 3)), np.array(1.0), np.uint8(3), np.float16(0.5),
    Fraction(1, 2), 1j, 10**400, 2**63, np.ma.masked, {1, 2}, int, object(), lambda: 0, np.datetime64("2020-01-01"),
)  # fmt: skip
_ROWS = np.random.default_rng(0).normal(size=(40, 3))
_LABELS = (_ROWS[:, 0] + _ROWS[:, 1] ** 3 > 0).astype(int)


def _paths() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    given: dict[str, Any] = {"X": _ROWS, "y": _LABELS, "kernel": "rbf", "gamma": 1.0, "degree": 2, "coef0": 0.0}
    traced = given | {"sample_weight": None, "jitter": None, "max_events": None}
    grid = given | {"sample_weight": None, "Cs": 3, "eps": 0.1, "l1_ratio": 1.0, "factors": None, "positive": False}
    return {
        "cost_path": (paths.cost_path, traced | {"C_min": 0.0, "C_max": 10.0}),
        "weight_path": (paths.weight_path, traced | {"C": 1.0}),
        "balance_path": (paths.balance_path, traced | {"C": 1.0}),
        "margin_path": (paths.margin_path, grid | {"loss": "logistic", "tol": 1e-6, "max_iter": 100}),
    }


def _functions() -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    model, rows = softmargin.MarginClassifier().fit(_ROWS, _LABELS), {"X": _ROWS, "y": _LABELS}
    whole = {"model": model, **rows}
    return _paths() | {
        "audit_labels": (
            softmargin.audit_labels,
            {"estimator": model, **rows, "groups": None, "cv": 3, "sample_weight": None, "level": 0.9},
        ),
        "summarise": (report.summarise, whole | {"training": None, "baselines": None, "random_state": 0}),
        "influence": (inference.influence, whole | {"X_new": None, "y_new": None, "sample_weight": None}),
        "Inference": (inference.Inference, {"estimator": model, **rows, "sample_weight": None, "method": "sandwich"}),
        "flip_labels": (datasets.flip_labels, {"y": _LABELS, "rate": 0.1, "random_state": 0, "exact": True}),
        "make_wavy": (datasets.make_wavy, {"n": 10, "scale": 0.3, "random_state": 0}),
        "make_loss": (losses.make_loss, {"value": np.square, "base": None, "floor": None, "name": "own"}),
        "to_sql": (softmargin.export.to_sql, {"model": model, "table": "t", "dialect": "ansi", "key": None}),
    }


def odd_argument(rng: Rng, say: Callable[[str], None]) -> None:
    """One argument of a function becomes something it was never meant to be."""
    functions = _functions()
    name = str(rng.choice(sorted(functions)))
    function, given = functions[name]
    argument = str(rng.choice(sorted(given)))
    odd = _ODD[rng.integers(len(_ODD))]
    say(f"{name}({argument}={odd!r})")
    try:
        with judged():
            function(**given | {argument: odd})
    except Refusal as refusal:
        if name != "to_sql" and argument not in ("estimator", "gamma", "coef0") and argument not in str(refusal.error):
            raise Fault(f"{name}: {argument} is refused without its name", str(refusal)) from refusal
        raise
