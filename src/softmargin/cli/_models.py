"""Which classifier ``fit --model`` means, made ready for a table as it is."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from sklearn.pipeline import make_pipeline

import softmargin
from softmargin.cli._columns import encoder
from softmargin.cli._read import BadInput

__all__ = ["classifier"]

_OF_NUMBERS = (
    "BalancingSVC",
    "CoherenceClassifier",
    "CompositeLeastSquaresClassifier",
    "CompositeMarginClassifier",
    "MarginClassifier",
    "MulticategorySVC",
    "ProbabilisticSVC",
    "RobustSVC",
    "TruncatedLogisticRegression",
    "TruncatedSoftmaxClassifier",
)
_FEW_COSTS = 6
_OF_TABLES = ("AutoClassifier", "RuleBoostClassifier")


def classifier(name: str, *, effort: str, time_limit: float | None, seed: int) -> Any:
    """The classifier of a name; one of numbers gets columns filled, scaled and encoded, ``C`` tuned, links fitted."""
    known = {"auto": "AutoClassifier", **{one.lower(): one for one in (*_OF_TABLES, *_OF_NUMBERS)}}
    chosen = known.get(name.lower())
    if chosen is None:
        near = get_close_matches(name, [*known.values(), "auto"], n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"give one of auto, {', '.join(known.values())}."
        raise BadInput(f"--model {name!r} is no classifier of softmargin; {hint}")
    if chosen == "AutoClassifier":
        return softmargin.AutoClassifier(effort=effort, time_limit=time_limit, random_state=seed)
    model = getattr(softmargin, chosen)()
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    if chosen in _OF_TABLES:
        return model
    if hasattr(model, "predict_proba"):
        return make_pipeline(encoder(), softmargin.TunedClassifier(model, random_state=seed))
    # every fold of the calibration tunes again, so tuning is the cheapest there is
    tuned = softmargin.TunedClassifier(model, grid=_FEW_COSTS, criterion="holdout", random_state=seed)
    return make_pipeline(encoder(), softmargin.ScoreCalibrator(tuned))
