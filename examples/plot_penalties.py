"""
Does the lasso shrink what matters?
===================================

It does, all of it alike. SCAD and MCP let large coefficients go free, at the price of a problem that is not convex; the
rounds that solve it never raise the objective.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import MarginClassifier
from softmargin.plots import INK, class_colour, clean

rng = np.random.default_rng(0)
truth = np.r_[3.0, -2.0, 1.5, np.zeros(47)]
X = rng.normal(size=(600, 50))
y = (X @ truth + rng.logistic(size=600) > 0).astype(int)

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for ax, (number, penalty) in zip(axes, enumerate(("lasso", "scad", "mcp")), strict=True):
    options = {"l1_ratio": 1.0} if penalty == "lasso" else {"penalty": penalty}
    coef = MarginClassifier(C=0.1, **options).fit(X, y).coef_[0]
    clean(ax).vlines(np.arange(50), 0, coef, color=class_colour(number), lw=2)
    ax.scatter(np.arange(3), truth[:3], marker="_", s=160, color=INK, label="truth")
    ax.axhline(0, color=INK, lw=0.6)
    ax.set(title=f"{penalty}: {np.sum(coef != 0)} coefficients, {np.sum(coef[3:] != 0)} for nothing", xlabel="feature")
axes[0].set_ylabel("coefficient")
axes[0].legend(frameon=False)
