"""Pictures: ``Display`` objects in scikit-learn's manner, drawn with matplotlib (the ``plot`` extra)."""

from softmargin.plots._boundary import BoundaryDisplay
from softmargin.plots._gallery import loss_gallery
from softmargin.plots._path import PathDisplay

__all__ = ["BoundaryDisplay", "PathDisplay", "loss_gallery"]
