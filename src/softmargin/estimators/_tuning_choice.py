"""The criterion and the scoring that suit the candidates of ``TunedClassifier``, where its user leaves the choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from softmargin.estimators._base.expansion_classifier import ExpansionClassifier
from softmargin.losses import NoLink
from softmargin.tuning import FORMULAS, chunk_criterion, has_influences

__all__ = ["Candidates", "is_one_problem", "require_probabilities"]


def is_one_problem(template: Any) -> bool:
    """Whether the parameters make one problem (P) of the data, whose path can be followed."""
    return isinstance(template, ExpansionClassifier) and template._is_one_problem and template._is_settled


def require_probabilities(template: Any) -> None:
    try:
        known = hasattr(template, "predict_proba")
        getattr(template, "_require_probability", lambda: None)()
    except NoLink as error:
        raise ValueError(f"scoring by probabilities needs a link: {error}") from error
    if not known:
        raise ValueError(f"scoring by probabilities needs predict_proba, which {type(template).__name__} has not.")


@dataclass(frozen=True)
class Candidates:
    """The classifiers of all families, the names of the parameters that vary beside ``C``, and where the rows are."""

    templates: list[Any]
    varied: set[str]
    in_pipeline: bool
    resident: bool

    def criterion(self, given: str) -> str:
        """The criterion given, or the best one that all candidates have."""
        if self.in_pipeline:
            if given not in ("auto", "cv", "holdout", "loo"):
                raise ValueError(f"criterion={given!r} sees no pipeline; use 'cv', 'holdout' or 'loo'.")
            return "cv" if given == "auto" else given
        paths = [t for t in self.templates if is_one_problem(t)]
        every = len(paths) == len(self.templates)
        if not self.resident:
            return chunk_criterion(given, every)
        known = all(has_influences(t._loss()) for t in paths) and every
        if given == "auto":
            return "alo" if known and all(t._loss().smooth and t._loss().convex for t in paths) else "cv"
        if given in FORMULAS and not known:
            raise ValueError(
                f"criterion={given!r} needs one loss whose influences are known (smooth, or with one corner); "
                "use 'cv', 'holdout', 'loo' or 'gkl'."
            )
        return given

    def scoring(self, given: str) -> str:
        """The scoring given, or the one by which all candidates can be compared."""
        if given != "auto":
            return given
        paths = all(is_one_problem(template) for template in self.templates)
        known = all(hasattr(template, "predict_proba") for template in self.templates)
        convex = not paths or all(template._loss().convex for template in self.templates)
        if self.in_pipeline:
            return "log_loss" if known and convex else "soft_error"
        if paths and (known or convex) and not self.varied - {"l1_ratio", "gamma"}:
            return "loss"
        return "log_loss" if known and convex else "soft_error"
