"""Section: choosing C without a test set."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from softmargin import MarginClassifier, TunedClassifier
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.paths import margin_path
from softmargin.plots import INK, class_colour, clean, pyplot
from softmargin.probability import comparative_gkl, cross_entropy

__all__ = ["SECTION"]

CRITERIA = {
    "alo": "approximate leave-one-out",
    "gacv": "generalised approximate CV",
    "cv": "5 folds",
    "gkl": "covariance penalty",
}


def tune(criterion: str) -> TunedClassifier:
    data = patients()
    model = MarginClassifier(loss="logistic")
    return TunedClassifier(model, criterion=criterion, n_draws=10, random_state=0).fit(data.X, data.y)


def show(stage: Stage) -> None:
    data, rows, tuned = patients(), [], {}
    for criterion, name in CRITERIA.items():
        start = time.perf_counter()
        tuned[criterion] = model = tune(criterion)
        seconds = time.perf_counter() - start
        p = model.predict_proba(data.X_test)[:, 1]
        loss = cross_entropy(data.y_test == model.classes_[1], p)
        rows.append([name, model.best_params_["C"], model.score(data.X_test, data.y_test), loss, f"{seconds:.2f}s"])
    columns = ["judged by", "C chosen", "test accuracy", "test log loss", "time"]
    stage.table("logistic loss, 30 values of C, judged on 379 training rows with 15% wrong labels", columns, rows)
    stage.picture(
        "criteria",
        _picture(tuned),
        "Each criterion sees the training rows only, wrong labels included; dots are its choices. Dashed: log loss on "
        "new rows whose labels are wrong as often. Right: how far each criterion is from it.",
    )
    stage.code(tune)


def _picture(tuned: dict[str, TunedClassifier]) -> Any:
    data = patients()
    Cs = np.sort(tuned["alo"].results_["C"])
    path = margin_path(data.X, data.y, Cs=Cs, l1_ratio=0.0)
    p = 1 / (1 + np.exp(-path.decision_function(data.X_test)))
    target = np.where(data.y_test == path.classes[1], 0.85, 0.15)
    truth = np.array([comparative_gkl(target, column) for column in p.T])
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(12, 4.2), layout="constrained", sharex=True)
    for number, (criterion, model) in enumerate(tuned.items()):
        table = model.results_.sort_values("C")
        colour, values = class_colour(number), table[criterion].to_numpy()
        left.plot(table["C"], values, color=colour, lw=1.6, label=CRITERIA[criterion])
        left.plot(model.best_params_["C"], model.best_score_, "o", color=colour, ms=6, mec="white", zorder=4)
        right.plot(table["C"], values - np.interp(table["C"], Cs, truth), color=colour, lw=1.6)
    left.plot(Cs, truth, color=INK, lw=1.3, ls="--", label="on new rows")
    right.axhline(0, color=INK, lw=1.3, ls="--")
    shown = Cs > 1e-3  # below, all of them say the same: too little is learnt
    clean(left).set(xscale="log", xlabel="C", ylabel="log loss")
    left.set(xlim=(1e-3, Cs[-1] * 1.1), ylim=(truth[shown].min() - 0.03, truth[shown].max() + 0.03))
    clean(right).set(xlabel="C", ylabel="criterion - log loss on new rows", ylim=(-0.04, 0.04))
    left.legend(frameon=False, fontsize=8.5, loc="upper center")
    return figure


SECTION = Section(
    "tuning",
    70,
    "Tuning without a test set",
    "One fit and its influences tell how each row would be scored without itself, so training rows can choose C.",
    show,
)
