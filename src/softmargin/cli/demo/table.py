"""Section: the line to start with, on a table as people have it."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from softmargin import AutoClassifier, report
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage

__all__ = ["SECTION"]


def untidy(table: Any, seed: int) -> Any:
    """The measurements in their own units, one cell in twenty missing, one column in words, one that says nothing."""
    rng = np.random.default_rng(seed)
    table = table.mask(rng.random(table.shape) < 0.05)
    sizes = np.digitize(table.pop("mean area").fillna(500), [400, 700])
    return table.assign(area=np.array(["small", "medium", "large"])[sizes], unit="mm")


def fit(table: Any, y: Any) -> AutoClassifier:
    return AutoClassifier(effort="fast").fit(table, y)


def show(stage: Stage) -> None:
    data = patients()
    train, test = untidy(data.table, 0), untidy(data.table_test, 1)
    model = fit(train, data.clean)
    board = model.leaderboard_
    stage.table(
        "machines judged by training rows left out; the answer is their likeliest mixture",
        ["machine", "log loss", "error", "weight in the answer"],
        board[["machine", "log_loss", "error", "weight"]].to_numpy().tolist(),
    )
    codes = {
        name: table.drop(columns=["area", "unit"]).to_numpy() for name, table in (("train", train), ("test", test))
    }
    peer = HistGradientBoostingClassifier(random_state=0).fit(codes["train"], data.clean)
    numbers = report.build(
        model,
        test,
        data.y_test,
        stage.output / "report.html",
        title="Benign or malignant",
        baselines={"gradient boosting": peer.predict_proba(codes["test"])},
    )
    rows = [
        [name, scores["log_loss"]["estimate"], scores["error"]["estimate"], scores["auc"]["estimate"]]
        for name, scores in numbers["scores"].items()
    ]
    stage.table("on 190 new rows", ["classifier", "log loss", "error", "AUC"], rows)
    stage.text("\n".join(model.describe().splitlines()[-6:]), "What the answer is made of.")
    stage.link("report.html", "The report: scores with intervals, reliability, what a threshold costs, doubtful labels")
    stage.code(untidy, fit)


SECTION = Section(
    "table",
    5,
    "From a raw table to a decision",
    "Gaps, words and other units are read as they are; machines are judged by rows they have not seen and mixed.",
    show,
)
