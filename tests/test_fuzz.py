"""The fuzzer itself: cases repeat, whatever befalls a case is reported, and the oracles see what they should."""

import faulthandler
import os
import time

import numpy as np
import pytest

from fuzz.case import AT_ONCE, CLASSIFIERS, Case, Focus
from fuzz.certificate import check_binary_certificate
from fuzz.data import Data
from fuzz.faults import Fault, Refusal, judged
from fuzz.oracles import check_answers
from fuzz.parameters import knows
from fuzz.pool import Limits, run_cases, run_here
from fuzz.simultaneous import check_simultaneous_certificate
from fuzz.state import check_refit
from fuzz.tables import table_rows
from softmargin import CompositeMarginClassifier, MarginClassifier, MulticategorySVC


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(40, 3)), np.arange(40) % 2
    return Data(X, codes, X, codes)


def outcome_of(monkeypatch, run, **limits):
    monkeypatch.setattr(Case, "run", run)
    (outcome,) = run_cases(0, iter([5]), limits=Limits(**limits))
    assert outcome.number == 5
    assert outcome.repeat.endswith("--seed 0 --case 5")
    return outcome


def test_a_case_is_the_same_every_time():
    first, second = Case(3, 11), Case(3, 11)
    assert run_here(first).verdict == run_here(second).verdict
    assert first.text == second.text != ""


@pytest.mark.parametrize(
    ("focus", "options"),
    [
        (Focus(rows=(150, 200), only=("CoherenceClassifier",)), "--rows 150 200 --only CoherenceClassifier"),
        (Focus(tables=True), "--tables"),
    ],
)
def test_narrowed_cases_say_how_to_repeat_them(monkeypatch, tmp_path, focus, options):
    monkeypatch.setenv("SOFTMARGIN_DATA", str(tmp_path))  # the tables that scikit-learn brings are everywhere
    for number in range(5):
        outcome, again = (run_here(Case(2, number, focus=focus)) for _ in range(2))
        assert outcome.repeat.endswith(f"--case {number} {options}")
        assert outcome.verdict != "fault", outcome
        assert again.text == outcome.text != ""
    monkeypatch.setattr(Case, "run", lambda case: "ok")  # a fork of a process that others use as well computes nothing
    for outcome in run_cases(2, iter(range(3)), limits=Limits(), focus=focus):
        assert outcome.repeat.endswith(f"--case {outcome.number} {options}")


def test_rows_of_a_table_hold_every_class_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("SOFTMARGIN_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    for n, k in ((3, 2), (8, 6), (60, 3), (1500, 10)):
        data = table_rows(rng, n, 4, k)
        assert np.array_equal(np.unique(data.codes), np.arange(data.k))
        assert len(data.dense) == len(data.codes) <= n + k
        assert np.isfinite(data.dense).all()


def test_every_estimator_has_parameters_to_vary():
    for name, cls in CLASSIFIERS.items():
        model = cls(MarginClassifier()) if "estimator" in cls.__init__.__annotations__ else cls()
        known = list(model.get_params(deep=False))
        assert sum(knows(name, key) for key in known) >= len(known) / 3, name


def test_fits_that_are_compared_leave_nothing_to_the_clock():
    rng = np.random.default_rng(0)
    limits = {Case(0, 0)._repeatable(rng, "AutoClassifier").time_limit for _ in range(20)}
    assert limits == {None, AT_ONCE}


def test_a_crash_is_reported(monkeypatch):
    def crash(case):
        case._say("before the crash")
        faulthandler.disable()
        os.abort()

    outcome = outcome_of(monkeypatch, crash)
    assert outcome.verdict == "fault"
    assert "crash" in outcome.kind
    assert outcome.text == "before the crash"


def test_a_hang_is_reported(monkeypatch):
    def hang(case):
        while time.process_time() < 1000:
            pass

    assert "hang" in outcome_of(monkeypatch, hang, seconds=1).kind


def test_cases_after_one_that_ends_its_process_are_run_all_the_same(monkeypatch):
    def some_end(case):
        if case.number == 3:
            os._exit(3)
        if case.number == 5:
            raise Fault("some kind", "some message")
        return "ok"

    monkeypatch.setattr(Case, "run", some_end)
    outcomes = {outcome.number: outcome.verdict for outcome in run_cases(0, iter(range(30)), jobs=2)}
    assert outcomes == {number: "fault" if number in (3, 5) else "ok" for number in range(30)}


def test_hunger_for_memory_is_stopped(monkeypatch):
    def eat(case):
        with judged():
            return np.ones(1 << 40)

    assert outcome_of(monkeypatch, eat).verdict == "fault"


def test_a_wrong_claim_is_a_fault_and_a_silent_end_too(monkeypatch):
    def wrong(case):
        raise Fault("some kind", "some message")

    assert outcome_of(monkeypatch, wrong).kind == "some kind"
    assert "without a word" in outcome_of(monkeypatch, lambda case: os._exit(3)).kind


def test_a_refusal_is_raised_on_purpose(data):
    with pytest.raises(Refusal, match="C must"), judged():
        MarginClassifier(C=-1.0).fit(data.X, data.y)
    with pytest.raises(Fault, match="attribute"), judged():
        _ = None.shape
    with pytest.raises(Fault, match="broadcast"), judged():
        np.ones(3) + np.ones(4)
    with pytest.raises(Fault, match="KeyError"), judged():
        raise KeyError("deliberate, and yet no kind a caller expects")


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_a_false_certificate_is_seen(data, loss):
    model = MarginClassifier(loss=loss).fit(data.X, data.y)
    assert check_binary_certificate(model, data)
    np.multiply(model.coef_, 2, out=model.coef_)
    with pytest.raises(Fault, match="claimed"):
        check_binary_certificate(model, data)
    margins = np.where(data.y == 1, 1, -1) * (data.X @ model.coef_[0] + model.intercept_[0])
    model.solution_.objective = float(model.loss_.value(margins).sum() + 0.5 * model.coef_[0] @ model.coef_[0])
    with pytest.raises(Fault, match="a point of"):
        check_binary_certificate(model, data)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_certificates_of_kernel_machines_are_checked(data, loss):
    model = MarginClassifier(loss=loss, kernel="rbf", gamma=0.5).fit(data.X, data.y)
    assert check_binary_certificate(model, data)
    np.multiply(model.dual_coef_, 2, out=model.dual_coef_)
    with pytest.raises(Fault, match="claimed"):
        check_binary_certificate(model, data)


@pytest.mark.parametrize("method", ["reinforced", "weston_watkins", "crammer_singer", "lee_lin_wahba"])
def test_certificates_of_simultaneous_machines_are_checked(data, method):
    data.codes = np.arange(40) % 3
    model = MulticategorySVC(method=method, tol=1e-6).fit(data.X, data.codes)
    assert check_simultaneous_certificate(model, data)
    np.multiply(model.coef_, 1.5, out=model.coef_)
    with pytest.raises(Fault, match="claimed"):
        check_simultaneous_certificate(model, data)
    assert check_simultaneous_certificate(CompositeMarginClassifier().fit(data.X, data.codes), data)


def test_answers_that_disagree_are_seen(data):
    model = MarginClassifier().fit(data.X, data.y)
    check_answers(model, data)
    model.predict = lambda X: 1 - model.classes_[(model.decision_function(X) > 0).astype(int)]
    with pytest.raises(Fault, match="of 40 rows"):
        check_answers(model, data)


def test_state_left_over_from_an_earlier_fit_is_seen(data):
    class Remembers(MarginClassifier):
        def fit(self, X, y, sample_weight=None):
            self.count = getattr(self, "count", 0) + 1
            super().fit(X, y, sample_weight)
            self.n_fits_ = self.count
            return self

    check_refit(np.random.default_rng(0), [(MarginClassifier(), data)] * 2)
    with pytest.raises(Fault, match="n_fits_"):
        check_refit(np.random.default_rng(0), [(Remembers(), data)] * 2)
