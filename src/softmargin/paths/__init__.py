"""How does the solution move with C, class weight or balance? Exactly, for every value at once."""

from softmargin.paths.exact.path import Path
from softmargin.paths.exact.svm import balance_path, cost_path, cost_paths, weight_path
from softmargin.paths.grid.margin_path import MarginPath, margin_path

__all__ = ["MarginPath", "Path", "balance_path", "cost_path", "cost_paths", "margin_path", "weight_path"]
