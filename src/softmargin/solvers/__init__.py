"""How is a problem minimised? One file per algorithm, one ``Solution`` for all."""

from softmargin.solvers._bounded import solve_bounded
from softmargin.solvers._box_qp import BoxSolution, solve_box_qp
from softmargin.solvers._engine import Engine
from softmargin.solvers._gram_rows import GramRows
from softmargin.solvers._kinked import KinkedFamily
from softmargin.solvers._leveraging import SeparableWarning, correct, leverage
from softmargin.solvers._majorize import INITS, majorizer
from softmargin.solvers._majorizers import constant_fit
from softmargin.solvers._psi import PsiSolution, solve_psi
from softmargin.solvers._rule_boost import UPDATES, BoostedRules, Plan, boost
from softmargin.solvers._rule_pruning import prune
from softmargin.solvers._rule_search import SEARCHES, RuleSearch
from softmargin.solvers._solution import RobustSolution, Solution
from softmargin.solvers._solve import ENGINES, solve

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
