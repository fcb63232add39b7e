"""The registry: every solver of the one door, in the order in which they are asked.

Adding a solver is adding an :class:`Engine` here; ``needs`` is what the error message says of it.
"""

from __future__ import annotations

from softmargin.problem import Problem
from softmargin.solution import Solution
from softmargin.solvers.elastic_net.local_linear import LOCAL_LINEAR
from softmargin.solvers.elastic_net.proximal_newton import PROXIMAL_NEWTON
from softmargin.solvers.engine import Engine
from softmargin.solvers.multiclass import MULTICLASS_ENGINES as _MULTICLASS_IN_MEMORY
from softmargin.solvers.nonconvex.margin_losses import MarginLossFit, OnRound, Starts
from softmargin.solvers.passes import CONJUGATE_NEWTON, LEAST_SQUARES_BY_PASSES, engines_by_passes
from softmargin.solvers.ridge.newton import NEWTON
from softmargin.solvers.svm.one_corner import BOX_QP
from softmargin.solvers.svm.squared_hinge import SPARSE_SQUARED_HINGE

__all__ = ["CONVEX_ENGINES", "ENGINES", "MULTICLASS_ENGINES", "majorizer"]

CONVEX_ENGINES: tuple[Engine, ...] = (SPARSE_SQUARED_HINGE, NEWTON, PROXIMAL_NEWTON, LOCAL_LINEAR, BOX_QP)


def majorizer(starts: Starts | None = None, on_round: OnRound | None = None) -> Engine:
    """Majorise-minimise with its starts decided; the bounds go to the convex engines.

    ``on_round(margins, coef)`` sees where each round ends.
    """

    def run(problem: Problem, start: Solution | None, tol: float, max_iter: int, verbose: int) -> Solution:
        fit = MarginLossFit(CONVEX_ENGINES, starts or Starts(), tol, max_iter, verbose, on_round)
        return fit.solve(problem, start)

    needs = "a nonconvex loss with a majoriser that another solver accepts"
    knows_rows = on_round is not None or (starts is not None and starts.scores is not None)
    return Engine(
        "majorize",
        needs,
        lambda problem: not problem.loss.convex,
        run,
        takes_features=on_round is None,
        knows_rows=knows_rows,
    )


MULTICLASS_ENGINES: tuple[Engine, ...] = (*_MULTICLASS_IN_MEMORY, LEAST_SQUARES_BY_PASSES)
_IN_MEMORY = (*CONVEX_ENGINES, majorizer())
ENGINES: tuple[Engine, ...] = (CONJUGATE_NEWTON, *_IN_MEMORY, *engines_by_passes(_IN_MEMORY))
