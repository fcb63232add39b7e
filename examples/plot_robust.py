"""
What do wrong labels do to a boundary?
======================================

Two moons, one label in eight flipped. The squared hinge bends to every one of them; the Welsch loss loses interest, and
its weights name the rows it stopped believing.
"""

import matplotlib.pyplot as plt

from softmargin import MarginClassifier, RobustSVC
from softmargin.datasets import flip_labels, make_moons
from softmargin.plots import BoundaryDisplay

data = make_moons(300, noise=0.15, flip=0.0, random_state=0)
y, wrong = flip_labels(data.y, 0.125, random_state=0)
models = {
    "squared hinge": MarginClassifier(loss="squared_hinge", kernel="rbf", gamma=12.0, C=30.0),
    "Welsch": RobustSVC(loss="welsch", sigma=0.8, kernel="rbf", gamma=12.0, C=30.0),
}
fig, axes = plt.subplots(1, 2, figsize=(10, 4))
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(data.X, y)
    BoundaryDisplay.from_estimator(model, data.X, y, ax=ax)
    ax.set_title(f"{name}: {model.score(data.X, data.y):.1%} of the true labels")
trust = models["Welsch"].sample_trust_
axes[1].scatter(*data.X[trust < 0.1].T, s=90, facecolors="none", edgecolors="black", label="no longer trusted")
axes[1].legend(fontsize=8)
fig.tight_layout()
