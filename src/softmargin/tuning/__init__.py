"""How good is a fit, without a test set?"""

from softmargin.tuning._chunk_judge import ChunkJudge, chunk_criterion
from softmargin.tuning._composite import CRITERIA as COMPOSITE_CRITERIA
from softmargin.tuning._composite import CountedRows, tune_composite
from softmargin.tuning._corners import cornered_fit
from softmargin.tuning._equal_rows import EqualRows
from softmargin.tuning._gkl import LabelledRows, Perturbation, gkl_criterion, perturb
from softmargin.tuning._influence import influence
from softmargin.tuning._judges import N_COSTS, Judging, PathJudge, PipelineJudge, RefitJudge, has_influences
from softmargin.tuning._left_out_scores import (
    auto_costs,
    fitted_path,
    influence_scores,
    left_out_scores,
    path_probabilities,
    solution_path,
)
from softmargin.tuning._null_df import null_df
from softmargin.tuning._robust_grid import SIGMAS, auto_sigma, robust_grid
from softmargin.tuning._scoring import SCORINGS, proba_costs, row_costs, soft_errors
from softmargin.tuning._screening import Judged, can_screen, screen
from softmargin.tuning.criteria import FORMULAS, Fitted, alo_scores
from softmargin.tuning.criteria.aic import aic
from softmargin.tuning.criteria.alo import alo
from softmargin.tuning.criteria.bic import bic
from softmargin.tuning.criteria.egacv import egacv
from softmargin.tuning.criteria.gacv import gacv

__all__ = [
    "N_COSTS",
    "cornered_fit",
    "COMPOSITE_CRITERIA",
    "ChunkJudge",
    "CountedRows",
    "EqualRows",
    "tune_composite",
    "FORMULAS",
    "SCORINGS",
    "SIGMAS",
    "Fitted",
    "Judged",
    "Judging",
    "LabelledRows",
    "PathJudge",
    "PipelineJudge",
    "Perturbation",
    "RefitJudge",
    "aic",
    "alo",
    "alo_scores",
    "auto_costs",
    "auto_sigma",
    "bic",
    "can_screen",
    "chunk_criterion",
    "egacv",
    "fitted_path",
    "gacv",
    "gkl_criterion",
    "has_influences",
    "influence",
    "influence_scores",
    "left_out_scores",
    "null_df",
    "path_probabilities",
    "perturb",
    "proba_costs",
    "robust_grid",
    "row_costs",
    "screen",
    "soft_errors",
    "solution_path",
]
