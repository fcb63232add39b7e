"""Fits of k scores end where their work is spent, and say what that leaves."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from softmargin import TruncatedSoftmaxClassifier
from softmargin.expansions import Kernel, expand
from softmargin.losses.multiclass import Capped, Softmax
from softmargin.problem import MulticlassProblem
from softmargin.solvers.multiclass.newton import solve_smooth
from softmargin.solvers.multiclass.work import Work
from softmargin.solvers.nonconvex.drop_and_refit import drop_and_refit


def _problem(loss):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=600)
    X = rng.normal(size=(600, 4))
    X[:, 0] += y
    return MulticlassProblem(loss, expand(X, Kernel("rbf", 0.3)), y, 10.0 ** rng.uniform(-4, 4, 600), n_classes=3)


def test_no_point_is_better_by_more_than_the_gap_where_the_work_of_a_fit_is_spent():
    problem = _problem(Softmax())
    whole = Work()
    least = solve_smooth(problem, None, 1e-9, 200, work=whole)
    assert least.converged
    for share in (0.02, 0.2, 0.6):
        work = Work(share * whole.done)
        found = solve_smooth(problem, None, 1e-9, 200, work=work)
        assert work.is_spent
        assert not found.converged
        assert work.done < whole.done
        assert found.objective - least.objective <= (found.gap + 1e-9) * found.objective


def test_rounds_that_share_their_work_end_together_and_never_rise():
    problem = _problem(Capped(Softmax(), 2.0))
    whole = Work()
    settled = drop_and_refit(problem, None, 1e-8, 200, whole)
    assert settled.converged
    work = Work(0.6 * whole.done)
    found = drop_and_refit(problem, None, 1e-8, 200, work)
    assert work.is_spent
    assert not found.converged
    assert all(later <= before * (1 + 1e-9) for before, later in pairwise(found.history))
    scores = problem.expansion.apply(found.coef)
    loss = np.minimum(Softmax().value(scores + found.intercept, problem.codes), 2.0)
    claimed = float(problem.weights @ loss) + 0.5 * float(np.sum(found.coef * scores))
    assert found.objective == pytest.approx(claimed, rel=1e-6)
    again = drop_and_refit(problem, found, 1e-8, 200, work)  # nothing is left
    assert again.objective <= found.objective * (1 + 1e-9)
    assert not again.converged


def test_the_work_allowed_grows_with_what_a_newton_step_takes():
    few, many = Work.of(2000, 3), Work.of(20000, 3)
    step = Work()
    step.add_factor(20000)
    step.add_product(20000, 3)
    assert few.most <= many.most
    assert many.most >= 20 * step.done


@pytest.mark.filterwarnings("ignore:.* stopped after")
def test_starts_that_are_left_out_are_told_of(monkeypatch):
    problem = _problem(Softmax())
    X = problem.expansion.points
    monkeypatch.setattr(Work, "is_spent", True)
    model = TruncatedSoftmaxClassifier(kernel="rbf", n_init=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="n_init=3: only 1"):
        model.fit(X, problem.codes)
