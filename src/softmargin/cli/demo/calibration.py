"""Section: probabilities that mean what they say, and coefficients with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from softmargin import CoherenceClassifier, MarginClassifier, ProbabilisticSVC, ScoreCalibrator
from softmargin.cli._data import patients
from softmargin.cli._stage import Section, Stage
from softmargin.datasets import make_moons
from softmargin.inference import Inference
from softmargin.plots import INK, IntervalDisplay, ReliabilityDisplay, class_colour, clean, pyplot
from softmargin.probability import brier, calibration_error, cross_entropy

__all__ = ["SECTION"]


def classifiers() -> dict[str, Any]:
    svm = SVC(C=5.0, gamma=8.0)
    return {
        "SVC + coherence link": ScoreCalibrator(svm, method="coherence", cost="fit"),
        "SVC + ScoreCalibrator": ScoreCalibrator(svm),
        "SVC + Platt": ScoreCalibrator(svm, method="platt"),
        "ProbabilisticSVC": ProbabilisticSVC(kernel="rbf", gamma=8.0, C=5.0, n_weights=40),
        "C-learning": CoherenceClassifier(kernel="rbf", gamma=8.0, C=5.0),
        "kernel logistic": MarginClassifier(kernel="rbf", gamma=8.0, C=5.0),
        "sklearn SVC + isotonic": CalibratedClassifierCV(svm, method="isotonic", ensemble=False),
    }


def intervals() -> Inference:
    data = patients()
    table = data.table.loc[:, "mean radius":"mean fractal dimension"]
    table = (table - table.mean()) / table.std()
    return Inference(MarginClassifier(C=1.0).fit(table, data.y), table, data.y)


def show(stage: Stage) -> None:
    whole = make_moons(8400, noise=0.3, flip=0.1, random_state=0)
    X, y, truth = (part[400:] for part in whole)
    rows, stated = [], {}
    for name, model in classifiers().items():
        stated[name] = p = model.fit(whole.X[:400], whole.y[:400]).predict_proba(X)[:, 1]
        error = calibration_error(y > 0, p)
        low, high = error.interval
        quality = [cross_entropy(y > 0, np.clip(p, 1e-12, 1 - 1e-12)), brier(y > 0, p), np.abs(p - truth).mean()]
        rows.append([name, *quality, f"{error.value:.3f}", f"[{low:.3f}, {high:.3f}]"])
    rows.append(["the truth", cross_entropy(y > 0, truth), brier(y > 0, truth), 0.0, "", ""])
    columns = ["classifier", "log loss", "Brier", "mean |P - truth|", "calibration error", "95% interval"]
    stage.table("two moons with 10% wrong labels: 400 rows to train, 8000 to judge", columns, rows)
    stage.picture("reliability", _reliability(stated, y > 0), "Observed frequency against stated probability.")
    inference = intervals()
    sure = IntervalDisplay(inference.theta_[1:], inference.coef_interval()).excludes_zero
    summary = inference.summary().iloc[1:][sure]
    columns = ["measurement", "estimate", "standard error", "95% from", "to"]
    lines = [[name, row.estimate, row.std_error, row.low, row.high] for name, row in summary.iterrows()]
    stage.table("coefficients whose interval excludes zero (breast cancer, 15% of labels wrong)", columns, lines)
    display = IntervalDisplay.from_inference(inference)
    stage.picture("intervals", display.figure_, "Sandwich 95% intervals of the logistic coefficients (per sd).")
    stage.code(classifiers, intervals)


def _reliability(stated: dict[str, np.ndarray], y: np.ndarray) -> Any:
    names, columns = list(stated), 4
    lines = -(-(len(names) + 1) // columns)
    figure, axes = pyplot().subplots(lines, columns, figsize=(13.5, 3.6 * lines), layout="constrained")
    for number, (ax, name) in enumerate(zip(axes.flat, names, strict=False)):
        ReliabilityDisplay.from_predictions(y, stated[name], ax=ax, n_bins=12)
        ax.set_title(name, fontsize=10.5, color=INK)
        if number % columns:
            ax.set_ylabel("")
        if number + columns < len(names):
            ax.set_xlabel("")
        inset = clean(ax.inset_axes((0.58, 0.06, 0.4, 0.18)))
        inset.hist(stated[name], bins=25, range=(0, 1), color="#cbd2d9")
        inset.set(xticks=[], yticks=[])
        inset.patch.set_alpha(0)
    for ax in axes.flat[len(names) + 1 :]:
        ax.set_axis_off()
    _errors(axes.flat[len(names)], stated, y)
    return figure


def _errors(ax: Any, stated: dict[str, np.ndarray], y: np.ndarray) -> None:
    """All calibration errors with their intervals in one place."""
    errors = [calibration_error(y, p) for p in stated.values()]
    value = np.array([error.value for error in errors])
    ends = np.array([error.interval for error in errors]).T
    place = np.arange(len(value))[::-1]
    reach = np.maximum([value - ends[0], ends[1] - value], 0)
    clean(ax).errorbar(value, place, xerr=reach, fmt="o", color=class_colour(0), ms=4.5, elinewidth=1.0)
    ax.set_yticks(place, list(stated), fontsize=8.5)
    ax.set(xlabel="calibration error, 95% interval", xlim=(0, None))


SECTION = Section(
    "calibration",
    80,
    "Probabilities that mean what they say",
    "Calibrate the scores of any classifier, compare with the truth, and see how sure each coefficient is.",
    show,
)
