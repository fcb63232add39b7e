"""A rule model at a glance: one bar per rule, as long as the points it gives, towards the class it speaks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from softmargin._constraints import COUNT, NONE, check_fitted, check_named, finite_numbers, having, one_of
from softmargin.plots._style import INK, class_colour, new_axes

__all__ = ["RuleDisplay"]

_RULES = having("a RuleBoostClassifier that has learned rules", "rule_list_", "coef_")


class RuleDisplay:
    """Rules and their points.

    Parameters
    ----------
    texts : sequence of str
        The rules in words.
    points : array-like of shape (n_rules,)
        What the score gains where a rule holds.
    classes : pair of str
        The class of negative and of positive scores.

    Examples
    --------
    >>> import matplotlib; matplotlib.use("Agg")
    >>> from softmargin.plots import RuleDisplay
    >>> display = RuleDisplay(["age > 60", "smoker == True"], [1.5, 0.5], ("well", "ill")).plot()
    >>> len(display.ax_.patches)
    2
    """

    def __init__(self, texts: Any, points: Any, classes: Any = ("-", "+")) -> None:
        self.points = finite_numbers("points", points, None)
        self.texts = check_named("texts", texts, len(self.points), "points")
        self.classes = tuple(map(str, check_named("classes", classes, 2, "signs of a score")))

    @classmethod
    def from_estimator(cls, estimator: Any, *, label: Any = None, most: int = 20, **options: Any) -> RuleDisplay:
        """Draw the ``most`` weighty rules of a fitted rule model; ``label`` picks a class when there are several."""
        COUNT.check("most", most)
        check_fitted("estimator", estimator)
        _RULES.check("estimator", estimator)
        names = getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(estimator.n_features_in_)])
        labels = list(estimator.classes_)
        (NONE | one_of(*estimator.classes_.tolist())).check("label", label)
        channel = 0 if len(labels) == 2 else labels.index(labels[0] if label is None else label)
        points = 2 * estimator.coef_[channel]
        chosen = np.argsort(-np.abs(points), kind="stable")[:most]
        pair = tuple(labels) if len(labels) == 2 else ("others", labels[channel])
        texts = [estimator.rule_list_[t].text([str(name) for name in names]) for t in chosen]
        return cls(texts, points[chosen], pair).plot(**options)

    def plot(self, ax: Any = None) -> RuleDisplay:
        """Draw one bar per rule, the weightiest at the top."""
        self.ax_ = ax = new_axes(ax, (7.0, 0.9 + 0.3 * len(self.texts)))
        self.figure_ = ax.figure
        order = np.argsort(np.abs(self.points), kind="stable")
        colours = [class_colour(int(self.points[t] > 0)) for t in order]
        ax.barh(np.arange(len(order)), self.points[order], color=colours, height=0.62)
        ax.set_yticks(np.arange(len(order)), [self.texts[t] for t in order], fontsize=8.5)
        ax.axvline(0, color=INK, lw=0.8)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        left, right = "\N{LEFTWARDS ARROW}", "\N{RIGHTWARDS ARROW}"
        ax.set_xlabel(f"points  ({self.classes[0]} {left}   {right} {self.classes[1]})")
        return self
