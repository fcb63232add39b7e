"""How is a problem minimised? One file per algorithm, one ``Solution`` for all."""

from softmargin.solution import Solution
from softmargin.solvers.components import ComponentFit, select_components
from softmargin.solvers.conditioning import check_scale
from softmargin.solvers.engine import Engine
from softmargin.solvers.engines import ENGINES, majorizer
from softmargin.solvers.linalg import backtrack, shifted_cholesky
from softmargin.solvers.nonconvex.convex_bounds import constant_fit
from softmargin.solvers.nonconvex.margin_losses import INITS, OnRound, Starts
from softmargin.solvers.nonconvex.psi import PsiSolution, lies_beyond, solve_psi
from softmargin.solvers.passes import has_smooth_ridge, sample_problem
from softmargin.solvers.passes.many_costs import solve_costs
from softmargin.solvers.resolution import require_resolution
from softmargin.solvers.rules import SeparableWarning
from softmargin.solvers.solve import solve, solve_class_weights
from softmargin.solvers.svm.bounded import BOUNDED
from softmargin.solvers.svm.box_qp import BoxQP, BoxSolution, Iterate, solve_box_qp
from softmargin.solvers.svm.kernel_rows import GramRows
from softmargin.solvers.svm.one_corner import KinkedFamily

__all__ = [
    "BOUNDED",
    "ENGINES",
    "INITS",
    "BoxQP",
    "BoxSolution",
    "ComponentFit",
    "Engine",
    "GramRows",
    "Iterate",
    "KinkedFamily",
    "OnRound",
    "PsiSolution",
    "SeparableWarning",
    "Solution",
    "Starts",
    "backtrack",
    "check_scale",
    "constant_fit",
    "has_smooth_ridge",
    "majorizer",
    "require_resolution",
    "sample_problem",
    "select_components",
    "shifted_cholesky",
    "lies_beyond",
    "solve",
    "solve_box_qp",
    "solve_class_weights",
    "solve_costs",
    "solve_psi",
]
