"""What several test files share. Property tests draw the same examples every time, new ones where ``FRESH`` is set."""

import os
import signal

import numpy as np
import pytest
from hypothesis import settings

from softmargin.datasets import DataNotFound, load

settings.register_profile("repeatable", derandomize=True, deadline=None)
if not os.environ.get("FRESH"):
    settings.load_profile("repeatable")


# A shell that starts a job in the background lets it ignore interrupts; tests that send one would wait for ever.
if signal.getsignal(signal.SIGINT) in (signal.SIG_IGN, None):
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def repeatable_draws():
    """Whatever draws without a seed of its own, such as a peer's solver, draws the same numbers in every run."""
    np.random.seed(0)  # noqa: NPY002 (the global generator is what such code draws from)


@pytest.fixture
def real_data():
    """``softmargin.datasets.load``, skipping the test with the reason when the data set is not on this machine."""

    def load_or_skip(name, **options):
        try:
            return load(name, download=False, **options)
        except DataNotFound as reason:
            pytest.skip(str(reason))

    return load_or_skip
