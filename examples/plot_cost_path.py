"""
What happens between two values of C?
=====================================

The support vector machine is piecewise linear in C. The path holds every breakpoint, so the machine at any C is
evaluated, not refitted.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import paths
from softmargin.datasets import make_moons

data, new = make_moons(100, random_state=0), make_moons(1000, random_state=1)
path = paths.cost_path(data.X, data.y, kernel="rbf", gamma=1.0, C_min=0.01, C_max=1000.0)
Cs = np.geomspace(0.01, 1000, 300)
scores = np.array([path.decision_function(data.X[:12], C) for C in Cs])
error = [np.mean((path.decision_function(new.X, C) > 0) != (new.y > 0)) for C in Cs]

fig, axes = plt.subplots(2, 1, figsize=(7, 5.5), sharex=True)
axes[0].semilogx(Cs, scores, linewidth=1)
axes[0].set(ylabel="scores of 12 rows", title=f"{len(path.breakpoints)} breakpoints between C = 0.01 and 1000")
axes[1].semilogx(Cs, error, color="#aa3333")
axes[1].set(xlabel="C", ylabel="error on 1000 new rows")
fig.tight_layout()
