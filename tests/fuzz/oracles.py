"""What every fitted classifier owes its user, whatever the data."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from .data import Data
from .faults import Fault, judged

__all__ = ["check_answers", "check_certified", "check_pickle", "near", "scores_of", "solutions_of"]


def scores_of(model: Any, X: Any) -> np.ndarray:
    """The scores, as an array of double precision; an error is judged."""
    with judged():
        return np.asarray(model.decision_function(X), dtype=float)


def solutions_of(model: Any) -> list[Any]:
    """The solutions of a fitted model, one per problem solved."""
    found = getattr(model, "solution_", None)
    return [] if found is None else list(found) if isinstance(found, (list, tuple)) else [found]


def check_answers(model: Any, data: Data, X: Any = None) -> None:
    """Scores finite, labels known and the best scored, probabilities proper and agreeing with the labels."""
    X = data.X if X is None else X
    with judged():
        f = np.asarray(model.decision_function(X))
        labels = np.asarray(model.predict(X))
        P = np.asarray(model.predict_proba(X)) if hasattr(model, "predict_proba") else None
    k, n = len(model.classes_), len(labels)
    if f.shape != ((n,) if k == 2 else (n, k)):
        raise Fault("shape of scores", f"decision_function has shape {f.shape} for n={n}, k={k}")
    if not np.isfinite(f).all():
        raise Fault("scores not finite", f"{np.count_nonzero(~np.isfinite(f))} of {f.size} scores are not finite")
    codes = (f > 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)
    if not np.array_equal(labels, model.classes_[codes]):
        raise Fault("predict disagrees with scores", f"{np.count_nonzero(labels != model.classes_[codes])} of {n} rows")
    if P is not None:
        _check_probabilities(P, model.classes_, labels)


def _check_probabilities(P: np.ndarray, classes: np.ndarray, labels: np.ndarray) -> None:
    if P.shape != (len(labels), len(classes)):
        raise Fault("shape of probabilities", f"predict_proba has shape {P.shape}")
    if not np.isfinite(P).all() or P.min(initial=0) < 0 or P.max(initial=0) > 1:
        raise Fault("probabilities not in [0, 1]", f"from {P.min()} to {P.max()}")
    off = np.abs(P.sum(axis=1) - 1).max(initial=0)
    if off > (1e-5 if P.dtype == np.float32 else 1e-9):
        raise Fault("probabilities do not sum to one", f"off by {off:.1e}")
    if not np.array_equal(classes[P.argmax(axis=1)], labels):
        raise Fault("predict disagrees with probabilities", f"{np.sum(classes[P.argmax(axis=1)] != labels)} rows")


def check_certified(model: Any, warned: bool, data: Data) -> None:
    """A finite gap for every solution, below ``tol`` where convergence is claimed, a warning where it is not."""
    tol = getattr(model, "tol", None)
    for solution in solutions_of(model):
        gap, converged = getattr(solution, "gap", 0.0), getattr(solution, "converged", True)
        if not np.isfinite(gap) or gap < 0:
            raise Fault("gap not finite", f"gap {gap!r}, converged {converged}")
        if not np.isfinite(solution.objective):
            raise Fault("objective not finite", f"objective {solution.objective!r}, gap {gap:.1e}")
        if converged and tol is not None and gap > tol * (1 + 1e-6):
            raise Fault("converged above tol", f"gap {gap:.2e} > tol {tol:.2e}")
        if not converged and not warned:
            raise Fault("silent failure", f"converged=False with gap {gap:.1e} and no warning")
        bounded = getattr(solution, "status", "ok") != "unbounded"  # where nothing is least, the fit says so
        if not converged and bounded and data.level == "tame" and _ordinary(model):
            raise Fault("ordinary problem not converged", f"gap {gap:.1e} > tol {tol}")


def _ordinary(model: Any) -> bool:
    """Default limits, single-digit accuracy and a cost up to 1000."""
    defaults = type(model)(**({"estimator": model.estimator} if hasattr(model, "estimator") else {})).get_params(False)
    own = model.get_params(deep=False)
    if own.get("kernel") == "poly":
        return False
    limits_kept = all(own.get(key) == defaults.get(key) for key in ("max_iter", "tol", "solver"))
    return limits_kept and not isinstance(own.get("C", 1.0), str) and own.get("C", 1.0) <= 1e3


def check_pickle(model: Any, data: Data) -> None:
    """A pickled model answers as the model does."""
    with judged():
        again = pickle.loads(pickle.dumps(model))
    near(scores_of(model, data.X), scores_of(again, data.X), 0.0, "pickled model differs")


def near(first: np.ndarray, second: np.ndarray, tolerance: float, kind: str, context: str = "") -> None:
    """Equal up to ``tolerance`` relative to the largest score (at least one)."""
    if first.shape != second.shape:
        raise Fault(kind, f"shapes {first.shape} and {second.shape} {context}")
    scale = max(1.0, float(np.abs(first).max(initial=0)))
    apart = float(np.abs(first - second).max(initial=0)) / scale
    if not apart <= tolerance:
        raise Fault(kind, f"scores differ by {apart:.1e} of their size (allowed {tolerance:.0e}) {context}")
