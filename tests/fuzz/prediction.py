"""Rows that a fitted model is asked about: its rows in other forms are answered alike, what is no such row refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

from .data import Rng
from .faults import Fault, Refusal, judged
from .oracles import near, scores_of

__all__ = ["check_prediction"]

METHODS = ("predict", "decision_function", "predict_proba")
SAME: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda X: X.tolist(),
    "object": lambda X: X.astype(object),
    "Fortran order": np.asfortranarray,
    "read backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
}
BAD: dict[str, Callable[[np.ndarray], Any]] = {
    "a column less": lambda X: X[:, 1:] if X.shape[1] > 1 else X[:, :0],
    "a column more": lambda X: np.column_stack([X, X[:, 0]]),
    "one dimension": lambda X: X[0],
    "three dimensions": lambda X: X[:, :, None],
    "no rows": lambda X: X[:0],
    "words": lambda X: np.full(X.shape, "word", dtype=object),
    "complex": lambda X: X + 1j,
    "infinite": lambda X: np.where(np.arange(X.shape[1]) == 0, np.inf, X),
    "None": lambda X: None,
    "a number": lambda X: 3.0,
    "sparse with a column less": lambda X: sparse.csr_array(X[:, 1:]),
}


def check_prediction(rng: Rng, model: Any, X: np.ndarray, y: np.ndarray) -> None:
    """Ask before the fit, ask for the rows in another form, ask about what is no row."""
    method = str(rng.choice(METHODS))
    _before_fit(model, method, X)
    with judged():
        model.fit(X, y)
    form = str(rng.choice(list(SAME)))
    near(scores_of(model, X), scores_of(model, SAME[form](X)), 1e-9, f"rows as {form} are scored differently")
    if get_tags(model).input_tags.sparse and not callable(model.get_params().get("kernel")):
        near(scores_of(model, X), scores_of(model, sparse.csc_array(X)), 1e-6, "sparse rows are scored differently")
    if not hasattr(model, method):
        return
    bad = str(rng.choice(list(BAD)))
    try:
        with judged():
            getattr(model, method)(BAD[bad](X))
    except Refusal:
        return
    raise Fault("no row, and answered", f"{method} of {bad}")


def _before_fit(model: Any, method: str, X: np.ndarray) -> None:
    if not hasattr(model, method):
        return
    try:
        with judged():
            getattr(model, method)(X)
    except Refusal as refusal:
        if isinstance(refusal.error, NotFittedError):
            return
        raise Fault("not fitted, and not said", str(refusal)) from refusal
    raise Fault("not fitted, and answered", method)
