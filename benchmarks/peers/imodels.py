"""imodels: RuleFit and boosted rules."""

from __future__ import annotations

from importlib.metadata import version as installed
from typing import Any

import numpy as np
from imodels import BoostedRulesClassifier, RuleFitClassifier

__all__ = ["boosted_rules", "rulefit", "version"]


def version() -> str:
    return f"imodels {installed('imodels')}"


def rulefit(X: np.ndarray, y: np.ndarray, n_rules: int) -> Any:
    return RuleFitClassifier(max_rules=n_rules, random_state=0).fit(X, y)


def boosted_rules(X: np.ndarray, y: np.ndarray, n_rules: int) -> Any:
    return BoostedRulesClassifier(n_estimators=n_rules, random_state=0).fit(X, y)
