"""The answer for a row depends neither on the rows beside it nor on the container that holds it."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

import softmargin as sm
from softmargin import AutoClassifier, RuleBoostClassifier

pa = pytest.importorskip("pyarrow")

N = 160
MODELS = {
    "auto": lambda: AutoClassifier(effort="fast"),
    "rules": lambda: RuleBoostClassifier(n_rules=12),
    "trees": lambda: RuleBoostClassifier(learner="trees", n_rules=12),
}


def gaps(cells):
    """The cells as objects, every eleventh missing."""
    column = pd.Series(list(cells), dtype=object)
    column[::11] = None
    return column


def columns(seed=0):
    """Cells of every kind with gaps, as Python objects."""
    rng = np.random.default_rng(seed)
    day = [dt.date(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 900, N)]
    return {
        "level": gaps(rng.choice([10, 20, 30], N).tolist()),
        "flag": gaps((rng.random(N) < 0.5).tolist()),
        "town": gaps(rng.choice(["Athens", "Bern", "10"], N).tolist()),
        "day": gaps(day),
        "hour": gaps([dt.time(int(h), 30) for h in rng.integers(0, 24, N)]),
    }


CONTAINERS = {
    "level": {
        "floats of a category": lambda c: c.astype(float).astype("category"),
        "integers of a category": lambda c: pd.Series(pd.Categorical(c, categories=[10, 20, 30])),
        "nullable integers of a category": lambda c: c.astype("Int64").astype("category"),
        "objects": lambda c: c,
        "nullable": lambda c: c.astype("Int64"),
        "floats": lambda c: c.astype(float),
        "arrow": lambda c: c.astype("Int64").astype(pd.ArrowDtype(pa.int64())),
    },
    "flag": {
        "objects": lambda c: c,
        "nullable": lambda c: c.astype("boolean"),
        "arrow": lambda c: c.astype(pd.ArrowDtype(pa.bool_())),
        "category": lambda c: c.astype("category"),
        "zero and one": lambda c: c.map({True: 1.0, False: 0.0}).astype(float),
        "words": lambda c: c.map({True: "True", False: "False"}),
    },
    "town": {
        "objects": lambda c: c,
        "category": lambda c: c.astype("category"),
        "string": lambda c: c.astype("string"),
        "arrow": lambda c: c.astype(pd.ArrowDtype(pa.string())),
        "numbers among them": lambda c: c.map(lambda cell: 10 if cell == "10" else cell),
    },
    "day": {
        "objects": lambda c: c,
        "dates": lambda c: pd.to_datetime(c),
        "seconds": lambda c: pd.to_datetime(c).astype("datetime64[s]"),
        "zone": lambda c: pd.to_datetime(c).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        "periods": lambda c: pd.to_datetime(c).dt.to_period("D"),
        "arrow": lambda c: c.astype(pd.ArrowDtype(pa.date32())),
        "category": lambda c: pd.to_datetime(c).astype("category"),
        "text": lambda c: c.map(lambda cell: None if cell is None else cell.isoformat()),
    },
    "hour": {
        "objects": lambda c: c,
        "arrow": lambda c: c.astype(pd.ArrowDtype(pa.time64("us"))),
        "text": lambda c: c.map(lambda cell: None if cell is None else cell.isoformat()),
    },
}


def learnt(cells, seed=1):
    """A number, the cells, and labels that need both."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N)
    order = sorted({cell for cell in cells if cell is not None})
    part = np.array([-1.0 if cell is None else 2.0 * order.index(cell) / max(1, len(order) - 1) for cell in cells])
    return pd.DataFrame({"x": x}), np.where(x + 2 * part - 1.5 + 0.5 * rng.logistic(size=N) > 0, "yes", "no")


def is_that_kind_at_fit(model, kind, container):
    """Text that says dates is words at fit; rules have no dates; only a category makes levels of numbers."""
    if kind in ("day", "hour"):
        return model == "auto" and container != "text"
    if kind == "level":
        return "category" in container
    return container not in ("zero and one", "words", "numbers among them")


LEARNT = [
    (model, kind, first)
    for model in MODELS
    for kind, ways in CONTAINERS.items()
    for first in ways
    if is_that_kind_at_fit(model, kind, first)
]


@pytest.mark.parametrize(("model", "kind", "first"), LEARNT)
def test_a_row_alone_and_in_every_container_has_its_answer_in_the_batch(model, kind, first):
    cells = columns()[kind]
    frame, y = learnt(cells)
    fitted = MODELS[model]().fit(frame.assign(c=CONTAINERS[kind][first](cells)), y)
    expected = fitted.predict_proba(frame.assign(c=CONTAINERS[kind][first](cells)))
    assert np.ptp(expected[:, 0]) > 0.3
    for second, container in CONTAINERS[kind].items():
        other = frame.assign(c=container(cells))
        np.testing.assert_allclose(fitted.predict_proba(other), expected, atol=1e-8, err_msg=second)
        for row in (0, 1, 2, 5):
            for alone in (other.iloc[[row]], pd.DataFrame([other.iloc[row].to_dict()])):
                np.testing.assert_allclose(fitted.predict_proba(alone)[0], expected[row], atol=1e-8, err_msg=second)
    for nothing in (np.nan, None, pd.NA):
        gone = fitted.predict_proba(frame[:11].assign(c=nothing))
        np.testing.assert_allclose(gone[0], expected[0], atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_polars_reads_like_pandas(model):
    cells = columns()
    kept = ["flag", "town", "day", "hour"] if model == "auto" else ["flag", "town"]
    frame, y = learnt(cells["town"])
    frame = frame.assign(**{kind: cells[kind] for kind in kept})
    fitted = MODELS[model]().fit(frame, y)
    expected = fitted.predict_proba(frame)
    other = pl.DataFrame({"x": frame["x"].to_numpy()} | {kind: frame[kind].tolist() for kind in kept})
    np.testing.assert_allclose(fitted.predict_proba(other), expected, atol=1e-8)
    np.testing.assert_allclose(fitted.predict_proba(other[5:6])[0], expected[5], atol=1e-8)
    np.testing.assert_allclose(MODELS[model]().fit(other, y).predict_proba(frame), expected, atol=1e-8)


def test_a_file_keeps_what_the_columns_were(tmp_path):
    cells = columns()
    frame, y = learnt(cells["level"])
    frame = frame.assign(level=cells["level"].astype(float).astype("category"), day=cells["day"], flag=cells["flag"])
    fitted = AutoClassifier(effort="fast").fit(frame, y)
    sm.save(fitted, tmp_path / "model.softmargin")
    again, expected = sm.load(tmp_path / "model.softmargin"), fitted.predict_proba(frame)
    np.testing.assert_array_equal(again.predict_proba(frame), expected)
    np.testing.assert_allclose(again.predict_proba(frame.iloc[[1]])[0], expected[1], atol=1e-8)


def test_dates_that_nanoseconds_do_not_reach_are_read():
    frame, y = learnt(columns()["day"])
    far = pd.Series([dt.date(9999, 12, 31) if i % 3 else dt.date(2020, 1, 1) for i in range(N)], dtype=object)
    fitted = AutoClassifier(effort="fast").fit(frame.assign(c=far), y)
    expected = fitted.predict_proba(frame.assign(c=far))
    seconds = frame.assign(c=np.array(far.tolist(), dtype="datetime64[s]"))
    np.testing.assert_allclose(fitted.predict_proba(seconds), expected, atol=1e-8)
    told = fitted.explain(frame.assign(c=far), row=1).set_index("column")
    assert told.loc["c", "value"] == dt.date(9999, 12, 31)


def test_integers_that_floats_do_not_hold_are_levels_of_their_own():
    cells = gaps([2**53 + int(k) for k in np.random.default_rng(0).integers(0, 4, N)])
    frame, y = learnt(cells)
    for model in MODELS.values():
        fitted = model().fit(frame.assign(c=cells.astype("category")), y)
        expected = fitted.predict_proba(frame.assign(c=cells.astype("category")))
        for other in (frame.assign(c=cells), frame.assign(c=cells.astype("Int64")), frame.assign(c=cells)[1:2]):
            rows = other.index.to_numpy()
            np.testing.assert_allclose(fitted.predict_proba(other), expected[rows], atol=1e-8)
        listed = pl.DataFrame({"x": frame["x"].to_numpy(), "c": cells.tolist()})
        np.testing.assert_allclose(fitted.predict_proba(listed), expected, atol=1e-8)


@pytest.mark.parametrize("learner", ["rules", "trees"])
def test_levels_that_are_dates_or_intervals_are_known_by_their_names(tmp_path, learner):
    rng = np.random.default_rng(0)
    day = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 3, N), unit="D"))
    part = pd.Series(pd.cut(rng.random(N), [0, 0.3, 0.6, 1]))
    y = (day == "2020-01-02") ^ (rng.random(N) < 0.1)
    frame = pd.DataFrame({"day": day.astype("category"), "part": part})
    fitted = RuleBoostClassifier(learner=learner, n_rules=5).fit(frame, y)
    expected = fitted.predict_proba(frame)
    for other in (day, day.dt.date, day.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"), day.dt.strftime("%Y-%m-%d")):
        np.testing.assert_allclose(fitted.predict_proba(frame.assign(day=other)), expected, atol=1e-9)
    sm.save(fitted, tmp_path / "model.softmargin")
    np.testing.assert_array_equal(sm.load(tmp_path / "model.softmargin").predict_proba(frame), expected)


def test_a_column_of_dates_without_a_value_is_dropped():
    frame, y = learnt(columns()["day"])
    fitted = AutoClassifier(effort="fast").fit(frame.assign(c=pd.NaT), y)
    assert fitted.encoder_.decisions[1].kind == "dropped"
    assert np.isfinite(fitted.predict_proba(frame.assign(c=pd.Timestamp("2020-01-01")))).all()


REFUSED = {
    "level": ("integers of a category", ["many"], "'c' held numbers at fit, but holds 'many'"),
    "flag": ("nullable", ["maybe"], "'c' held truth values at fit, but holds 'maybe'"),
    "town": ("objects", [dt.date(2020, 1, 1)], "'c' held texts at fit, but holds datetime.date"),
    "day": ("dates", [3.5], "'c' held dates or times at fit, but holds 3.5"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_cells_that_the_column_cannot_hold_are_refused_by_name(kind):
    container, cells, said = REFUSED[kind]
    given = columns()[kind]
    frame, y = learnt(given)
    fitted = AutoClassifier(effort="fast", time_limit=1e-9).fit(frame.assign(c=CONTAINERS[kind][container](given)), y)
    with pytest.raises(ValueError, match=said):
        fitted.predict(frame[:1].assign(c=cells))
    with pytest.raises(ValueError, match="give a frame with the same columns"):
        fitted.predict(np.zeros((2, 2)))


def test_a_date_where_numbers_were_is_refused():
    frame, y = learnt(columns()["day"])
    for model in MODELS.values():
        fitted = model().fit(frame, y)
        with pytest.raises(ValueError, match="'x' is numeric, but holds"):
            fitted.predict(pd.DataFrame({"x": [pd.Timestamp("2020-01-01")]}))
        with pytest.raises(ValueError, match="beyond the range of float64"):
            fitted.predict(pd.DataFrame({"x": [10**400]}, dtype=object))
