"""``softmargin compare``: two fits judged on the rows that both held out.

Differences are taken row by row, which removes what is hard about a row for both: the mean difference of the log loss
with its interval (normal, over rows), and the exact test of McNemar on the rows that one of them gets right.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest, norm

from softmargin.cli._read import BadInput

__all__ = ["compare_fits"]

_LEVEL = 0.95


def compare_fits(first: Path, second: Path) -> dict[str, Any]:
    """Scores of both on their common rows, and the paired differences, second minus first."""
    one, two = _held_out(first), _held_out(second)
    common = one.index.intersection(two.index)
    if len(common) < 2:
        raise BadInput(f"{first} and {second} held out no common rows; fit both with the same --seed or --test file.")
    one, two = one.loc[common], two.loc[common]
    target = one.columns[0]
    if two.columns[0] != target or not (one[target].astype(str) == two[target].astype(str)).all():
        raise BadInput(f"{first} and {second} do not have the same labels; compare fits of one target.")
    costs = [_log_loss(frame, target) for frame in (one, two)]
    wrong = [(frame["predicted"].astype(str) != frame[target].astype(str)).to_numpy() for frame in (one, two)]
    only_first, only_second = int((wrong[0] & ~wrong[1]).sum()), int((wrong[1] & ~wrong[0]).sum())
    test = binomtest(only_second, only_first + only_second).pvalue if only_first + only_second else 1.0
    return {
        "rows": len(common),
        "log_loss": {"first": float(costs[0].mean()), "second": float(costs[1].mean()), **_paired(costs[1] - costs[0])},
        "error": {
            "first": float(wrong[0].mean()),
            "second": float(wrong[1].mean()),
            **_paired(wrong[1].astype(float) - wrong[0]),
            "only_first_wrong": only_first,
            "only_second_wrong": only_second,
            "p_value_exact": float(test),
        },
    }


def _held_out(folder: Path) -> Any:
    import pandas as pd

    path = folder / "predictions.parquet"
    if not path.is_file():
        raise BadInput(f"{folder} holds no predictions.parquet; give directories written by 'softmargin fit'.")
    frame = pd.read_parquet(path).set_index("row")
    return frame.iloc[:, list(frame.columns).index("predicted") - 1 :]  # the target stands before it, p(...) after it


def _log_loss(frame: Any, target: str) -> np.ndarray:
    columns = list(frame.columns[2:])
    place = {name[2:-1]: j for j, name in enumerate(columns)}
    given = frame[target].astype(str).map(place)
    P = frame[columns].to_numpy(dtype=np.float64)
    own = P[np.arange(len(P)), given.to_numpy(dtype=int)]
    return -np.log(np.maximum(own, np.finfo(float).tiny))


def _paired(difference: np.ndarray) -> dict[str, float]:
    mean, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
    width = float(norm.ppf((1 + _LEVEL) / 2)) * error
    p_value = float(2 * norm.sf(abs(mean) / error)) if error > 0 else 1.0
    return {"difference": mean, "low": mean - width, "high": mean + width, "p_value": p_value}
