"""Parameters by name: values every estimator must take, values every estimator must refuse by name.

A new estimator needs nothing here while its parameters carry names that others have; ``OWN`` holds what a name means
to one class only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softmargin import losses, penalties

from .data import Rng

__all__ = ["CONVEX", "ROBUST", "draw_invalid", "draw_parameters", "knows"]

Draw = Callable[[Rng], Any]
CONVEX = ("logistic", "hinge", "squared_hinge", "least_squares", "exponential", "coherence", "huberized_hinge",
          "modified_huber", "balanced_hinge", "power_margin")  # fmt: skip
ROBUST = ("welsch", "cauchy", "geman_mcclure", "tanh_hinge", "general_robust", "truncated_hinge")


def _choice(*values: Any) -> Draw:
    return lambda rng: values[rng.integers(len(values))]


def _power(low: float, high: float) -> Draw:
    return lambda rng: float(10 ** rng.uniform(low, high))


def _class_weight(rng: Rng) -> Any:
    return "balanced"


def _margin_loss(rng: Rng) -> Any:
    name = str(rng.choice(CONVEX)) if rng.random() < 0.75 else str(rng.choice(losses.available()))
    made: dict[str, Callable[[], losses.Loss]] = {
        "huberized_hinge": lambda: losses.HuberizedHinge(delta=float(rng.uniform(0.2, 4))),
        "coherence": lambda: losses.Coherence(
            temperature=float(10 ** rng.uniform(-1, 1)), cost=float(rng.uniform(0, 2))
        ),
        "balanced_hinge": lambda: losses.BalancedHinge(balance=float(rng.uniform(0, 3))),
        "exponential": lambda: losses.Exponential(rate=float(rng.uniform(0.3, 2))),
    }
    return made[name]() if name in made and rng.random() < 0.5 else name


def _penalty(rng: Rng) -> Any:
    name = str(rng.choice(["scad", "mcp", "adaptive_l1"]))
    return penalties.get(name, l1_ratio=1.0) if rng.random() < 0.3 else name


def own_kernel(a: Any, b: Any) -> float:
    """A similarity of two rows, positive definite and bounded."""
    a, b = (row.toarray() if hasattr(row, "toarray") else row for row in (a, b))
    a, b = np.ravel(np.asarray(a, dtype=float)), np.ravel(np.asarray(b, dtype=float))
    size = max(1.0, float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    a, b, one = a / size, b / size, size**-2
    return float((one + a @ b) / (np.sqrt(one + a @ a) * np.sqrt(one + b @ b)))


VALID: dict[str, Draw] = {
    "C": _power(-3, 3),
    "l1_ratio": _choice(0.0, 1.0, 0.5, 0.01, 0.99),
    "penalty": _penalty,
    "kernel": _choice("rbf", "rbf", "linear", "poly", "poly", "matern", "laplacian", own_kernel),
    "gamma": _choice("scale", "median", "mean", 0.1, 1.0, 10.0, 1e-3, 1e-8, 1e6),
    "degree": _choice(1, 2, 3, 5),
    "coef0": _choice(0.0, 1.0, 0.5),
    "n_components": _choice(1, 2, 5, 20, 1000, "auto"),
    "fit_intercept": _choice(False),
    "positive": _choice(True),
    "class_weight": _class_weight,
    "tol": _power(-9, -1),
    "max_iter": _choice(1, 3, 50, 20_000),
    "random_state": _choice(0, 1),
    "n_init": _choice(1, 2, 3),
    "init": _choice("base", "zero"),
    "sigma": _power(-1, 1.5),
    "level": _power(-0.3, 1),
    "scheme": _choice(1, 2, 3, None),
    "balance": _choice(0.0, 0.5, 2.0, 10.0, np.inf),
    "mix": _choice(0.0, 0.25, 0.75, 1.0),
    "penalize_intercept": _choice(True),
    "temperature": _power(-1, 1),
    "cost": _choice(0.0, 0.5, 2.0),
    "probability": _choice("auto", False),
    "n_weights": _choice(1, 2, 5, 15),
    "n_rules": _choice(1, 2, 5, 20),
    "max_literals": _choice(1, 2, 3),
    "update": _choice("corrective", "single", "cyclic"),
    "search": _choice("beam", "exact", "exhaustive"),
    "beam": _choice(2, 8),
    "effort": _choice("fast"),
    "interpretable": _choice(False, True),
    "time_limit": _choice(None, 5.0),
    "max_bins": _choice(2, 3, 16, 256),
    "learning_rate": _choice(0.1, 0.5, 1.0),
    "smoothing": _choice("auto", 0.0, 0.5, 5.0),
    "l1": _choice(0.0, 0.1, 2.0, 100.0),
    "early_stopping": _choice(True),
    "rescale": _choice("waterfill"),
    "Cs": _choice(3, 10),
    "rule": _choice("best", "one_se"),
    "n_draws": _choice(3),
    "smooth_targets": _choice(True, False),
}

OWN: dict[tuple[str, str], Draw] = {
    ("MarginClassifier", "loss"): _margin_loss,
    ("MarginClassifier", "n_components"): VALID["n_components"],
    ("AdditiveKernelClassifier", "loss"): _choice("logistic", "squared_hinge", "coherence", "welsch"),
    ("AdditiveKernelClassifier", "interactions"): _choice(True, False),
    ("RobustSVC", "loss"): lambda rng: str(rng.choice(ROBUST)),
    ("RobustSVC", "probability"): _choice("auto", False, "calibrated"),
    ("RobustSVC", "shape"): _choice(-2.0, 0.0, 1.0),
    ("CompositeMarginClassifier", "loss"): _choice("logistic", "exponential", "coherence"),
    ("TruncatedSoftmaxClassifier", "level"): _choice(np.inf, np.inf, 0.5, 2.0),
    ("RuleBoostClassifier", "loss"): _choice("logistic", "exponential", "modified_huber"),
    ("RuleBoostClassifier", "criterion"): _choice("edge", "exact"),
    ("RuleBoostClassifier", "learner"): _choice("trees", "trees", "given"),
    ("ProbabilisticSVC", "method"): _choice("svm", "psi"),
    ("ProbabilisticSVC", "engine"): _choice("grid", "path"),
    ("MulticategorySVC", "method"): _choice(
        "weston_watkins", "crammer_singer", "lee_lin_wahba", "reinforced", "bounded"
    ),
    ("CompositeLeastSquaresClassifier", "mix"): _choice(0.0, 0.3, 1.0, "auto"),
    ("CompositeLeastSquaresClassifier", "C"): lambda rng: "auto" if rng.random() < 0.3 else VALID["C"](rng),
    ("ScoreCalibrator", "method"): _choice("platt", "sollich", "coherence"),
    ("ScoreCalibrator", "cost"): _choice(1.0, 0.0, "fit"),
    ("ScoreCalibrator", "cv"): _choice(2, 3),
    ("TunedClassifier", "criterion"): _choice("auto", "alo", "cv", "holdout", "aic", "bic", "gacv", "egacv"),
    ("TunedClassifier", "scoring"): _choice("auto", "loss", "log_loss", "brier", "error", "soft_error"),
    ("TunedClassifier", "grid"): _choice("auto", 3, {"C": [0.1, 1.0]}, {"C": [0.1, 1.0, 10.0], "l1_ratio": [0.0, 0.5]}),
    ("TunedClassifier", "cv"): _choice(2, 3),
}

_POSITIVE: tuple[Any, ...] = (0.0, -1.0, np.nan, np.inf, "x", None, [1.0], (), 1j)
_SHARE: tuple[Any, ...] = (-0.1, 1.5, np.nan, "x", None, [0.5])
_COUNT: tuple[Any, ...] = (0, -1, 2.5, "x", None, np.nan)
_NAME: tuple[Any, ...] = ("no such thing", 3, 1.5, object(), ["x"], lambda x: x)
_FLAG: tuple[Any, ...] = ("yes", 3.7, [True])
INVALID: dict[str, tuple[Any, ...]] = {
    "C": _POSITIVE,
    "l1_ratio": _SHARE,
    "penalty": _NAME,
    "kernel": ("no such kernel", 3, ["rbf"]),
    "gamma": (-1.0, np.nan, "x", None, [1.0]),
    "degree": (-1, "x", np.nan, None),
    "coef0": ("x", np.nan, None),
    "n_components": (0, -3, 2.5, "x"),
    "fit_intercept": _FLAG,
    "positive": _FLAG,
    "class_weight": ("x", 3.0, {"no such class": 1.0}, {0: -1.0, 1: 1.0}, {0: np.nan, 1: 1.0}, {0: np.inf, 1: 1.0}),
    "tol": (0.0, -1.0, np.nan, "x", None),
    "max_iter": _COUNT,
    "n_init": _COUNT,
    "init": _NAME,
    "sigma": (0.0, -1.0, np.nan, "x", None),
    "level": (-1.0, np.nan, "x"),
    "scheme": (0, 4, "x"),
    "balance": (-1.0, np.nan, "x", None),
    "mix": _SHARE,
    "penalize_intercept": _FLAG,
    "temperature": (0.0, -1.0, np.nan, "x", None),
    "probability": ("x", 3.5),
    "solver": _NAME,
    "loss": ("no such loss", 3, 1.5, ["logistic", 3]),
    "method": _NAME,
    "engine": _NAME,
    "n_weights": (0, -1, 2.5, "x"),
    "n_rules": (-1, 2.5, "x"),
    "max_literals": _COUNT,
    "update": _NAME,
    "search": _NAME,
    "learner": _NAME,
    "beam": (0, 1, -1, "x", None),
    "max_bins": (0, 1, 1000, "x", None),
    "learning_rate": (0.0, -1.0, np.nan, "x"),
    "smoothing": (-1.0, np.nan, "x", None),
    "l1": (-1.0, np.nan, "x", None),
    "validation_fraction": (-0.1, 0.0, 1.0, "x"),
    "n_iter_no_change": (0, -1, "x", None),
    "rescale": _NAME,
    "criterion": _NAME,
    "scoring": _NAME,
    "rule": _NAME,
    "cv": (0, 1, -2, "x", 2.5),
    "grid": (0, -1, "x", 2.5, {"no_such_parameter": [1]}, {"C": []}, []),
    "n_draws": _COUNT,
    "tau": (0.0, -1.0, np.nan, "x"),
    "perturbation": _NAME,
    "cost": (-1.0, np.nan, "x", None),
    "effort": _NAME,
    "time_limit": (0.0, -1.0, np.nan, "x"),
    "temperature_bounds": ((1.0,), (2.0, 1.0), (-1.0, 1.0), "x"),
}


def knows(name: str, parameter: str) -> bool:
    """Whether the fuzzer varies this parameter of this class."""
    return (name, parameter) in OWN or parameter in VALID


def draw_parameters(rng: Rng, name: str, known: list[str]) -> dict[str, Any]:
    """Zero to five parameters off their defaults; a kernel as often as not where there can be one."""
    able = [key for key in known if knows(name, key) and key != "kernel"]
    chosen = [str(key) for key in rng.permutation(able)[: rng.choice([0, 1, 1, 2, 2, 3, 5])]]
    if "kernel" in known and rng.random() < 0.4:
        chosen.append("kernel")
    return {key: (OWN.get((name, key)) or VALID[key])(rng) for key in chosen}


def draw_invalid(rng: Rng, defaults: dict[str, Any]) -> dict[str, Any]:
    """One parameter at a value that must be refused by name; None is no such value where it is the default."""
    able = [key for key in defaults if key in INVALID]
    key = str(rng.choice(able))
    values = [value for value in INVALID[key] if value is not None or defaults[key] is not None]
    return {key: values[rng.integers(len(values))]}
