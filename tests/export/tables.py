"""Tables with gaps, words, truth values and awkward names, and models fitted to them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import softmargin as sm

rng = np.random.default_rng(3)
N = 160
TABLE = pd.DataFrame(
    {
        "age": rng.normal(40, 10, N).round(),
        'fa\'re "x"; --': rng.exponential(size=N),
        "sex": rng.choice(["m", "f", "o'x\\y"], N),
        "flag": rng.random(N) < 0.4,
        "port": pd.Categorical(rng.choice(list("abcdefgh"), N)),
    }
)
SIGNS = (TABLE["age"] > 42).astype(int) + (TABLE["sex"] == "f").astype(int) + TABLE["flag"].astype(int)
WORDS = np.array(["no", "it's\\so"])[(SIGNS > 1).astype(int)]
TABLE.loc[::7, "age"] = np.nan
TABLE.loc[::11, "sex"] = None
NEW = TABLE.iloc[:60]
NUMBERS = ["age", 'fa\'re "x"; --']


def _pipeline() -> Any:
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(
        make_column_transformer((numbers, NUMBERS), (words, ["sex", "port"])), sm.ScoreCalibrator(sm.BalancingSVC())
    )


MAKERS: dict[str, Callable[[], Any]] = {
    "rules": lambda: sm.RuleBoostClassifier(n_rules=10).fit(TABLE, WORDS),
    "trees": lambda: sm.RuleBoostClassifier(learner="trees", n_rules=10).fit(TABLE, WORDS),
    "auto": lambda: sm.AutoClassifier(effort="fast").fit(TABLE, WORDS),
    "pipeline": lambda: _pipeline().fit(TABLE, WORDS),
}


def feed(exported: Any, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """What an ONNX model reads of a frame: missing texts as its metadata say, missing numbers NaN, dates as days."""
    gaps = json.loads({one.key: one.value for one in exported.metadata_props}.get("missing_text", "{}"))
    found = {}
    for one in exported.graph.input:
        column = frame[one.name]
        if one.type.tensor_type.elem_type == 8:
            words = [gaps.get(one.name, "") if pd.isna(value) else str(value) for value in column]
            found[one.name] = np.array(words, dtype=object)[:, None]
        else:
            if column.dtype.kind == "M":
                column = (column - pd.Timestamp(0)) / pd.Timedelta(1, "D")
            found[one.name] = column.to_numpy(dtype=np.float64)[:, None]
    return found


def rows_of(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    """The rows as plain values with None where missing, numbered."""
    return [
        (number, *(None if pd.isna(value) else getattr(value, "item", lambda value=value: value)() for value in row))
        for number, row in enumerate(frame.itertuples(index=False))
    ]
