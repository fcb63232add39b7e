"""What does a margin cost? Every loss of the library, by class or by name."""

from softmargin.losses._balanced import BalancedConvex
from softmargin.losses._base import Kink, Loss, Majorizer, NoLink
from softmargin.losses._bianco_yohai import BiancoYohai, CrouxHaesbroeck
from softmargin.losses._by_row import ByClass, CappedByRow
from softmargin.losses._check import LossReport, check_loss
from softmargin.losses._coherence import Coherence
from softmargin.losses._convex import Exponential, LeastSquares, Logistic, PowerMargin
from softmargin.losses._custom import make_loss
from softmargin.losses._entropy import Entropy, Gini, LogEntropy, Matsushita, PowerEntropy
from softmargin.losses._excess_risk import ExcessRiskBound, excess_risk_bound
from softmargin.losses._likelihood import Copas, Pregibon
from softmargin.losses._permissible import CustomEntropy
from softmargin.losses._piecewise import BalancedHinge, Hinge, HuberizedHinge, ModifiedHuber, SquaredHinge
from softmargin.losses._registry import available, get, register
from softmargin.losses._robust import Cauchy, GemanMcClure, GeneralRobust, TanhHinge, Welsch
from softmargin.losses._rounded import Rounded, can_round
from softmargin.losses._soundness import ensure_sound
from softmargin.losses._truncated import Psi, Truncated, TruncatedHinge, TruncatedLogistic

register(Logistic, Exponential, LeastSquares, PowerMargin, Coherence)
register(Hinge, SquaredHinge, BalancedHinge, HuberizedHinge, ModifiedHuber)
register(Welsch, Cauchy, GemanMcClure, TanhHinge, GeneralRobust)
register(Truncated, TruncatedHinge, TruncatedLogistic, Psi)
register(Pregibon, BiancoYohai, CrouxHaesbroeck, Copas)
register(BalancedConvex)

__all__ = [
    "Kink",
    "Loss",
    "Majorizer",
    "NoLink",
    "Rounded",
    "available",
    "can_round",
    "get",
    "make_loss",
    "check_loss",
    "ensure_sound",
    "LossReport",
    "ExcessRiskBound",
    "excess_risk_bound",
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
    "Welsch",
    "Cauchy",
    "GemanMcClure",
    "TanhHinge",
    "GeneralRobust",
    "Truncated",
    "TruncatedHinge",
    "TruncatedLogistic",
    "Psi",
    "Pregibon",
    "BiancoYohai",
    "CrouxHaesbroeck",
    "Copas",
    "BalancedConvex",
    "ByClass",
    "CappedByRow",
    "Entropy",
    "LogEntropy",
    "Gini",
    "Matsushita",
    "PowerEntropy",
    "CustomEntropy",
]
