"""Pictures: ``Display`` objects in scikit-learn's manner, drawn with matplotlib (the ``plot`` extra).

The last names are the look they share, for pictures of your own: two inks, a colour per class, clean axes.
"""

from softmargin.plots._boundary import BoundaryDisplay
from softmargin.plots._classes import ClassBiplotDisplay, HeatMapDisplay
from softmargin.plots._gallery import loss_gallery
from softmargin.plots._intervals import IntervalDisplay
from softmargin.plots._path import PathDisplay
from softmargin.plots._reliability import ReliabilityDisplay
from softmargin.plots._rules import RuleDisplay
from softmargin.plots._style import INK, SOFT, class_colour, clean, diverging, new_axes, pyplot
from softmargin.plots._tuning import TuningDisplay

__all__ = [
    "ClassBiplotDisplay",
    "HeatMapDisplay",
    "INK",
    "SOFT",
    "BoundaryDisplay",
    "IntervalDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "RuleDisplay",
    "TuningDisplay",
    "class_colour",
    "clean",
    "diverging",
    "loss_gallery",
    "new_axes",
    "pyplot",
]
