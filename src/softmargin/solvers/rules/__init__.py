"""Boosting over rules or given hypotheses: search, leverage, prune."""

from softmargin.solvers.rules.boosting import UPDATES, BoostedModel, Plan, Round, Watch, boost, boost_state
from softmargin.solvers.rules.chunked import ChunkedRules
from softmargin.solvers.rules.learners import GivenColumns, GivenLearner, Hypothesis, RuleLearner
from softmargin.solvers.rules.leveraging import SeparableWarning, WeightedRisk, correct, leverage
from softmargin.solvers.rules.pruning import prune
from softmargin.solvers.rules.search import SEARCHES, RuleSearch
from softmargin.solvers.rules.trees import BoostedTrees, TreePlan, boost_trees, score_of

__all__ = [
    "SEARCHES",
    "UPDATES",
    "BoostedModel",
    "BoostedTrees",
    "ChunkedRules",
    "GivenColumns",
    "GivenLearner",
    "Hypothesis",
    "Plan",
    "Round",
    "RuleLearner",
    "RuleSearch",
    "SeparableWarning",
    "TreePlan",
    "Watch",
    "WeightedRisk",
    "boost",
    "boost_state",
    "boost_trees",
    "correct",
    "leverage",
    "prune",
    "score_of",
]
