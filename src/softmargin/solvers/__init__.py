"""How is a problem minimised? One file per algorithm, one ``Solution`` for all."""

from softmargin.solvers._box_qp import BoxSolution, solve_box_qp
from softmargin.solvers._engine import Engine
from softmargin.solvers._gram_rows import GramRows
from softmargin.solvers._solution import Solution
from softmargin.solvers._solve import ENGINES, solve

__all__ = ["ENGINES", "BoxSolution", "Engine", "GramRows", "Solution", "solve", "solve_box_qp"]
