"""
All classes at once
===================

Iris in two coordinates: composite least squares in closed form, and the Weston-Watkins machine. Scores of all
classes are fitted together and sum to zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from softmargin import CompositeLeastSquaresClassifier, MulticategorySVC

X, y = load_iris(return_X_y=True)
X = X[:, 2:]
grid = np.stack(np.meshgrid(np.linspace(0.5, 7.5, 200), np.linspace(-0.2, 2.8, 150)), axis=-1)
models = {
    "composite least squares, rbf": CompositeLeastSquaresClassifier(C="auto", kernel="rbf"),
    "Weston-Watkins": MulticategorySVC(method="weston_watkins"),
}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    codes = model.fit(X, y).predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    ax.contourf(grid[..., 0], grid[..., 1], codes, levels=[-0.5, 0.5, 1.5, 2.5], alpha=0.25, cmap="viridis")
    ax.scatter(*X.T, c=y, s=14, cmap="viridis", edgecolors="white", linewidths=0.4)
    ax.set(title=f"{name}: {model.score(X, y):.1%}", xlabel="petal length (cm)")
axes[0].set_ylabel("petal width (cm)")
fig.tight_layout()
