"""How is a problem minimised? One file per algorithm, one ``Solution`` for all."""

from softmargin.solvers._engine import Engine
from softmargin.solvers._solution import Solution
from softmargin.solvers._solve import ENGINES, solve

__all__ = ["ENGINES", "Engine", "Solution", "solve"]
