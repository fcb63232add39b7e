"""How is a problem minimised? One file per algorithm, one ``Solution`` for all."""

from softmargin.solution import RobustSolution, Solution
from softmargin.solvers.engine import Engine
from softmargin.solvers.nonconvex.convex_bounds import constant_fit
from softmargin.solvers.nonconvex.majorize_minimise import INITS, majorizer
from softmargin.solvers.nonconvex.psi import PsiSolution, solve_psi
from softmargin.solvers.rules.boosting import UPDATES, BoostedRules, Plan, boost
from softmargin.solvers.rules.leveraging import SeparableWarning, correct, leverage
from softmargin.solvers.rules.pruning import prune
from softmargin.solvers.rules.search import SEARCHES, RuleSearch
from softmargin.solvers.solve import ENGINES, solve
from softmargin.solvers.svm.bounded import solve_bounded
from softmargin.solvers.svm.box_qp import BoxSolution, solve_box_qp
from softmargin.solvers.svm.kernel_rows import GramRows
from softmargin.solvers.svm.one_corner import KinkedFamily

__all__ = [
    "ENGINES",
    "INITS",
    "SEARCHES",
    "UPDATES",
    "BoostedRules",
    "BoxSolution",
    "Engine",
    "GramRows",
    "KinkedFamily",
    "Plan",
    "PsiSolution",
    "RobustSolution",
    "RuleSearch",
    "SeparableWarning",
    "Solution",
    "boost",
    "constant_fit",
    "correct",
    "leverage",
    "majorizer",
    "prune",
    "solve",
    "solve_bounded",
    "solve_box_qp",
    "solve_psi",
]
