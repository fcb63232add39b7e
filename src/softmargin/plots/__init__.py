"""Pictures: ``Display`` objects in scikit-learn's manner, drawn with matplotlib (the ``plot`` extra)."""

from softmargin.plots._boundary import BoundaryDisplay
from softmargin.plots._gallery import loss_gallery
from softmargin.plots._intervals import IntervalDisplay
from softmargin.plots._path import PathDisplay
from softmargin.plots._reliability import ReliabilityDisplay
from softmargin.plots._rules import RuleDisplay
from softmargin.plots._tuning import TuningDisplay

__all__ = [
    "BoundaryDisplay",
    "IntervalDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "RuleDisplay",
    "TuningDisplay",
    "loss_gallery",
]
