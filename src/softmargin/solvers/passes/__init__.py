"""Solvers that ask for nothing but passes over the rows, for rows in files or on other machines."""

from softmargin.solvers.passes.conjugate_newton import CONJUGATE_NEWTON
from softmargin.solvers.passes.engines import (
    LEAST_SQUARES_BY_PASSES,
    engines_by_passes,
    has_smooth_ridge,
)
from softmargin.solvers.passes.sample_newton import sample_problem

__all__ = ["CONJUGATE_NEWTON", "LEAST_SQUARES_BY_PASSES", "engines_by_passes", "has_smooth_ridge", "sample_problem"]
