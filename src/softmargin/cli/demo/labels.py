"""Section: finding the wrong labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from softmargin import MarginClassifier, RobustSVC, TruncatedLogisticRegression, audit_labels
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.plots import INK, class_colour, clean, pyplot

__all__ = ["SECTION"]


def judges() -> dict[str, Any]:
    alone = {
        "logistic": MarginClassifier(loss="logistic", C=0.02),
        "RobustSVC, Welsch": RobustSVC(loss="welsch", sigma=1.5, C=0.02),
        "truncated logistic": TruncatedLogisticRegression(C=0.02),
        "logistic, rbf kernel": MarginClassifier(loss="logistic", C=0.5, kernel="rbf"),
    }
    return alone | {"all four, a panel": list(alone.values())}


def audit(judge: Any) -> Any:
    data = patients()
    return audit_labels(judge, data.X, data.y, n_repeats=3, random_state=0)


def show(stage: Stage) -> None:
    data = patients()
    reports = {name: audit(judge) for name, judge in judges().items()}
    checks = sorted({10, 20, 40, int(data.wrong.sum()), 80})
    rows = []
    for name, report in reports.items():
        hit = data.wrong[report["row"]]
        found = [f"{hit[:k].mean():.0%} / {hit[:k].sum() / data.wrong.sum():.0%}" for k in checks]
        rows.append([name, roc_auc_score(hit, -report["trust"]), *found])
    columns = ["judged by", "AUC", *(f"first {k}" for k in checks)]
    caption = (
        f"precision / recall among the least trusted rows; {data.wrong.sum()} of {len(data.y)} labels were flipped"
    )
    stage.table(caption, columns, rows)
    report = reports["logistic"]
    lines = [
        [row.row, row.given, row.suggested, row.trust, "flipped" if data.wrong[row.row] else "as recorded"]
        for row in report.head(8).itertuples()
    ]
    stage.table("the audit's first suspects", ["row", "given", "suggested", "trust", "truth"], lines)
    rates = report.attrs["noise_rate"].items()
    columns = ["class", "estimate", "95% from", "to"]
    lines = [[str(name), rate["estimate"], rate["low"], rate["high"]] for name, rate in rates]
    stage.table("estimated share of each class that carries another label (truth: 15%)", columns, lines)
    stage.picture(
        "trust",
        _picture(reports),
        "Left: trust in the flipped and in the other labels. Right: flipped labels found against correct labels "
        "checked in vain, least trusted first; the nearer to the upper left corner the better.",
    )
    stage.code(judges, audit)


def _picture(reports: dict[str, Any]) -> Any:
    data = patients()
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(11.5, 4.1), layout="constrained")
    report = reports["logistic"]
    hit = data.wrong[report["row"]]
    groups = [report["trust"][~hit], report["trust"][hit]]
    left.hist(
        groups,
        bins=25,
        range=(0, 1),
        stacked=True,
        color=["#cbd2d9", class_colour(1)],
        label=["as recorded", "flipped"],
    )
    clean(left).set(xlabel="trust in the label", ylabel="rows")
    left.legend(frameon=False, fontsize=9, loc="upper left")
    total = int(data.wrong.sum())
    styles = ("-", "--", "-.", ":", "-")
    for number, (name, table) in enumerate(reports.items()):
        hit = data.wrong[table["row"]]
        found, in_vain = np.cumsum(hit), np.cumsum(~hit)
        shift = 0.12 * (number - 2)  # so that lines on the same steps stay visible
        right.step(
            in_vain, found + shift, where="post", color=class_colour(number), ls=styles[number], lw=1.7, label=name
        )
    right.axhline(total, color=INK, lw=0.9)
    right.annotate(f"all {total}", (0.2, total), xytext=(0, 3), textcoords="offset points", fontsize=8.5, color=INK)
    clean(right).set(xlabel="correct labels checked in vain", ylabel="flipped labels found")
    right.set(xlim=(0, 40), ylim=(total - 17, total + 1.2), yticks=range(total - 15, total + 1, 5))
    right.legend(frameon=False, fontsize=8.5, loc="lower right")
    return figure


SECTION = Section(
    "labels",
    30,
    "Finding the wrong labels",
    "Each label is judged by models that never saw its row. The labels trusted least are the ones to look at first.",
    show,
)
