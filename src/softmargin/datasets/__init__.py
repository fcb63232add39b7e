"""Data to try things on: every simulated example of the papers, labels flipped at a known rate, real sets by name.

Generators return a ``Sample(X, y, probability)`` whose ``probability`` is the truth, so that estimated probabilities
and Bayes errors can be checked; ``load`` returns a ``Dataset``.
"""

from softmargin.datasets._gaussian import make_g241, make_gaussians, make_normal, make_wavy
from softmargin.datasets._load import DataNotFound, Dataset, available, data_directory, load
from softmargin.datasets._monks import make_monks
from softmargin.datasets._planar import make_disk, make_moons, make_sine, make_square
from softmargin.datasets._sample import Sample, flip_labels

__all__ = [
    "DataNotFound",
    "Dataset",
    "Sample",
    "available",
    "data_directory",
    "flip_labels",
    "load",
    "make_disk",
    "make_g241",
    "make_gaussians",
    "make_monks",
    "make_moons",
    "make_normal",
    "make_sine",
    "make_square",
    "make_wavy",
]
