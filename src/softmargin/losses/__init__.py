"""What does a margin cost? Every loss of the library, by class or by name."""

from softmargin.losses._base import Kink, Loss, Majorizer, NoLink
from softmargin.losses._convex import Hinge, Logistic, SquaredHinge

__all__ = ["Kink", "Loss", "Majorizer", "NoLink", "Hinge", "Logistic", "SquaredHinge"]
