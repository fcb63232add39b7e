"""A loaded model answers eight threads at once as it answers one."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.files import models

import softmargin as sm


@pytest.mark.parametrize(
    "name",
    ["MarginClassifier linear", "RobustSVC rbf several", "ProbabilisticSVC linear", "rules", "calibrated", "table"],
)
def test_eight_threads_get_the_answers_of_one(name, tmp_path):
    sm.save(models.make(name), tmp_path / "model")
    rows = models.inputs(name)
    alone, shared = sm.load(tmp_path / "model"), sm.load(tmp_path / "model")
    expected = models.answers(alone, rows)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: models.answers(shared, rows), range(40)))
    for told in together:
        for before, after in zip(expected, told, strict=True):
            np.testing.assert_array_equal(after, before)


@pytest.mark.filterwarnings("ignore:.* gives up every row of one class")
def test_weighted_fits_made_by_the_first_to_ask_are_made_once_for_all():
    model = sm.TruncatedLogisticRegression().fit(models.X, models.SIGN)  # fits the other weights when asked
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: model.predict_proba(models.X), range(8)))
    for told in together:
        np.testing.assert_array_equal(told, together[0])
