"""
Which of two hundred features matter?
=====================================

Five features carry the signal. The lasso finds them among two hundred; the path in C shows the order.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import paths

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 200))
y = (X[:, :5] @ [2, -1.5, 1, -1, 0.8] + rng.logistic(size=300) > 0).astype(int)
path = paths.margin_path(X, y, loss="logistic", l1_ratio=1.0, Cs=60)
coef = np.array([path.at(C).coef for C in path.Cs])

plt.figure(figsize=(7, 4))
plt.semilogx(path.Cs, coef[:, 5:], color="0.8", linewidth=0.7)
for j, line in enumerate(plt.semilogx(path.Cs, coef[:, :5], linewidth=2)):
    line.set_label(f"feature {j}")
plt.xlabel("C")
plt.ylabel("coefficient")
plt.legend(fontsize=8)
plt.tight_layout()
