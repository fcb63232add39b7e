"""What a fitted classifier is, as a card of plain values and in words.

``_card`` is a dictionary that JSON can hold: classes, columns, how the score is made (weights by column, rules with
points, support rows of a kernel), where probabilities come from and what the solver certified. ``describe`` says the
same in a few lines. Families override ``_score_card`` where their score is not one of features or kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softmargin.estimators._base.documentation import Documented

__all__ = ["Readable", "inner_card", "plain", "score_card"]

_SHOWN = 12  # terms of a score that words list


class Readable(Documented):
    """Mixed into every classifier."""

    def describe(self) -> str:
        """The fitted model in words: what it reads, how it scores, where probabilities come from."""
        check_is_fitted(self)
        return "\n".join(_lines(self._card()))

    def _card(self) -> dict[str, Any]:
        check_is_fitted(self)
        names = [str(name) for name in self._column_names()]
        card: dict[str, Any] = {
            "model": type(self).__name__,
            "classes": [_written(label) for label in self.classes_],  # type: ignore[attr-defined]
            "columns": names,
            "score": self._score_card(names),
            "probabilities": self._probability_words(),
        }
        certificate = _certificate(getattr(self, "solution_", None))
        return card | ({"certificate": certificate} if certificate else {})

    def _column_names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(getattr(self, "n_features_in_", 0))] if names is None else list(names)

    def _score_card(self, names: list[str]) -> dict[str, Any]:
        """How the score is made."""
        fitted = vars(self).get("_score_")
        if fitted is None:
            return {"form": "other"}
        return score_card(fitted.score, fitted.intercept, names)

    def _probability_words(self) -> str:
        if not hasattr(self, "predict_proba"):
            return "none: the scores determine labels only"
        loss = vars(self).get("loss_")
        return f"the link of {loss!r}" if loss is not None else "from the scores, as documented"


def score_card(score: Any, intercept: Any, names: list[str]) -> dict[str, Any]:
    """A score of features by column, or of a kernel by its support."""
    intercepts = [plain(value) for value in np.atleast_1d(intercept)]
    kernel = getattr(score, "kernel", None)
    if kernel is None:
        weights = np.atleast_2d(np.asarray(score.coef).T)
        return {"form": "linear", "terms": [_terms(row, names) for row in weights], "intercepts": intercepts}
    named = {"name": str(kernel.name), "gamma": plain(kernel.gamma), "degree": kernel.degree, "coef0": kernel.coef0}
    return {"form": "kernel", "kernel": named, "support_rows": len(score.coef), "intercepts": intercepts}


def inner_card(model: Any) -> dict[str, Any]:
    """The card of the classifier inside another, if it has one."""
    return {"inner": model._card()} if isinstance(model, Readable) else {}


def plain(value: Any) -> Any:
    """A NumPy number as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _written(label: Any) -> Any:
    """A label as JSON can hold it: numbers and truth values as they are, all else as text."""
    value = label if isinstance(label, (np.datetime64, np.timedelta64)) else plain(label)
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _terms(weights: np.ndarray, names: list[str]) -> dict[str, float]:
    order = np.argsort(-np.abs(weights), kind="stable")
    return {names[j]: float(weights[j]) for j in order if weights[j] != 0}


def _certificate(solution: Any) -> dict[str, Any] | None:
    found = solution if isinstance(solution, list) else [solution]
    if not found or any(getattr(one, "gap", None) is None for one in found):
        return None
    worst = max(found, key=lambda one: one.gap)
    return {"gap": float(worst.gap), "converged": all(bool(one.converged) for one in found)}


def _lines(card: dict[str, Any], indent: str = "") -> Iterator[str]:
    classes = [str(label) for label in card["classes"]]
    kind = f"{classes[1]} against {classes[0]}" if len(classes) == 2 else ", ".join(classes)
    yield f"{indent}{card['model']}: {kind}, from {len(card['columns'])} columns."
    yield from (indent + line for line in _score_lines(card["score"], classes))
    if "tuning" in card:
        chosen = ", ".join(f"{name}={value!r}" for name, value in card["tuning"]["chosen"].items())
        yield f"{indent}Chosen by {card['tuning']['criterion']} ({card['tuning']['value']:.4g}): {chosen}."
    if "inner" in card:
        yield from _lines(card["inner"], indent + "  ")
    yield f"{indent}Probabilities: {card['probabilities']}."
    if "certificate" in card:
        found = card["certificate"]
        yield f"{indent}Solved to a gap of {found['gap']:.1e}{'' if found['converged'] else ', above its tolerance'}."


def _score_lines(score: dict[str, Any], classes: list[str]) -> Iterator[str]:
    labels = [f"Score (positive means {classes[1]})"] if len(classes) == 2 else [f"Score of {one}" for one in classes]
    if score["form"] == "linear" and len(score["terms"]) == len(labels):
        for label, terms, intercept in zip(labels, score["terms"], score["intercepts"], strict=True):
            yield f"{label} = {_sum_words(intercept, terms)}"
    elif score["form"] == "kernel":
        kernel = score["kernel"]
        yield f"Scores by likeness ({kernel['name']}, gamma {kernel['gamma']:.4g}) to {score['support_rows']} rows."
    elif score["form"] == "rules":
        yield f"{', '.join(labels)}: {_points(score['start'])} to start with"
        yield from (f"  {_points(rule['points'])} if {rule['if']}" for rule in score["rules"])
    elif "words" in score:
        yield score["words"]


def _points(values: list[float]) -> str:
    return " ".join(f"{value:+.4g}" for value in values)


def _sum_words(intercept: float, terms: dict[str, float]) -> str:
    shown = "".join(
        f" {'+' if value >= 0 else '-'} {abs(value):.4g} {name}" for name, value in list(terms.items())[:_SHOWN]
    )
    more = len(terms) - _SHOWN
    return f"{intercept:.4g}{shown}" + (f" and {more} smaller terms" if more > 0 else "")
