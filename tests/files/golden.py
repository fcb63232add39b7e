"""Write the golden files of a release: ``python -m tests.files.golden`` once, before the version is published."""

from __future__ import annotations

import pathlib

import numpy as np
from tests.files import models

import softmargin as sm

NAMES = ("MarginClassifier linear", "RobustSVC rbf several", "MulticategorySVC rbf", "rules", "table", "calibrated")


def write(folder: pathlib.Path) -> None:
    """Files and the answers their models give now."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        model = models.make(name)
        sm.save(model, folder / f"{name}.softmargin")
        np.savez(folder / f"{name}.npz", *models.answers(model, models.inputs(name)))


if __name__ == "__main__":
    write(pathlib.Path(__file__).parent / "golden" / sm.__version__)
