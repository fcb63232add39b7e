"""What several test files share."""

import pytest

from softmargin.datasets import DataNotFound, load


@pytest.fixture
def real_data():
    """``softmargin.datasets.load``, skipping the test with the reason when the data set is not on this machine."""

    def load_or_skip(name, **options):
        try:
            return load(name, download=False, **options)
        except DataNotFound as reason:
            pytest.skip(str(reason))

    return load_or_skip
