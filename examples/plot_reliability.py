"""
Do the probabilities mean what they say?
========================================

Of the rows given 70%, do 70% belong to the class? Squared hinge scores pushed through a sigmoid by hand, and the same
scores calibrated.
"""

import matplotlib.pyplot as plt
from sklearn.svm import LinearSVC

from softmargin import MarginClassifier, ScoreCalibrator
from softmargin.datasets import make_disk
from softmargin.plots import ReliabilityDisplay

train, test = make_disk(600, random_state=0), make_disk(4000, random_state=1)
fig, axes = plt.subplots(1, 2, figsize=(9, 4))
models = {
    "LinearSVC, calibrated": ScoreCalibrator(LinearSVC()),
    "kernel logistic": MarginClassifier(kernel="rbf"),
}
for ax, (name, model) in zip(axes, models.items(), strict=True):
    ReliabilityDisplay.from_estimator(model.fit(train.X, train.y), test.X, test.y, ax=ax)
    ax.set_title(name)
fig.tight_layout()
