"""How good is a fit, without a test set?"""

from softmargin.tuning._criteria import Fitted, aic, alo, alo_scores, bic, egacv, gacv
from softmargin.tuning._gkl import Perturbation, gkl_criterion, perturb
from softmargin.tuning._influence import influence

__all__ = [
    "Fitted",
    "Perturbation",
    "aic",
    "alo",
    "alo_scores",
    "bic",
    "egacv",
    "gacv",
    "gkl_criterion",
    "influence",
    "perturb",
]
