"""
Should points that are right already pull the boundary?
=======================================================

The support vector machine forgets every point beyond its margin. With balance those points pull too, the less the
further the balance is from infinity, and the boundary follows the shape of the classes instead of a few rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import BalancingSVC
from softmargin.plots import INK, BoundaryDisplay

rng = np.random.default_rng(3)
X = np.vstack([rng.normal([-1.2, 0], [0.6, 1.5], (40, 2)), rng.normal([1.2, 0], [0.6, 1.5], (40, 2))])
y = np.repeat(["left", "right"], 40)

fig, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained", sharey=True)
for ax, balance in zip(axes, (0.0, 0.3, np.inf), strict=True):
    model = BalancingSVC(balance=balance, C=1.0).fit(X, y)
    BoundaryDisplay.from_estimator(model, X, y, response="score", ax=ax)
    pulling = np.abs(model.solution_.dual) > 1e-6
    ax.scatter(*X[pulling].T, s=70, facecolors="none", edgecolors=INK, linewidths=0.7)
    name = {0.0: "support vector machine", np.inf: "bounded constraint machine"}.get(balance, "between them")
    ax.set_title(f"balance {balance:g}: {name}\n{pulling.sum()} of {len(y)} rows pull (ringed)", fontsize=10)
