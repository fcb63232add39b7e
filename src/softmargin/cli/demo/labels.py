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
        "Left: trust in the flipped and in the other labels. Right: how many correct labels a reviewer checks in vain, "
        "least trusted first, until most of the flipped ones are found; the further left the better.",
    )
    stage.code(judges, audit)


def _picture(reports: dict[str, Any]) -> Any:
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(11.5, 4.1), layout="constrained")
    _trust(left, reports["logistic"])
    _vain(right, reports)
    return figure


def _trust(ax: Any, report: Any) -> None:
    """Shares of each group, so that the few flipped labels are seen beside the many others."""
    hit = patients().wrong[report["row"]]
    for number, (name, group) in enumerate({"as recorded": ~hit, "flipped": hit}.items()):
        share = np.full(group.sum(), 1 / group.sum())
        look = {"color": ("#9aa5b1", class_colour(1))[number], "alpha": 0.75, "label": f"{name} ({group.sum()} rows)"}
        ax.hist(report["trust"][group], bins=20, range=(0, 1), weights=share, **look)
    clean(ax).set(xlabel="trust in the label", ylabel="share of the group")
    ax.legend(frameon=False, fontsize=9, loc="upper center")


def _vain(ax: Any, reports: dict[str, Any]) -> None:
    """Correct labels checked in vain until most of the flipped ones are found, judge by judge."""
    data = patients()
    places = np.arange(len(reports))[::-1]
    for number, share in enumerate((0.8, 0.9, 0.95)):
        wanted = int(np.ceil(share * data.wrong.sum()))
        vain = [
            int(np.flatnonzero(np.cumsum(data.wrong[one["row"]]) >= wanted)[0]) + 1 - wanted for one in reports.values()
        ]
        ax.plot(vain, places, "o", ms=9 - 2 * number, color=class_colour(number), label=f"{share:.0%} of them found")
    clean(ax).set_yticks(places, list(reports), fontsize=9)
    ax.grid(axis="y", color=INK, alpha=0.12)
    ax.set(xlabel="correct labels checked in vain", xlim=(-1, None), ylim=(-0.6, len(reports) - 0.2))
    ax.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


SECTION = Section(
    "labels",
    30,
    "Finding the wrong labels",
    "Each label is judged by models that never saw its row. The labels trusted least are the ones to look at first.",
    show,
)
