"""``verbose`` goes to the logger ``softmargin`` and never to standard output."""

import logging

import pytest

from estimators.catalogue import CLASSIFIERS, binary, make

NAMES = [name for name in CLASSIFIERS if "verbose" in make(name).get_params(deep=False)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_printed(name, capsys):
    X, y, _ = binary()
    make(name, verbose=1).fit(X, y)
    assert capsys.readouterr().out == ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_progress_can_be_read_from_the_log(name, caplog):
    X, y, _ = binary()
    with caplog.at_level(logging.INFO, logger="softmargin"):
        make(name, verbose=0).fit(X, y)
        assert not caplog.records
        make(name, verbose=1).fit(X, y)
    assert any(record.name == "softmargin" for record in caplog.records)
