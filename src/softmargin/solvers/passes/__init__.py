"""Solvers that ask for nothing but passes over the rows, for rows in files or on other machines."""

from softmargin.solvers.passes.engines import (
    LEAST_SQUARES_BY_PASSES,
    engines_by_passes,
    has_smooth_ridge,
    sample_problem,
)

__all__ = ["LEAST_SQUARES_BY_PASSES", "engines_by_passes", "has_smooth_ridge", "sample_problem"]
