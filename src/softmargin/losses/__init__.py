"""What does a margin cost? Every loss of the library, by class or by name."""

from softmargin.losses._base import Kink, Loss, Majorizer, NoLink
from softmargin.losses._coherence import Coherence
from softmargin.losses._convex import Exponential, LeastSquares, Logistic, PowerMargin
from softmargin.losses._piecewise import BalancedHinge, Hinge, HuberizedHinge, ModifiedHuber, SquaredHinge
from softmargin.losses._registry import available, get, register

register(Logistic, Exponential, LeastSquares, PowerMargin, Coherence)
register(Hinge, SquaredHinge, BalancedHinge, HuberizedHinge, ModifiedHuber)

__all__ = [
    "Kink",
    "Loss",
    "Majorizer",
    "NoLink",
    "available",
    "get",
    "Logistic",
    "Exponential",
    "LeastSquares",
    "PowerMargin",
    "Coherence",
    "Hinge",
    "SquaredHinge",
    "BalancedHinge",
    "HuberizedHinge",
    "ModifiedHuber",
]
