"""Several classes at once: k score functions that sum to zero, fitted together."""

from softmargin.solvers.multiclass.engines import MULTICLASS_ENGINES, prepared_least_squares, seeded_ascent
from softmargin.solvers.multiclass.least_squares import LeastSquaresSystem
from softmargin.solvers.multiclass.least_squares_moments import ClassMoments, LeaveOneOut, leave_one_out
from softmargin.solvers.multiclass.least_squares_rows import RowSpace
from softmargin.solvers.multiclass.least_squares_spectrum import Spectrum, half_path

__all__ = [
    "MULTICLASS_ENGINES",
    "ClassMoments",
    "LeastSquaresSystem",
    "LeaveOneOut",
    "RowSpace",
    "Spectrum",
    "half_path",
    "leave_one_out",
    "prepared_least_squares",
    "seeded_ascent",
]
