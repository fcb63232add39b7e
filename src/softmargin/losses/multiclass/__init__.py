"""Losses of a whole score vector: what class y costs at scores that sum to zero."""

from softmargin.losses.multiclass.capped import Capped
from softmargin.losses.multiclass.hinges import HINGES, MulticategoryHinge, fisher_consistent, multicategory_hinge
from softmargin.losses.multiclass.least_squares import CompositeLeastSquares
from softmargin.losses.multiclass.smooth import Composite, Evaluation, MulticlassLoss, SmoothMulticlassLoss, Softmax

__all__ = [
    "HINGES",
    "Capped",
    "Composite",
    "CompositeLeastSquares",
    "MulticategoryHinge",
    "Evaluation",
    "MulticlassLoss",
    "SmoothMulticlassLoss",
    "Softmax",
    "fisher_consistent",
    "multicategory_hinge",
]
