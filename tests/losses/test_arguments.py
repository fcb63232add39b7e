"""Hyperparameters and margins that are not meant are refused by name, whoever makes the loss."""

import math
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from softmargin import losses, penalties

WRAPPING = (np.uint8(1), np.int8(1), np.int16(1), np.uint64(1), np.float16(0.5), np.longdouble(0.5))
NO_NUMBERS = (10**400, math.nan, "x", [1.0], np.array([1.0]), True, 1j)


def _made_of_numbers():
    """Every public dataclass of losses and penalties with a field that is a number, and that field."""
    for module in (losses, penalties):
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and is_dataclass(kind):
                for field in fields(kind):
                    if field.init and str(field.type) in ("float", "int", "float | None"):
                        yield pytest.param(kind, field.name, id=f"{name}.{field.name}")


MADE_OF_NUMBERS = list(_made_of_numbers())


def make(kind, **settings):
    return kind(losses.Hinge(), **settings) if kind is losses.Rounded else kind(**settings)


@pytest.mark.parametrize(("kind", "name"), MADE_OF_NUMBERS)
@pytest.mark.parametrize("value", WRAPPING, ids=lambda value: type(value).__name__)
def test_numbers_whose_arithmetic_wraps_are_refused(kind, name, value):
    with pytest.raises(ValueError, match=rf"^{name}.* is a {type(value).__name__}, .* give it as {name}="):
        make(kind, **{name: value})


@pytest.mark.parametrize(("kind", "name"), MADE_OF_NUMBERS)
@pytest.mark.parametrize("value", NO_NUMBERS, ids=lambda value: repr(value)[:12])
def test_what_is_no_number_is_refused(kind, name, value):
    with pytest.raises(ValueError, match=rf"^{name}.* must be"):
        make(kind, **{name: value})


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32])
def test_numbers_are_kept_as_those_of_python(kind):
    assert losses.Exponential(rate=kind(2)) == losses.Exponential(rate=2)
    assert type(losses.Exponential(rate=kind(2)).rate) in (int, float)
    coef = np.array([0.5, 3.0])
    one, other = penalties.AdaptiveL1(power=kind(1)), penalties.AdaptiveL1(power=1.0)
    np.testing.assert_array_equal(one.relative_slopes(coef), other.relative_slopes(coef))


@pytest.mark.parametrize(
    "asked",
    [
        lambda loss, u: loss.value(u),
        lambda loss, u: loss.slope(u),
        lambda loss, u: loss.curvature(u),
        lambda loss, u: loss.evaluate(u),
        lambda loss, u: loss.trust(u),
        lambda loss, u: loss.majorize(u),
        lambda loss, u: loss.probability(u),
        lambda loss, u: loss.log_odds(u),
        lambda loss, u: loss.score(u),
    ],
)
@pytest.mark.parametrize(
    ("u", "said"),
    [
        ("x", "numbers"),
        (None, "numbers"),
        ([None, 1.0], "numbers"),
        (["1", "2"], "numbers"),
        ([10**400], "beyond the range"),
        ([1j], "numbers"),
        ([[1.0], [1.0, 2.0]], "numbers"),
        (np.array(["2020-01-01"], dtype="M8[D]"), "numbers"),
        (np.ma.masked_array([0.1, 0.2], [True, False]), "masked"),
    ],
)
def test_margins_are_numbers(asked, u, said):
    with pytest.raises(ValueError, match=rf"^[ufp] .*{said}"):
        asked(losses.Logistic(), u)


@pytest.mark.parametrize("weight", [0, 1, math.nan, "x", None, [0.5], np.float16(0.5)])
def test_weights_of_classes_are_shares(weight):
    for asked in (losses.Logistic().probability, losses.Logistic().score):
        with pytest.raises(ValueError, match=r"^weight"):
            asked(0.3, weight=weight)


@pytest.mark.parametrize("given", [(), None, 3, "x", (losses.Welsch(), "welsch"), [losses.Welsch]])
def test_losses_by_class_are_losses(given):
    with pytest.raises(ValueError, match="losses must be a tuple of one loss per class"):
        losses.ByClass(given)


@pytest.mark.parametrize("codes", [[0, 2], [-1, 0], [0.0, 1.0], [[0, 1]], "x", 3, [True, False]])
def test_codes_number_the_classes(codes):
    """A code of no class has no loss, and its rows would keep what memory held."""
    with pytest.raises(ValueError, match="codes must be a class number from 0 to 1"):
        losses.ByClass([losses.Welsch(1.0), losses.Welsch(2.0)]).of_classes(codes)


@pytest.mark.parametrize("caps", ["x", None, 3.0, [[1.0]], [math.nan, 1.0], [0.5], [10**400]])
def test_caps_are_one_number_per_row(caps):
    with pytest.raises(ValueError, match=r"^caps"):
        losses.CappedByRow(caps)


def test_caps_are_those_of_the_margins_asked():
    loss = losses.CappedByRow([1.0, 2.0, 3.0])
    for asked in (loss.value, loss.slope, loss.curvature, loss.retained, loss.majorize):
        with pytest.raises(ValueError, match="margin for each of the 3 caps"):
            asked(np.zeros(2))


@pytest.mark.parametrize("name", ["phi", "dphi", "d2phi", "inverse_link"])
@pytest.mark.parametrize(
    "function", [3, "x", lambda: 0.0, lambda p: None, lambda p: "x", lambda p: p[:2], lambda p: 1j * p, lambda p: 1 / 0]
)
def test_entropies_are_functions_of_arrays(name, function):
    with pytest.raises(ValueError, match=f"^{name} must"):
        losses.CustomEntropy(**({"phi": lambda p: np.sqrt(p * (1 - p))} | {name: function}))


@pytest.mark.parametrize("loss", [None, "hinge", losses.Hinge, 3])
def test_what_is_no_loss_is_not_rounded(loss):
    with pytest.raises(ValueError, match=r"^base must be a Loss"):
        losses.Rounded(loss, 0.1)
    with pytest.raises(ValueError, match=r"^loss must be a Loss"):
        losses.can_round(loss)
    with pytest.raises(ValueError, match=r"^penalty must be a penalty object"):
        penalties.ClassPenalty(loss)
