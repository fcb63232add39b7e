"""Every parameter of every estimator: what it may be is declared once, checked at fit by name, and documented."""

import inspect
import re
import warnings

import numpy as np
import pytest

import softmargin
from estimators.catalogue import CLASSIFIERS, binary, make
from softmargin import CoherenceClassifier, losses
from softmargin.estimators._base.parameters import SHARED, constraint_of

every_classifier = pytest.mark.parametrize("name", list(CLASSIFIERS))
# values that no parameter can mean, by kind of parameter
NUMBERS = (np.nan, True, "no such word", [1.0], 1j, (), {}, lambda value: value)
NEVER = {
    **dict.fromkeys(("C", "tol", "sigma", "temperature"), (0.0, -1.0, None, *NUMBERS)),
    "learning_rate": (0.0, -1.0, *NUMBERS),  # None is decided by the learner
    **dict.fromkeys(("l1_ratio", "mix"), (-0.1, 1.5, None, *NUMBERS)),
    **dict.fromkeys(("max_iter", "n_init", "degree"), (0, 1.5, None, *NUMBERS)),
    **dict.fromkeys(("n_components", "n_weights"), (0, 1.5, np.nan, True, "no such word", [3])),
    **dict.fromkeys(("gamma", "balance"), (-1.0, None, *NUMBERS)),
    **dict.fromkeys(("fit_intercept", "penalize_intercept", "positive"), (0, "yes", None, [True], 3.7)),
    **dict.fromkeys(
        ("kernel", "penalty", "solver", "method", "rescale", "init"), ("no such word", 3, ["rbf"], object())
    ),
    "coef0": (None, *NUMBERS),
    "class_weight": (
        "no such word",
        3.0,
        {0: -1.0},
        {0: np.nan},
        {0: np.inf},
        {0: "a"},
        {0: True},
        {"no such class": 1},
    ),
    "random_state": (-1, 1.5, "seed", np.nan),
    "n_jobs": (0, 1.5, "all"),
    "verbose": (-1, 1.5, "yes"),
}


@pytest.mark.parametrize("name", list(CLASSIFIERS))
def test_wrong_values_are_refused_by_name_and_value(name):
    X, y, _ = binary()
    for key in make(name).get_params(deep=False):
        for value in NEVER.get(key, ()):
            with pytest.raises(ValueError, match=rf"{key} (must|names)") as refused:
                make(name).set_params(**{key: value}).fit(X, y)
            if key != "class_weight":
                assert repr(value) in str(refused.value)


@pytest.mark.parametrize("cls", [softmargin.MarginClassifier, softmargin.CompositeMarginClassifier])
@pytest.mark.parametrize("loss", [3, None, np.exp, losses.Hinge, "hingge", [losses.Hinge()]])
def test_what_is_no_loss_is_refused(cls, loss):
    X, y, _ = binary()
    with pytest.raises(ValueError, match="loss"):
        cls(loss=loss).fit(X, y)


@every_classifier
def test_numbers_may_be_of_any_real_type(name):
    X, y, _ = binary()
    known = make(name).get_params(deep=False)
    given = {"C": np.float32(2), "max_iter": np.int64(50), "tol": np.float64(1e-3), "fit_intercept": np.True_}
    make(name).set_params(**{key: value for key, value in given.items() if key in known}).fit(X, y)


@every_classifier
def test_every_parameter_has_a_constraint_and_a_description(name):
    cls = CLASSIFIERS[name]
    documented = set(re.findall(r"^(\w+)(?:, \w+)* :", cls.__doc__, re.MULTILINE))
    for line in re.findall(r"^(\w+(?:, \w+)+)(?: :|$)", cls.__doc__, re.MULTILINE):
        documented |= set(line.split(", "))
    for key in inspect.signature(cls).parameters:
        assert key in documented, f"{name} does not say what {key} is"
        if key not in ("estimator", "loss", "blocks"):  # checked by what they are used for
            assert constraint_of(cls, key) is not None, f"declare what {name}.{key} may be in _constraints"


def test_shared_descriptions_are_the_same_everywhere():
    text = SHARED["coef0"].text
    holders = [cls for cls in CLASSIFIERS.values() if "coef0" in inspect.signature(cls).parameters]
    assert len(holders) > 5
    assert all(text in cls.__doc__ for cls in holders)


@every_classifier
def test_parameters_are_keywords_except_the_first(name):
    kinds = [parameter.kind for parameter in inspect.signature(CLASSIFIERS[name]).parameters.values()]
    assert all(kind is inspect.Parameter.KEYWORD_ONLY for kind in kinds[1:])


@pytest.mark.parametrize(
    "model",
    [
        softmargin.MarginClassifier(loss="hinge"),
        softmargin.BalancingSVC(),
        softmargin.MulticategorySVC(),
        softmargin.RobustSVC(sigma=0.5),
        softmargin.TruncatedLogisticRegression(scheme=None),
        softmargin.MarginClassifier(probability=False),
        softmargin.TunedClassifier(softmargin.MarginClassifier(loss="hinge")),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_missing_probability_says_its_remedy(model):
    with pytest.raises(AttributeError, match=r"predict_proba is not available: .*(ScoreCalibrator|probability|scheme)"):
        model.predict_proba
    assert not hasattr(model, "predict_proba")


def test_class_weights_weigh_the_classes():
    X, y, _ = binary()
    weighted = softmargin.MarginClassifier(class_weight={1: 3.0}, tol=1e-10).fit(X, y)
    by_rows = softmargin.MarginClassifier(tol=1e-10).fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    np.testing.assert_allclose(weighted.coef_, by_rows.coef_, atol=1e-7)


def test_a_class_of_weight_zero_is_left_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    weighted = softmargin.MarginClassifier(class_weight={2: 0.0}, tol=1e-10).fit(X, y)
    without = softmargin.MarginClassifier(tol=1e-10).fit(X[y != 2], y[y != 2])
    assert list(weighted.classes_) == [0, 1]
    np.testing.assert_allclose(weighted.coef_, without.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="one class only"):
        softmargin.MarginClassifier(class_weight={0: 0.0, 1: 0.0}).fit(X, y)


def test_robust_machines_that_fit_a_constant_say_so():
    X, y, _ = binary(80)
    for sigma in (0.2, 0.3):
        with pytest.warns(UserWarning, match="constant"):
            model = softmargin.RobustSVC(sigma=sigma, C=0.1).fit(X, y)
        assert model.status_ in ("constant", "degenerate")
        assert len(set(model.predict(X))) == 1


EXTREMES = (10**30, 10**400, 1e308, 5e-324)


def numbers_of(name):
    """The parameters of an estimator that may be any positive number, or many of something that is laid out at once."""
    kind = CLASSIFIERS[name]
    laid_out = {"n_weights", "grid", "Cs"}
    for parameter in make(name).get_params(deep=False):
        constraint = constraint_of(kind, parameter)
        if constraint is not None and (constraint.allows(0.75) or parameter in laid_out):
            yield parameter


@pytest.mark.parametrize(("name", "parameter"), [(name, one) for name in CLASSIFIERS for one in numbers_of(name)])
def test_extreme_numbers_are_fitted_with_or_refused(name, parameter):
    X, y, _ = binary(30)
    for value in EXTREMES:
        model = make(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.set_params(**{parameter: value}).fit(X, y)
            except ValueError:
                continue
            assert set(model.predict(X)) <= {0, 1}


@pytest.mark.parametrize("value", [np.uint8(1), np.int8(1), np.uint64(1), np.float16(1), np.longdouble(1)], ids=repr)
def test_numbers_whose_arithmetic_wraps_are_refused_with_the_remedy(value):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"cost is a .*; give it as cost=1\."):
        CoherenceClassifier(cost=value).fit(X, y)
    CoherenceClassifier(cost=np.int64(1), C=np.float32(1)).fit(X, y)
