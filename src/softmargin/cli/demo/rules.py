"""Section: ten rules a doctor could read."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin import RuleBoostClassifier, losses
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.plots import INK, SOFT, class_colour, clean, pyplot

__all__ = ["SECTION"]


def fit() -> RuleBoostClassifier:
    data = patients()
    return RuleBoostClassifier(loss="logistic", n_rules=10, max_literals=2, max_bins=8).fit(data.table, data.clean)


def show(stage: Stage) -> None:
    data, model = patients(), fit()
    table = model.rules_.sort_values("points", key=np.abs, ascending=False)
    columns = ["rule", "points for malignant", "speaks for", "covers", "precision"]
    rows = [
        [row.text, round(row.points, 2), row["class"], f"{row.support:.0%}", f"{row.precision:.0%}"]
        for _, row in table.iterrows()
    ]
    stage.table("ten rules from the true labels, thresholds at the octiles of each measurement", columns, rows)
    stage.note(
        "A patient's score is a baseline plus the points of the rules that hold; the logistic function makes it a "
        "probability."
    )
    accuracy = [
        [repr(losses.get(name)), *(_accuracy(name, labels) for labels in (data.clean, data.y))]
        for name in ("logistic", "exponential", "modified_huber")
    ]
    columns = ["loss", "trained on true labels", "with 15% wrong"]
    stage.table("accuracy of ten rules on clean test labels: boosting suffers from wrong labels", columns, accuracy)
    unsure = int(np.argmin(np.abs(model.decision_function(data.table_test))))
    reasons = model.explain(data.table_test.iloc[[unsure]])
    probability = model.predict_proba(data.table_test.iloc[[unsure]])[0, 1]
    stage.table(
        f"why the least certain test patient has a probability of {probability:.0%} of being {model.classes_[1]} "
        f"(truth: {data.y_test[unsure]})",
        ["rule that holds", "points"],
        [[row.rule, round(row.contribution, 2)] for row in reasons.itertuples()],
    )
    stage.picture("points", _picture(model, table), "What each rule adds to the score, and accuracy rule by rule.")
    stage.code(fit)


def _accuracy(loss: str, labels: np.ndarray) -> float:
    data = patients()
    return fit().set_params(loss=loss).fit(data.table, labels).score(data.table_test, data.y_test)


def _picture(model: RuleBoostClassifier, table: Any) -> Any:
    data = patients()
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(12.5, 4.3), layout="constrained", width_ratios=[1.7, 1])
    points = table["points"].to_numpy()[::-1]
    left.barh(np.arange(len(points)), points, color=[class_colour(int(p > 0)) for p in points], height=0.62)
    left.set_yticks(np.arange(len(points)), table["text"].to_numpy()[::-1], fontsize=8.5)
    left.axvline(0, color=INK, lw=0.8)
    left.set(xlabel=f"points  ({model.classes_[0]} \N{LEFTWARDS ARROW}   \N{RIGHTWARDS ARROW} {model.classes_[1]})")
    stages = list(model.staged_decision_function(data.table_test))
    accuracy = [(model.classes_[(f > 0).astype(int)] == data.y_test).mean() for f in stages]
    right.plot(np.arange(len(accuracy)), accuracy, "o-", color=INK, lw=1.5, ms=4)
    right.axhline((data.y_test == "benign").mean(), color=SOFT, lw=0.9, ls="--")
    right.annotate(
        "always benign",
        (len(accuracy) - 1, (data.y_test == "benign").mean()),
        color=SOFT,
        fontsize=8.5,
        ha="right",
        va="bottom",
    )
    right.set(xlabel="rules", ylabel="accuracy on clean test labels")
    clean(left).spines["left"].set_visible(False)
    left.tick_params(axis="y", length=0)
    clean(right)
    return figure


SECTION = Section(
    "rules",
    60,
    "Ten rules a doctor could read",
    "Rule boosting fits short conjunctions of thresholds for any calibrated loss and reads as a scorecard.",
    show,
)
