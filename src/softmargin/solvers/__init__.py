"""How is a problem minimised? One file per algorithm, one ``Solution`` for all."""

from softmargin.solvers._solution import Solution

__all__ = ["Solution"]
