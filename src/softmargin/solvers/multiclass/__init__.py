"""Several classes at once: k score functions that sum to zero, fitted together."""

from softmargin.solvers.multiclass.engines import (
    MULTICLASS_ENGINES,
    metered_refits,
    prepared_least_squares,
    seeded_ascent,
)
from softmargin.solvers.multiclass.least_squares import LeastSquaresSystem
from softmargin.solvers.multiclass.least_squares_moments import ClassMoments, LeaveOneOut, leave_one_out
from softmargin.solvers.multiclass.least_squares_rows import RowSpace
from softmargin.solvers.multiclass.least_squares_spectrum import Spectrum, half_path
from softmargin.solvers.multiclass.work import Work

__all__ = [
    "MULTICLASS_ENGINES",
    "ClassMoments",
    "LeastSquaresSystem",
    "LeaveOneOut",
    "RowSpace",
    "Spectrum",
    "Work",
    "half_path",
    "leave_one_out",
    "metered_refits",
    "prepared_least_squares",
    "seeded_ascent",
]
