"""Losses with one corner: box QPs for kernels, sifting and an interior point for linear features."""

from softmargin.solvers.svm.box_problem import best_intercept
from softmargin.solvers.svm.box_qp import BoxQP, BoxSolution, midpoint, solve_box_qp
from softmargin.solvers.svm.kernel_rows import GramRows

__all__ = ["BoxQP", "BoxSolution", "GramRows", "best_intercept", "midpoint", "solve_box_qp"]
