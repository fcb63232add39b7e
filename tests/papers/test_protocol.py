"""Public parts of the protocols: splits, ties, gene screening, paired tests, a runner that goes on, conventions."""

import json

import numpy as np
import pytest
from scipy import stats

from softmargin import MarginClassifier
from softmargin.papers import (
    Experiment,
    Part,
    Store,
    between_within_ratio,
    jobs_of,
    paired_test,
    pick,
    repeat,
    run_jobs,
    split_rows,
    variation_ratio,
)
from softmargin.papers import conventions as convert


def test_parts_are_disjoint_and_hold_every_class():
    labels = np.repeat([0, 1, 2], [90, 8, 2])
    train, tune, test = split_rows(100, (0.5, 20, -1), random_state=0, labels=np.where(labels == 2, 1, labels))
    assert (len(train), len(tune), len(test)) == (50, 20, 30)
    assert len(set(train) | set(tune) | set(test)) == 100


@pytest.mark.parametrize("sizes", [(), (60, 60), (-1, -1), (0, 10), (100, -1), (-2, 5)])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="sizes"):
        split_rows(100, sizes)


def test_a_class_that_fits_into_one_part_only_is_refused():
    with pytest.raises(ValueError, match="larger"):
        split_rows(10, (5, 5), random_state=0, labels=[1] + [0] * 9)


def test_ties_are_decided_by_the_rule_and_nan_never_wins():
    errors = [np.nan, 0.3, 0.1, 0.1, 0.1, 0.1]
    assert [pick(errors, tie=tie) for tie in ("first", "middle", "last")] == [2, 3, 5]
    with pytest.raises(ValueError, match="no number"):
        pick([np.nan])
    with pytest.raises(ValueError, match="tie"):
        pick([1.0], tie="best")


def test_between_within_ratio_is_the_f_statistic_up_to_degrees_of_freedom():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), np.repeat([0, 1, 2], 10)
    expected = [stats.f_oneway(*(X[y == k, j] for k in range(3))).statistic * 2 / 27 for j in range(4)]
    np.testing.assert_allclose(between_within_ratio(X, y), expected)


def test_constant_columns_are_screened_out_wherever_they_stand():
    X = np.random.default_rng(0).standard_normal((12, 3)) + 5
    for column in range(3):
        Z = X.copy()
        Z[:, column] = 1.0
        assert between_within_ratio(Z, np.arange(12) % 2)[column] == 0
        assert variation_ratio(Z)[column] == 0


def test_paired_test_is_students_and_overlap_enlarges_it():
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((2, 20))
    plain = paired_test(a, b)
    assert plain.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired_test(a, b, test_share=0.1).p_value > plain.p_value
    assert (paired_test(a, a).p_value, paired_test(a, a + 1).p_value) == (1.0, 0.0)


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    path, ran = tmp_path / "kept.jsonl", []

    def replicate(number):
        ran.append(number)
        return {"error": float(number)}

    repeat(replicate, 2, path=path)
    with path.open("a") as file:
        file.write('{"experiment": "experiment", "part": "al')  # cut short by an interruption
    assert repeat(replicate, 4, path=path) == {"error": [0.0, 1.0, 2.0, 3.0]}
    assert ran == [0, 1, 2, 3]


def test_replications_do_not_depend_on_the_number_of_processes(tmp_path):
    def replicate(number):
        return {"x": float(np.random.default_rng(number).standard_normal())}

    one, two = (repeat(replicate, 4, path=tmp_path / f"{jobs}.jsonl", n_jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_forgetting_one_experiment_keeps_the_others(tmp_path):
    store = Store.open(tmp_path / "kept.jsonl")
    experiments = [Experiment(name, (Part("all", lambda r: {"x": 1.0}),), 2) for name in ("first", "second")]
    run_jobs(jobs_of(experiments, None, store), store)
    store.forget(["first"])
    kept = [json.loads(line)["experiment"] for line in store.path.read_text().splitlines()]
    assert kept == ["second", "second"]


def _objective(model, X, y, loss_weight, penalty):
    margins = y * model.decision_function(X)
    return loss_weight * np.logaddexp(0, -margins).sum() + penalty * float((model.coef_**2).sum())


@pytest.mark.parametrize(
    ("C", "loss_weight", "penalty"),
    [
        (convert.mean_loss(0.02, 40), 1 / 40, 0.01),
        (convert.weighted_mean_loss(0.02, 40), 0.5 / 40, 0.01),  # at pi = 1/2 both classes weigh one half
        (convert.mean_loss_whole_penalty(0.02, 40), 1 / 40, 0.02),
        (convert.summed_loss(0.5), 1.0, 0.25),
        (convert.summed_loss_whole_penalty(0.5), 1.0, 0.5),
    ],
)
def test_converted_penalties_minimise_the_objective_of_the_paper(C, loss_weight, penalty):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.where(X[:, 0] + rng.standard_normal(40) > 0, 1, -1)
    model = MarginClassifier(C=float(C), tol=1e-10).fit(X, y)
    best = _objective(model, X, y, loss_weight, penalty)
    for factor in (0.98, 1.02):
        other = MarginClassifier(C=float(C) * factor, tol=1e-10).fit(X, y)
        assert _objective(other, X, y, loss_weight, penalty) > best


def test_widths_become_gammas():
    distance, width = 1.3, 0.7
    assert np.exp(-convert.gamma_of_width(width) * distance**2) == pytest.approx(np.exp(-((distance / width) ** 2)))
    assert convert.gamma_of_double_width(width) == pytest.approx(convert.gamma_of_width(width) / 2)
    with pytest.raises(ValueError, match="width"):
        convert.gamma_of_width(0.0)
    with pytest.raises(ValueError, match="penalty"):
        convert.summed_loss(-1.0)
