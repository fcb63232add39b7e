"""Every number of a report, as plain lists and dictionaries (``schema`` 1).

| key | what it holds |
| --- | --- |
| ``data`` | rows, classes and their counts, columns with their kinds |
| ``scores`` | log loss, error, Brier score and AUC of the model and of baselines: estimate, low, high |
| ``reliability`` | stated probability and frequency in ten groups of equal size, and a test without groups |
| ``thresholds`` | true and false positives at every threshold of a grid, for two classes |
| ``confusion`` | rows by true and predicted class |
| ``columns`` | how much the log loss rises when a column is shuffled |
| ``suspects`` | the rows whose given label is least probable |
| ``made`` | versions, time |
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

__all__ = ["summarise"]

Array = NDArray[np.floating[Any]]

_DRAWS = 200
_LEVEL = 0.95
_GRID = 200
_SUSPECTS = 300
_SHUFFLED_ROWS = 2000
_MOST_COLUMNS = 60


def summarise(
    model: Any, X: Any, y: Any, *, baselines: Mapping[str, Array] | None = None, random_state: int = 0
) -> dict[str, Any]:
    """The numbers of a report about a fitted classifier, from rows it has not seen.

    Parameters
    ----------
    model : fitted classifier with ``predict_proba``
    X, y : rows and labels that were not used to fit
    baselines : dict of str to array of shape (n, k), optional
        Probabilities of the same rows by other classifiers.
    random_state : int
        Of bootstrap draws and shuffled columns.
    """
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"model must have predict_proba; {type(model).__name__} has none. Wrap it in ScoreCalibrator first."
        )
    y = np.asarray(y)
    classes = np.asarray(model.classes_)
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(f"y holds {unknown[0]!r}, which is none of the model's classes {classes[:10].tolist()}.")
    codes = np.searchsorted(classes, y)
    P = np.asarray(model.predict_proba(X), dtype=np.float64)
    rng = np.random.default_rng(random_state)
    named = {type(model).__name__: P, **(baselines or {})}
    return {
        "schema": 1,
        "data": _data(model, X, codes, classes),
        "scores": {name: _scores(probability, codes, rng) for name, probability in named.items()},
        "reliability": _reliability(P, codes),
        "thresholds": _thresholds(P[:, 1], codes) if len(classes) == 2 else None,
        "confusion": _confusion(P, codes, len(classes)),
        "columns": _columns(model, X, codes, rng),
        "suspects": _suspects(P, codes, classes, X),
        "made": _made(),
    }


def _data(model: Any, X: Any, codes: NDArray[np.intp], classes: NDArray[Any]) -> dict[str, Any]:
    counts = np.bincount(codes, minlength=len(classes))
    decisions = getattr(getattr(model, "encoder_", None), "decisions", [])
    return {
        "rows": len(codes),
        "n_columns": int(X.shape[1]),
        "classes": [str(label) for label in classes],
        "counts": counts.tolist(),
        "columns": [{"name": d.name, "kind": d.kind, "reason": d.reason} for d in decisions],
        "mixture": dict(getattr(model, "mixture_", {})),
    }


def _row_losses(P: Array, codes: NDArray[np.intp]) -> dict[str, Array]:
    own = np.maximum(P[np.arange(len(codes)), codes], 1e-15)
    indicator = np.eye(P.shape[1])[codes]
    return {
        "log_loss": -np.log(own),
        "error": (P.argmax(axis=1) != codes).astype(float),
        "brier": np.square(P - indicator).sum(axis=1),
    }


def _scores(P: Array, codes: NDArray[np.intp], rng: np.random.Generator) -> dict[str, dict[str, float]]:
    """Means with normal intervals; the AUC with its bootstrap."""
    z = float(ndtri(0.5 + _LEVEL / 2))
    found = {}
    for name, losses in _row_losses(P, codes).items():
        reach = z * float(losses.std(ddof=1)) / np.sqrt(len(losses)) if len(losses) > 1 else float("nan")
        mean = float(losses.mean())
        found[name] = {"estimate": mean, "low": max(mean - reach, 0.0), "high": mean + reach}
    found["auc"] = _auc(P, codes, rng)
    return found


def _auc(P: Array, codes: NDArray[np.intp], rng: np.random.Generator) -> dict[str, float]:
    def one(rows: NDArray[np.intp]) -> float:
        seen = np.unique(codes[rows])
        if len(seen) < P.shape[1]:
            return float("nan")
        if P.shape[1] == 2:
            return float(roc_auc_score(codes[rows], P[rows, 1]))
        return float(roc_auc_score(codes[rows], P[rows] / P[rows].sum(axis=1, keepdims=True), multi_class="ovr"))

    every = np.arange(len(codes))
    few = every if len(every) <= 20_000 else rng.choice(every, 20_000, replace=False)
    draws = [one(rng.choice(few, len(few))) for _ in range(_DRAWS if len(few) < 5000 else _DRAWS // 4)]
    low, high = (
        np.nanquantile(draws, [0.5 - _LEVEL / 2, 0.5 + _LEVEL / 2]) if np.isfinite(draws).any() else (np.nan,) * 2
    )
    return {"estimate": one(few), "low": float(low), "high": float(high)}


def _reliability(P: Array, codes: NDArray[np.intp]) -> dict[str, Any]:
    """Groups of equal size by the probability stated for the predicted class (two classes: for the second)."""
    if P.shape[1] == 2:
        stated, happened = P[:, 1], codes == 1
    else:
        stated, happened = P.max(axis=1), P.argmax(axis=1) == codes
    order = np.argsort(stated, kind="stable")
    z = float(ndtri(0.5 + _LEVEL / 2))
    groups = []
    for part in np.array_split(order, min(10, max(len(order) // 10, 1))):
        size, share = len(part), float(happened[part].mean())
        room = z * z / size
        centre = (share + room / 2) / (1 + room)
        reach = z / (1 + room) * np.sqrt(share * (1 - share) / size + room / (4 * size))
        groups.append(
            {
                "stated": float(stated[part].mean()),
                "share": share,
                "low": centre - reach,
                "high": centre + reach,
                "rows": size,
            }
        )
    # Spiegelhalter's test: with true probabilities the Brier score has this mean and variance, whatever the groups
    excess = (happened - stated) * (1 - 2 * stated)
    spread = np.sqrt(np.sum(np.square(1 - 2 * stated) * stated * (1 - stated)))
    return {"groups": groups, "z": float(excess.sum() / spread) if spread > 0 else 0.0}


def _thresholds(p: Array, codes: NDArray[np.intp]) -> dict[str, Any]:
    """Rows called positive at each threshold: those whose probability is above it."""
    grid = np.unique(np.concatenate([np.linspace(0, 1, _GRID + 1), [0.5]]))
    positive, negative = np.sort(p[codes == 1]), np.sort(p[codes == 0])
    return {
        "grid": grid.tolist(),
        "true_positive": (len(positive) - np.searchsorted(positive, grid, "right")).tolist(),
        "false_positive": (len(negative) - np.searchsorted(negative, grid, "right")).tolist(),
        "positive": len(positive),
        "negative": len(negative),
    }


def _confusion(P: Array, codes: NDArray[np.intp], k: int) -> list[list[int]]:
    table = np.zeros((k, k), dtype=np.intp)
    np.add.at(table, (codes, P.argmax(axis=1)), 1)
    return table.tolist()


def _columns(model: Any, X: Any, codes: NDArray[np.intp], rng: np.random.Generator) -> list[dict[str, Any]]:
    """The rise of the log loss when one column is shuffled, largest first."""
    if not hasattr(X, "iloc") or X.shape[1] > 4 * _MOST_COLUMNS:
        return []
    rows = np.arange(len(codes)) if len(codes) <= _SHUFFLED_ROWS else rng.choice(len(codes), _SHUFFLED_ROWS, False)
    part, own = X.iloc[rows].reset_index(drop=True), codes[rows]
    whole = float(_row_losses(model.predict_proba(part), own)["log_loss"].mean())
    order = rng.permutation(len(rows))
    found: list[dict[str, Any]] = []
    for name in part.columns:
        shuffled = part.copy()
        shuffled[name] = part[name].to_numpy()[order]
        rise = float(_row_losses(model.predict_proba(shuffled), own)["log_loss"].mean()) - whole
        found.append({"name": str(name), "rise": rise})
    return sorted(found, key=lambda item: -item["rise"])[:_MOST_COLUMNS]


def _suspects(P: Array, codes: NDArray[np.intp], classes: NDArray[Any], X: Any) -> list[dict[str, Any]]:
    """Rows whose given label is less probable than another one, least probable first."""
    own, best = P[np.arange(len(codes)), codes], P.argmax(axis=1)
    rows = np.flatnonzero(best != codes)
    rows = rows[np.argsort(own[rows], kind="stable")][:_SUSPECTS]
    return [
        {
            "row": int(row),
            "given": str(classes[codes[row]]),
            "suggested": str(classes[best[row]]),
            "trust": float(own[row]),
            "values": _shown(X, int(row)),
        }
        for row in rows
    ]


def _shown(X: Any, row: int) -> str:
    if not hasattr(X, "iloc"):
        return ""
    cells = (f"{name}={value}" for name, value in list(X.iloc[row].items())[:8])
    return ", ".join(cells)[:300]


def _made() -> dict[str, str]:
    libraries = ("softmargin", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in libraries}}
