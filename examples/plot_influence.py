"""
Which rows hold the boundary where it is?
=========================================

The influence of a row is how far one more copy of it would move the scores. A robust loss makes it fall again for rows
far on the wrong side: they stop pulling.
"""

import matplotlib.pyplot as plt

from softmargin import MarginClassifier, RobustSVC
from softmargin.datasets import flip_labels, make_gaussians
from softmargin.inference import influence
from softmargin.plots import class_colour, clean

data = make_gaussians(300, random_state=0)
X, y = data.X[data.y < 2], data.y[data.y < 2]
y, wrong = flip_labels(y, 0.08, random_state=0)
fig, axes = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
for ax, model in zip(axes, (MarginClassifier(), RobustSVC(loss="welsch", sigma=1.0)), strict=True):
    moved = influence(model.fit(X, y), X, y).size
    margin = (2 * (y == model.classes_[1]) - 1) * model.decision_function(X)
    for kind, code, name in ((~wrong, 0, "label as it was"), (wrong, 1, "label flipped")):
        clean(ax).scatter(margin[kind], moved[kind], s=18, color=class_colour(code), label=name)
    ax.set(title=type(model).__name__, xlabel="margin of the row", ylabel="how far it moves the scores")
axes[0].legend(frameon=False)
