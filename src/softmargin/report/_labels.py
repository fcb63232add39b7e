"""The label audit of a report: rows the model has not seen are judged by its probabilities of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin.inference import audit_labels
from softmargin.report._held_out import HeldOut, shorten
from softmargin.report._scores import row_losses

__all__ = ["labels"]

_SUSPECTS = 300
_MOST_CLASSES = 12
_FDR = 0.1
_SHOWN_CELLS, _SHOWN_TEXT = 8, 300


def labels(held: HeldOut) -> dict[str, Any] | None:
    """Numbers of wrong labels, noise rates, doubtful rows and what the scores are without them."""
    present = np.unique(held.codes)
    if len(present) < 2:
        return None
    P = held.P[:, present]
    P = np.where(P.sum(axis=1, keepdims=True) > 0, P, 1.0)
    audit = audit_labels(None, held.X, held.codes, probabilities=P / P.sum(axis=1, keepdims=True))
    named = [held.names[code] for code in present]
    doubted = set(audit.suspects(fdr=_FDR)["row"].tolist())
    table = audit.table
    shown = table[(table["suspect"]) | (table["row"].isin(doubted))].head(_SUSPECTS)
    number = audit.n_errors
    return {
        "n_errors": {"estimate": number.value, "low": number.low, "high": number.high},
        "n_suspects": len(doubted),
        "fdr": _FDR,
        "classes": named,
        "noise": _noise(audit) if len(present) <= _MOST_CLASSES else None,
        "health": [
            {"label": held.names[line.name], "rows": int(line.rows), "errors": float(line.errors)}
            for line in _by_class(audit).itertuples(index=False, name="Health")
        ],
        "without": _without(held, doubted),
        "suspects": [_suspect(held, line, doubted) for line in shown.to_dict("records")],
    }


def _by_class(audit: Any) -> Any:
    health = audit.health
    return health[health["slice"] == "class"][["name", "rows", "errors"]]


def _noise(audit: Any) -> dict[str, Any]:
    matrix = audit.noise_matrix
    return {
        "rate": matrix.conditional.to_numpy().tolist(),
        "low": matrix.low.to_numpy().tolist(),
        "high": matrix.high.to_numpy().tolist(),
    }


def _without(held: HeldOut, doubted: set[int]) -> dict[str, dict[str, float]]:
    """Error and log loss on all rows, and on those whose labels are not suspected."""
    kept = np.setdiff1d(np.arange(len(held)), sorted(doubted))
    losses = row_losses(held.P, held.codes)
    names = ("error", "log_loss")
    return (
        {n: {"all": float(losses[n].mean()), "kept": float(losses[n][kept].mean())} for n in names} if len(kept) else {}
    )


def _suspect(held: HeldOut, line: dict[str, Any], doubted: set[int]) -> dict[str, Any]:
    row = int(line["row"])
    return {
        "row": held.number(row),
        "given": held.names[line["given"]],
        "suggested": held.names[line["suggested"]],
        "trust": float(line["trust"]),
        "stated": float(line["left_out"]),
        "doubted": row in doubted,
        "conflict": bool(line.get("conflict", False)),
        "values": _values(held, row),
    }


def _values(held: HeldOut, row: int) -> str:
    if not hasattr(held.X, "iloc"):
        return ""
    cells = (f"{shorten(name)}={_shown(value)}" for name, value in list(held.X.iloc[row].items())[:_SHOWN_CELLS])
    return ", ".join(cells)[:_SHOWN_TEXT]


def _shown(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else shorten(value)
