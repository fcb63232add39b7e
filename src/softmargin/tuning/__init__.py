"""How good is a fit, without a test set?"""

from softmargin.tuning._criteria import Fitted, aic, alo, alo_scores, bic, egacv, gacv
from softmargin.tuning._gkl import Perturbation, gkl_criterion, perturb
from softmargin.tuning._influence import influence
from softmargin.tuning._left_out_scores import (
    auto_costs,
    fitted_path,
    influence_scores,
    left_out_scores,
    path_probabilities,
    solution_path,
)
from softmargin.tuning._robust_grid import SIGMAS, robust_grid
from softmargin.tuning._scoring import SCORINGS, proba_costs, row_costs, soft_errors

__all__ = [
    "SCORINGS",
    "SIGMAS",
    "Fitted",
    "Perturbation",
    "aic",
    "alo",
    "alo_scores",
    "auto_costs",
    "bic",
    "egacv",
    "fitted_path",
    "gacv",
    "gkl_criterion",
    "influence",
    "influence_scores",
    "left_out_scores",
    "path_probabilities",
    "perturb",
    "proba_costs",
    "robust_grid",
    "row_costs",
    "soft_errors",
    "solution_path",
]
